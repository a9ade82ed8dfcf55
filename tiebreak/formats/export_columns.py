"""The tables of an export: what their columns mean, and of which type they are.

The codebook, the dataset card and the Croissant metadata describe the columns in these words.
"""

from collections.abc import Mapping

from tiebreak.formats import rating_cells

Columns = Mapping[str, str]

RATINGS: Columns = {
    "unit": "id of the rated item: a comparison, or a single generation",
    "rater": "an annotator's pseudonym, or a machine rater's name",
    "label": "the rating; in a preference, −1 is system A, 0 a tie and 1 system B",
    "nonresponse": "why there is no label: cannot_say, or broken for an item that is broken or harmful",
    "reason": "the rater's reason, in their own words",
    "kind": "human or machine",
    "criterion": "name of the criterion in the table above",
    "role": "main, repeat, gold, training or qualification",
    "run": "run of a machine rater",
    "repeat": "1 for a planned repeat, otherwise 0",
    "order": "presentation order in a machine rater's run",
    "instance": "id of the instance in instances.jsonl",
    "system_a": "the first system in canonical order",
    "system_b": "the second system",
    "sample_a": "sample index of system A's generation",
    "sample_b": "sample index of system B's generation",
    "category": "the instance's category",
    "separability": "separability δ from min–max normalised alignments, frozen at planning; draws and SEP-Elo use it",
    "separability_raw": "separability δ without normalisation, by which pictures and filters have their bands",
    "similarity": "the similarity from which δ was computed",
    "phase": "the sampling phase in which the instance was drawn",
    "inclusion_probability": "the probability with which the instance was drawn",
    "side_a": "the side of system A: left (first) or right (second)",
    "layout": "side_by_side, or stacked on a narrow screen; with _translated at the end if the browser"
    " had translated the page",
    "position": "position of the item in its task, from 1",
    "hit_position": "position of the task in the annotator's sequence, from 1",
    "duration_ms": "milliseconds from display to answer",
    "created_at": "time of the answer, UTC",
    "study_version": "the version of guidelines, consent and limits that the annotator saw",
    "participation": "id of the annotator's participation in the study",
    "surplus": "flag: complete, but the task already had all R responses",
    "superseded": "flag: the annotator changed the answer later",
    "partial": "flag: part of a task that its annotator left unfinished",
    "late": "flag: arrived after the study was closed",
    "excluded": "flag: excluded from the results for the reason in excluded_reason",
    "excluded_reason": "why the rating was excluded; for an annotator, the status (log.jsonl has the stated reason)",
    "simulated": "flag: given by a bot in place of the rater",
    "raw": "a machine's answer that could not be parsed, verbatim",
    "probabilities": "a machine's probability of each label, as JSON, in system order like label",
    "perturbation": "of a perturbed copy of a text, how it was changed: level/kind/degree; else empty",
    "original_system": "of a perturbed copy, the system whose text was changed; else empty",
    "chars_a": "length of A's text in characters",
    "chars_b": "length of B's text in characters",
}

# What a spreadsheet needs so that each rating can be read by itself; an option of the export.
TEXTS: Columns = {
    "source": "the instance's source; of a conversation, its messages one after another",
    "text_a": "the text of system A, or the single text",
    "text_b": "the text of system B",
    "winner": "the name of the preferred system; tie if none is preferred, bad if both are bad",
}
RATINGS_WITH_TEXTS: Columns = {**RATINGS, **TEXTS}

