"""The kinds of machine raters, from which the verbs, the pages and the interface derive."""

from collections.abc import Mapping

from machine_raters.baselines.kind import BaselineKind
from machine_raters.judging.kind import JudgeKind
from machine_raters.juries.kind import JuryKind
from machine_raters.kind import Kind
from machine_raters.synthetic.kind import SyntheticSetKind

KINDS: Mapping[str, Kind] = {
    kind.name.value: kind for kind in (JudgeKind(), BaselineKind(), JuryKind(), SyntheticSetKind())
}
