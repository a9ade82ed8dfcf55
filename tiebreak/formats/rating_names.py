"""What the name of a column says about ratings, in the languages that tables are often written in."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable

from tiebreak.formats.rating_cells import COLUMNS
from tiebreak.formats.tables.names import words_of

# Who gave labels of which nothing says who gave them: a human or a machine.
UNNAMED = ("unnamed rater", "unnamed judge")
SOURCES = {"human", "judge"}
ROLES: dict[str, frozenset[str]] = {
    role: frozenset(words.split())
    for role, words in {
        "unit": "unit item itemid gid tid mid eid example instance doc document segment segid seg question questionid qid docid hit"
        " hitid sample sentence tweet comment post pair stimulus subject case assignment row stimuli url uri link file filename path page audio video sound clip recording image id idx index uid key"
        " einheit beispiel aufgabe unité élément exemple phrase 条目 项目 编号 样本",
        "rater": "rater raterid annotator annotatorid worker workerid coder coderid judge judgeid user userid"
        " username participant participantid respondent reviewer evaluator labeler labeller assessor expert"
        " turk turker grader observer volunteer interviewer scorer tagger examiner panelist juror voter bewerter bewerterin prüfer prüferin kodierer gutachter beurteiler nutzer teilnehmer"
        " teilnehmerin proband probandin annotateur annotatrice évaluateur évaluatrice juge codeur codeuse"
        " utilisateur utilisatrice participante anonyme utente utenti valutatore valutatrice annotatore"
        " giudice partecipante usuario usuaria anotador anotadora evaluador evaluadora juez"
        " avaliador avaliadora utilizador oceniający аннотатор эксперт 标注者 评分者 标注员 评审 用户 평가자 주석자 사용자 참가자 作業者 評価者 被験者",
        "label": "label rating score judgment judgement annotation answer response value vote choice"
        " preference preferred pick class grade stars winner verdict bewertung urteil punkte punkt antwort note"
        " étiquette réponse jugement évaluation scelta giudizio voto punteggio valutazione elección"
        " calificación puntuación puntaje respuesta valoración escolha avaliação 评分 标签 分数 打分 得分 점수 평가 評価",
        "criterion": "criterion criteria dimension aspect metric attribute quality skill trait kriterium merkmal"
        " critère 维度 标准 指标",
        "reason": "reason reasons reasoning rationale explanation justification begründung 理由",
    }.items()
}
# What is no rating: what was computed from ratings or is known from elsewhere, and what describes the
# rater; and what texts are usually rated on.
_OTHER: dict[str, frozenset[str]] = {
    kind: frozenset(words.split())
    for kind, words in {
        "computed": "soft hard kappa normalised normalized standardised standardized zscore gold truth groundtruth gt reference majority maj consensus final aggregate aggregated comb combined merged"
        " aggregation average avg mean median mode sum total std sd var variance stddev agreement count"
        " counts num n adjudicated resolved stdev range mittelwert durchschnitt mehrheit moyenne"
        " majorité promedio mayoría maggioranza 平均 总计 결론 합의 최종 평균 합계 다수결",
        "fact": "country language education nationality time date timestamp duration seconds"
        " ms minutes created updated started submitted order position batch page url link email ip version"
        " status worktime approved rejected lifetime confidence split fold chars tokens length words comment comments config",
        "criterion": "fluency coherence relevance consistency adequacy grammar grammaticality"
        " informativeness helpfulness harmlessness correctness accuracy faithfulness factuality readability"
        " clarity quality overall engagement naturalness meaning simplicity creativity interestingness"
        " toxicity politeness usefulness understandability completeness conciseness safety truthfulness style"
        " specificity plausibility",
    }.items()
}
# What words of a name mean, by their beginnings or as a whole, in several languages: what anyone judges texts
# by, what programs measure or predict, which is better, how much ratings differ, and who gave them.
_KINDS = {
    "judged": re.compile(
        r"_(fluen|coh[eéä]r|relev|rilev|pertinen|[kc]onsist|ade[qcg]ua|gramm?[aá]|informativ|help|harm|[ck]orr?e[ck]t|exactitud|accura"
        r"|faithful|factual|read(?!ing)|lesbar|verst[aä]nd|clear|clari|clar[tez]|chiar|nat[uü]r|simpl|creativ|interest|engag|toxi|polite"
        r"|useful|nützlich|understand|complet|vollst[aä]nd|concis|safe|sicher|truth|specific|plausib|ground(?!truth)|hallucinat|errors?_|err_"
        r"|accept|appropria|offens|hate|bias|stereotyp|unsafe|sarcas|sentiment|emotion|stance|humou?r|funny|empath|tone_|persua|convinc"
        r"|original|novel|divers|depth|feasib|sound|logic|comprehens|coverage|attribut|resolution|adheren|complian|following|trustworth"
        r"|sensib|humanlike|humanness|like?ab|satisf|usab|solvab|memorab|sever|valence|arousal|fidel|preserv|entail|intelligib|structure"
        r"|organi[sz]|spell|redundan|elegan|aesthetic|believ|answerab|ambigu|realis|vivid|qualit|actionab|content|languag)"
        r"|流[畅暢]|相关|関連|连贯|一[致貫]|准确|正确|正確|质量|品質|有用|安全|可读|忠实|自然さ|유창|관련|일관|정확|자연스|품질"
    ),
    "winner": re.compile("_(winner|preferred|preference|better|best|chosen|choice|pick)_"),
    "measured": re.compile(
        r"_(match|em|f1|rouge\w*|bleu\w*|comet|chrf|meteor|bertscore|perplexity|ppl|cer|wer|ter|recall|precision|ndcg|mrr|cosine"
        r"|embedding|entropy|loss|logprob|prob\w*|levenshtein|jaccard|distance|rate|winrate|ratio|percent\w*|latency|cost|usd|price"
        r"|temperature|seed|tokens?|len|length|elapsed|runtime|diff|difference|delta|margin|elo|usage|parsed?|rank)_"
    ),
    "predicted": re.compile(
        r"_(auto|automat\w*|heuristic|silver|predicted|predictions?|pred|target)_"
        r"|_(true|actual|expected|original|correct)__(label|answer|class|option|choice|category|response|winner)"
    ),
    "spread": re.compile("_(std|sd|stdev|stddev|variance|kappa|mos)_"),
    "human": re.compile("_(humans?|raters?|annotators?|experts?|manual)_"),
    "judge": re.compile("_(judge|llm|autorater)_"),
}
_WORST = {"best": "worst", "most": "least"}
# Words that say that a column numbers or names something, and not what.
_IDS = frozenset(
    ("id", "ids", "index", "indices", "idx", "unique", "uuid", "number", "name", "the", "of", "by")
) | {"anon", "anonymized", "anonymised", "anonymous", "hash", "hashed", "masked", "pseudonym"}
_PERSONAL = frozenset(
    [
        "age",
        "gender",
        "sex",
        "alter",
        "geschlecht",
        "âge",
        "sexe",
        "edad",
        "sexo",
        "età",
        "sesso",
        "年龄",
        "性别",
    ]
)
_PERSON = re.compile(r"[^@\s]+@[^@\s]+\.\w+|\d{4,}")
_RATER_NAME = re.compile(
    r"(rater|annotator|anno|ann|coder|judge|reviewer|expert|evaluator|worker|assessor|participant|subject"
    r"|human|grader|turker|labell?er|member|moderator|tester|speaker|physician|doctor|user|person|obs|observer|volunteer|student|teacher|clinician|bewerter|kodierer|annotateur|juge|codeur"
    r"|utente|annotatore|giudice|usuario|anotador|evaluador|标注者?|评分者?|평가자)"
    r"[\W_]*\w{0,3}|(?!q\d)[a-z]{1,2}[\W_]?\d{1,3}|[a-z]",
    re.IGNORECASE,
)
NUMBERED = re.compile(r"(.*?[^\W\d_])[\W_]*(\d{1,3})")
# `Clip 3` in `Clip 3: how natural is it?`, and what may stand around it.
_THING = re.compile(r"[^\W\d_]+[\s_#-]*\d{1,3}(?!\d)")
_AROUND = " \t\n:.,-–—()"
_BY = re.compile(
    r"(rated|label+ed|annotated|reviewed|scored|judged|evaluated|coded|graded|verified)[\W_]*by$"
)
_MACHINES = frozenset(
    ("llm", "lm", "model", "machine", "ai", "bot", "automatic", "automated", "auto", "synthetic")
)
_HUMANS = frozenset(("human", "person", "people", "crowd", "crowdworker", "student", "author"))
# Systems by name, and not words such as "baseline", which may be a person's condition.
_MACHINE = re.compile(
    r"(?<![a-z])(gpt|chatgpt|claude|llama|gemini|mistral|mixtral|qwen|deepseek|palm|command-r|llm|gemma"
    r"|grok|kimi|glm|nemotron|olmo|(opus|sonnet|haiku)[-_ ]?\d)(?![a-z]{3})",
    re.IGNORECASE,
)


def stem_of(name: str) -> str:
    """Return a name without the number at its end, or "" if it has none."""
    match = NUMBERED.fullmatch(name.strip())
    return match[1] if match else ""


def asked_of_things(names: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Return the thing and the question of each name, if a question is asked again with other numbers.

    Such as `Clip 1` in `Clip 1: how natural is it?`, and not `Rater 1`.
    """
    found = [thing for name in names for thing in _THING.finditer(name)]
    found = [thing for thing in found if role_of(stem_of(thing[0])) != "rater"]
    rests = [(thing.string[: thing.start()], thing.string[thing.end() :]) for thing in found]
    questions = [" ".join(t for part in rest if (t := part.strip(_AROUND))) for rest in rests]
    n = Counter(questions)
    asked = zip(found, questions, strict=True)
    return {t.string: (t[0], q) for t, q in asked if n[q] > 2 and len(q.split()) > 2}