SEPARABILITY: Columns = {
    "instance": "id of the instance in instances.jsonl",
    "category": "the instance's category",
    "system_a": "the first system of the pair in canonical order",
    "system_b": "the second system",
    "similarity": "the similarity from which δ was computed",
    "similarity_settings": "what else decides the similarity, such as the encoder, as JSON",
    "samples_a": "how many generations of system A were compared",
    "samples_b": "how many generations of system B were compared",
    "self_alignment_a": "mean similarity between the generations of system A",
    "self_alignment_b": "mean similarity between the generations of system B",
    "cross_alignment": "mean similarity between generations of A and of B",
    "separability_raw": "separability δ: the larger self-alignment minus the cross-alignment",
    "separability_standard_error": "standard error of separability_raw, by the jackknife",
    "separability": "separability δ from alignments that were min–max normalised over the scope",
    "scenario": "whether the larger self-alignment and the cross-alignment are in the upper half of the scope",
    "scope": "the set of instances over which the minimum and maximum were taken",
    "scope_instances": "number of instances in the scope",
    "truncated": "how many of the instance's texts exceeded the encoder's maximum length",
}
# What the column `scope` says of scores.
SCOPE = "all scored instances of the dataset, for {a} and {b} by {similarity}"
# Scores of a file of generations, which knows no categories.
SCORES: Columns = {
    **{name: meaning for name, meaning in SEPARABILITY.items() if name != "category"},
    "reason": "why there is no δ, as a sentence; otherwise empty",
}
REFERENCE_ANSWERS: Columns = {
    "unit": "id of the reference item, as in the ratings",
    "role": "gold, training or qualification",
    "criterion": "name of the criterion",
    "expected": "the label that counts as correct, in system order as in the ratings",
    "explanation": "what annotators read after a wrong answer",
    "instance": "id of the instance in instances.jsonl",
    "system_a": "the first system",
    "system_b": "the second system",
    "sample_a": "sample index of system A's generation",
    "sample_b": "sample index of system B's generation",
}
DESIGN: Columns = {
    "unit": "id of the item, as in the ratings",
    "role": "main, gold, training or qualification",
    "hit": "number of the item's task; empty for gold checks, which are mixed into other tasks",
    "repeats": "how often the task shows the item again, as a planned repeat",
    "further": "1 if the task was drawn for additional ratings beyond R, otherwise 0",
    "instance": "id of the instance in instances.jsonl",
    "category": "the instance's category",
    "system_a": "the first system in canonical order",
    "system_b": "the second system",
    "sample_a": "sample index of system A's generation",
    "sample_b": "sample index of system B's generation",
    "phase": "the sampling phase in which the instance was drawn; empty if all were taken",
    "inclusion_probability": "the probability with which the instance was drawn",
    "conditional_inclusion_probability": "the probability in the second phase, given the first",
    "separability_raw": "separability δ without normalisation, frozen at planning",
    "separability": "separability δ from min–max normalised alignments, frozen at planning",
    "similarity": "the similarity from which δ was computed",
}
# Instances that were drawn from a file of scores.
SELECTED: Columns = {
    name: DESIGN[name]
    for name in (
        *("instance", "system_a", "system_b", "phase", "inclusion_probability"),
        *("conditional_inclusion_probability", "separability_raw", "separability", "similarity"),
    )
}
# What annotators wrote; an option of the export.
COMMENTS: Columns = {
    "unit": "id of the item, as in the ratings; empty for a comment on the whole study",
    "instance": "id of the instance in instances.jsonl",
    "repeat": "1 for a planned repeat, otherwise 0",
    "rater": "the annotator's pseudonym",
    "participation": "id of the annotator's participation in the study",
    "text": "what the annotator wrote, as it was typed",
    "created_at": "time at which this text was sent, UTC",
    "done": "whether a researcher has dealt with it",
}
PREFERENCE: Columns = {
    "prompt": "the instance's source, or its conversation as messages with role and content",
    "chosen": "the text that more annotators preferred",
    "rejected": "the other text",
    "criterion": "name of the criterion",
    "unit": "id of the item, as in the ratings",
    "instance": "id of the instance in instances.jsonl",
    "category": "the instance's category",
    "chosen_system": "the system of the chosen text",
    "rejected_system": "the system of the rejected text",
    "votes_chosen": "how many annotators preferred the chosen text",
    "votes_rejected": "how many annotators preferred the rejected text",
    "votes_tie": "how many annotators had no preference",
    "is_tie": "whether the annotators preferred neither text, so the direction means nothing",
    "separability_raw": "separability δ without normalisation, frozen at planning; filter or weight rows by it",
    "separability": "separability δ from min–max normalised alignments, frozen at planning",
}
INSTANCES: Columns = {
    "id": "id of the instance",
    "source": "the text that was given to the systems",
    "messages": "the conversation that was given to the systems, as JSON",
    "category": "the instance's category",
    "reference": "a text written by a person",
    "metadata": "all other facts about the instance, as JSON",
}
GENERATIONS: Columns = {
    "instance": "id of the instance",
    "system": "the system that produced the text",
    "sample_index": "number of the sample, from 0",
    "text": "the text",
    "seed": "the random seed with which the text was produced",
    "params": "what produced the text (model, server, prompt, decoding settings), as JSON",
    "is_dummy": "whether the text was invented to try the study out",
}

_WHOLE = ("samples_a", "samples_b", "scope_instances", "truncated", "hit", "repeats", "further")
_VOTES = ("votes_chosen", "votes_rejected", "votes_tie")
_REAL = (
    "self_alignment_a",
    "self_alignment_b",
    "cross_alignment",
    "separability_standard_error",
    "conditional_inclusion_probability",
)
# Arrow's type of every column that does not hold text.
ARROW_TYPES: Mapping[str, str] = {
    **rating_cells.ARROW_TYPES,
    **dict.fromkeys((*_WHOLE, *_VOTES, "sample_index", "seed"), "int64"),
    **dict.fromkeys(_REAL, "float64"),
    **dict.fromkeys(("is_tie", "is_dummy", "done"), "bool_"),
}
# The type of a conversation: a list of messages with role and content.
MESSAGES = "messages"
# Columns of labels, which become text because they are numbers for some criteria and words for
# others.
LABELS = ("label", "expected")
