"""What the name of a column says about its cells."""

import re

from tiebreak.errors import InvalidInput
from tiebreak.formats.cells import check_field_name

_TOKEN = re.compile(
    r"[A-ZÀ-ÖØ-Þ]+(?![a-zß-öø-ÿ])|[A-ZÀ-ÖØ-Þ]?[a-zß-öø-ÿ]+|\d+|[\u3400-\u9fff]+|[^\W\d_a-zA-ZÀ-ÿ\u3400-\u9fff]+"
)

WORDS: dict[str, frozenset[str]] = {
    role: frozenset(words.split())
    for role, words in {
        "instance": "id ids key uid uuid guid idx index qid docid pid sid instance item no nr num"
        " number example identifier row",
        "source": "prompt question questions instruction instructions input inputs source article"
        " document doc context query dialogue dialog passage problem post story src ask request"
        " transcript paragraph utterance original conversation q task email news report user",
        "reference": "reference references ref refs human expert experts gold golden truth groundtruth target"
        " expected ideal correct gt highlights tgt handwritten",
        "category": "category categories cat topic subject domain type genre subset kind theme area"
        " field skill language lang dataset tag group section difficulty level split class style",
        "system": "model models system systems sys generator llm engine bot method agent assistant"
        " summarizer summariser translator variant condition arm approach checkpoint modelname",
        "text": "text output outputs response responses answer answers completion completions"
        " generation generations generated summary summaries translation translations content reply"
        " replies result results prediction predictions hypothesis candidate continuation solution"
        " rewrite essay message chosen rejected pred hyp decoded draft",
        "sample": "sample samples k run seed trial iteration attempt replicate rep draw n repeat",
        "vote": "winner preferred preference pref prefs vote votes voted choice label labels score"
        " scores rating ratings rank ranking ranks judge judgment judgement annotator annotation"
        " rater worker better best verdict elo likert agreement decision confidence quality grade"
        " coherence fluency relevance consistency pick picked wins win human1 stars reward",
        "remark": "explanation rationale reason reasons reasoning comment comments justification"
        " feedback critique note notes remarks thoughts analysis",
        "person": "worker workers annotator rater assignment participant respondent prolific coder judge"
        " evaluator user",
        "fact": "date time timestamp tstamp created updated url link href path file filename license"
        " hash md5 sha tokens token length len chars words cost latency price temperature top email"
        " ip version status duration ms seconds page pages year author title name",
    }.items()
}
# The same in German, French and Chinese; Chinese words are found anywhere in a name.
_OTHER_LANGUAGES = {
    "instance": "nr nro numero número 번호 番号 nummer kennung beispiel zeile numéro identifiant exemple ligne 编号 序号 标识",
    "source": "pregunta pergunta domanda fuente fonte 질문 frage fragen aufgabe eingabe anweisung quelle quelltext artikel dokument kontext absatz"
    " consigne entrée texte_source contexte paragraphe requête 问题 提示 输入 指令 原文 文章 题目 上下文",
    "reference": "referenz mensch menschlich menschliche musterlösung référence humain humaine attendu"
    " 参考 标准 人工",
    "category": "kategorie thema bereich sprache gattung art catégorie thème sujet domaine langue 类别"
    " 分类 主题 领域",
    "system": "modell modelle modellname modèle modèles système 模型 系统",
    "text": "texto testo respuesta resposta risposta resumen resumo riassunto traducción tradução"
    " traduzione 텍스트 문장 답변 요약 번역 antwort antworten ausgabe zusammenfassung übersetzung ergebnis texte réponse réponses sortie"
    " résumé traduction 回答 答案 输出 回复 摘要 译文 生成",
    "sample": "stichprobe lauf versuch wiederholung échantillon essai répétition 样本",
    "vote": "bewertung urteil note punkte wertung stimme gewinner bewerter évaluation avis gagnant"
    " annotateur score_humain 评分 评价 投票 偏好 打分",
    "remark": "bemerkung kommentar begründung anmerkung commentaire justification remarque 备注 评论 理由"
    " 说明",
    "fact": "datum zeit uhrzeit datei länge dauer autor titel kosten heure fichier lien durée auteur titre"
    " coût 日期 时间 链接 文件 长度 作者 标题",
}
for _role, _words in _OTHER_LANGUAGES.items():
    WORDS[_role] |= frozenset(_words.split())
_CHINESE = sorted(word for words in WORDS.values() for word in words if word >= "\u3400")
# The words after which a column holds what a system wrote, whatever else its name says.
_ANSWERS = WORDS["text"] - {"text", "texte", "content", "message", "result", "results"}
MODELS = re.compile(
    r"gpt|llama|claude|gemini|mistral|mixtral|\bbart|(?<![a-z])t5|vicuna|pegasus|alpaca|falcon|bloom"
    r"|qwen|(?<![a-z])phi|deepseek|palm|bard|(?<![a-z])opt(?![a-z])|gemma|cohere|command|grok"
    r"|davinci|turbo|wizard|koala|dolly|baseline|(?<![a-z])ours(?![a-z])|finetuned"
    r"|(?<![a-z])(model|system|sys|candidate)[ _-]?([a-z]|\d+)(?![a-z])|lead[ _-]?3|olmo|granite"
    r"|nova|(?<![a-z])yi(?![a-z])|(?<![a-z])o[134](?![a-z])|kimi|glm|nemotron|zephyr|tulu|stable",
    re.IGNORECASE,
)
MAX_STATISTIC = 40
# Before the names of what workers of Mechanical Turk were shown.
SHOWN = "Input."
SIDES = (("a", "b"), ("1", "2"), ("left", "right"), ("first", "second"), ("x", "y"), ("0", "1"))