def role_of(name: str) -> str:
    """Return the role that a column's name says, or "".

    The names of the ratings format are those roles; of other names the last word counts most, as in
    `annotator_id` and `label_by_expert`.
    """
    plain = unicodedata.normalize("NFKC", name).strip().casefold()
    if plain in COLUMNS:
        return plain
    if plain in ("ann", "anno"):
        return "rater"
    if plain.rstrip(".") in ("no", "nr"):  # a number, where an option of a question says no
        return "unit"
    if _BY.search(plain):
        return "rater"
    every = _words(re.sub(r"(?<=\w)\s*[(\[].*", "", name.strip()))
    words = [word for word in every if word not in _IDS]
    # The judge of `judge_model` is a model, and its rater is the judge.
    last = words[:1] if words[-1:] == ["model"] else words[-1:]
    said = {form for word in ("".join(words), *last) for form in (word, _singular(word))}
    is_id = not {"id", "ids", "identifier", "uuid"}.isdisjoint(every)
    for role, known in ROLES.items():
        if not known.isdisjoint(said) and (not is_id or role in ("unit", "rater", "criterion")):
            return role
    return "unit" if is_id else ""


def _words(name: str) -> list[str]:
    parts = re.split(r"[\W_]+", name)
    return [word for part in parts for word in (words_of(part) or [part]) if word]


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def is_computed(name: str) -> bool:
    """Whether a column has values that were computed from ratings, or a gold label."""
    plain = name.strip().casefold()
    if _PERSON.fullmatch(plain) or plain == "mode":  # as often a setting
        return False
    is_number_of = plain.startswith(("number of", "no. of", "num_", "n_", "anzahl", "nombre de"))
    return is_number_of or not _OTHER["computed"].isdisjoint(_words(plain))


