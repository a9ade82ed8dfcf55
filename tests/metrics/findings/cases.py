"""All cases of findings."""

from tests.metrics.findings.agreement_cases import AGREEMENT
from tests.metrics.findings.bias_cases import BIASES, FATIGUE
from tests.metrics.findings.leading_cases import LEADING
from tests.metrics.findings.machine_cases import MACHINES, PERCEPTION
from tests.metrics.findings.on_request_cases import ON_REQUEST
from tests.metrics.findings.order_cases import ORDER
from tests.metrics.findings.rater_cases import RATERS
from tests.metrics.findings.selection_cases import SELECTION
from tests.metrics.findings.set_cases import SETS
from tests.metrics.findings.stopping_cases import STOPPING
from tests.metrics.findings.stratum_cases import STRATA
from tests.metrics.findings.summary_cases import SUMMARY
from tests.metrics.findings.text_cases import TEXTS
from tests.metrics.findings.watching_cases import WATCHING
from tests.metrics.findings.win_rate_cases import WINS

CASES = (
    *(WINS + WATCHING + AGREEMENT + SETS + SELECTION + PERCEPTION + BIASES + FATIGUE + ORDER),
    *(ON_REQUEST + RATERS + LEADING + MACHINES + SUMMARY + STOPPING + STRATA + TEXTS),
)