def words_of(name: str) -> list[str]:
    """Return the words of a column's name in lower case: `modelName_2` is model, name, 2."""
    if name.strip(" .:") in ("#", "№"):
        return ["nr"]
    return [
        part for word in _TOKEN.findall(name.removeprefix(SHOWN)) for part in _parts(word.lower())
    ]


def _parts(word: str) -> list[str]:
    """Return the known words of a Chinese name, which has no spaces, or the word."""
    return [known for known in _CHINESE if known in word] or [word]


def says(name: str, role: str) -> bool:
    """Whether a word of the name means a role."""
    return not WORDS[role].isdisjoint(words_of(name))


_TOTALS = re.compile(
    r"\W*(total|sum|mean|average|avg|gesamt|summe|mittelwert|moyenne|合计|平均)\W*", re.IGNORECASE
)


# What a row below a table may have computed, and the words around it.
_STATISTICS, _AROUND = (
    frozenset(words.split())
    for words in (
        "total sum mean average avg median mode min minimum max maximum sd std stdev stddev deviation var"
        " variance se sem count n kappa alpha iaa icc agreement correlation accuracy percentage percent gesamt"
        " summe mittelwert durchschnitt standardabweichung anzahl übereinstimmung moyenne médiane écart"
        " effectif media mediana desviación recuento 合计 平均 总计 标准差",
        "of the and for per inter intra cohen cohens krippendorff krippendorffs fleiss s weighted standard dev"
        " error overall type annotator annotators rater raters coder score scores rating ratings rate label"
        " labels item items rows value der des pro la de du",
    )
)


def is_total(value: object) -> bool:
    """Whether the cell in place of an item's name begins a row of totals."""
    return isinstance(value, str) and _TOTALS.fullmatch(value) is not None


def is_statistic(value: object) -> bool:
    """Whether the cell in place of an item's name says that the row has a statistic of the table."""
    if not isinstance(value, str) or len(value) > MAX_STATISTIC:
        return False
    words = {word for word in words_of(value) if word not in _AROUND}
    return bool(words) and words <= _STATISTICS


def says_answer(name: str) -> bool:
    """Whether the name means what a system wrote."""
    return not _ANSWERS.isdisjoint(words_of(name)) or names_model(name)


def names_model(name: str) -> bool:
    """Whether the name contains a language model's, or is one such as `model_2`."""
    return MODELS.search(name) is not None


# Words that say what raters read, if they are the name of the source's column.
_LABELS = frozenset(
    [
        "prompt",
        "question",
        "instruction",
        "article",
        "document",
        "query",
        "dialogue",
        "dialog",
        "passage",
        "problem",
        "post",
        "story",
        "request",
        "transcript",
        "paragraph",
        "conversation",
        "task",
        "email",
        "report",
        "context",
        "abstract",
        "review",
        "recipe",
        "poem",
        "letter",
        "frage",
        "aufgabe",
        "anweisung",
        "artikel",
        "dokument",
        "absatz",
        "gespräch",
        "consigne",
        "paragraphe",
        "requête",
    ]
)


_WRITTEN = re.compile(r"(?=.{4,30}$)[^\W\d_]+( [^\W\d_]+)*")
# Words of names that say nothing about a text.
_UNSAID = frozenset(("source", "src", "input", "text", "column", "quelle", "eingabe", "content"))


def source_label(column: str) -> str:
    """Return the label of a source from its column: "Question" for `questions`, "" for `src`.

    A name that is written as for people, such as "Kundenanliegen", is one itself.
    """
    words = [word if word in _LABELS else word.removesuffix("s") for word in words_of(column)]
    known = [word for word in words if word in _LABELS]
    if known:
        return known[-1].capitalize() if known[-1] == words[-1] else ""
    is_written = column[:1].isupper() and not column.isupper() and _WRITTEN.fullmatch(column)
    return column if is_written and _UNSAID.isdisjoint(words) else ""


_FIELDS = frozenset(
    ("passage", "passages", "context", "contexts", "background", "question", "evidence", "article")
)


def is_field_name(name: str) -> bool:
    """Whether a column that is not the source is plainly meant to be read with the texts."""
    words = words_of(name)
    if _FIELDS.isdisjoint(words) or any(says(name, role) for role in ("remark", "vote", "fact")):
        return False
    try:
        return bool(check_field_name(name))
    except InvalidInput:
        return False


def other_side(name: str) -> tuple[str, ...] | None:
    """Return the words of the column that is on the other side, such as `text_b` for `text_a`."""
    words = words_of(name)
    for i in reversed(range(len(words))):
        for first, second in SIDES:
            if words[i] == first:
                return (*words[:i], second, *words[i + 1 :])
    return None