def is_plain_label(name: str) -> bool:
    """Whether a column is only called a label, score or verdict, and not after a criterion."""
    words = [word for word in _words(name.casefold()) if word not in _IDS]
    return bool(words) and ROLES["label"].issuperset(words)


def opposite_of(name: str) -> str:
    """Return in lower case what the question for the worst is called beside one for the best, or ""."""
    parts = re.split(r"(?<![a-z])(best|most)(?![a-z])", name.casefold(), maxsplit=1)
    return parts[0] + _WORST[parts[1]] + parts[2] if len(parts) > 1 else ""


def is_fact(name: str) -> bool:
    """Whether a column describes a rater or a rating and is no answer, as fields of platforms do: `_trust`, `trust`.

    With other words beside it, trust is what was asked: “I trust the answer”.
    """
    is_field = name.startswith("_") or name.casefold() == "trust" or is_about_person(name)
    return is_field or not _OTHER["fact"].isdisjoint(_words(name.casefold()))


def is_about_person(name: str) -> bool:
    """Whether a column says of each row what is said of persons, so that the row is a rater's."""
    return not _PERSONAL.isdisjoint(_words(name.casefold()))


def is_criterion(name: str) -> bool:
    """Whether a column is named after what texts are usually rated on."""
    return not _OTHER["criterion"].isdisjoint(_words(name.casefold()))


def kinds_of(name: str) -> set[str]:
    """Return what a name says of its cells: "judged", "winner", "measured", "predicted", "spread", "human", "judge"."""
    joined = f"_{'__'.join(_words(name.casefold()))}_"
    kinds = {kind for kind, pattern in _KINDS.items() if pattern.search(joined)}
    return kinds | ({"judged"} if "winner" in kinds or is_criterion(name) else set())


def is_rater(name: str) -> bool:
    """Whether a column is named after one of several raters: `rater_2`, `A1`, `B`, an address, a number."""
    plain = name.strip()
    return any(pattern.fullmatch(plain) for pattern in (_RATER_NAME, _PERSON))


def kind_of(rater_type: object) -> str:
    """Return "human" or "machine", if that is what a word says of a rater, and else the word."""
    word = str(rater_type).strip().casefold()
    if word in _MACHINES or is_machine(word):
        return "machine"
    return "human" if word in _HUMANS or role_of(word) == "rater" else word


def is_machine(name: str) -> bool:
    """Whether a rater's name is a language model's, and not a worker's number after the name of a batch."""
    is_worker = re.search(r"/\d+$", name) is not None
    return not is_worker and _MACHINE.search(name) is not None
