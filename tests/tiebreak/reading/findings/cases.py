"""All cases of findings."""

from tests.tiebreak.reading.findings.agreement_cases import AGREEMENT
from tests.tiebreak.reading.findings.bias_cases import BIASES, FATIGUE
from tests.tiebreak.reading.findings.leading_cases import LEADING
from tests.tiebreak.reading.findings.machine_cases import MACHINES, PERCEPTION
from tests.tiebreak.reading.findings.nonresponse_cases import NONRESPONSE
from tests.tiebreak.reading.findings.on_request_cases import ON_REQUEST
from tests.tiebreak.reading.findings.order_cases import ORDER
from tests.tiebreak.reading.findings.rater_cases import RATERS
from tests.tiebreak.reading.findings.selection_cases import SELECTION
from tests.tiebreak.reading.findings.set_cases import SETS
from tests.tiebreak.reading.findings.stopping_cases import STOPPING
from tests.tiebreak.reading.findings.stratum_cases import STRATA
from tests.tiebreak.reading.findings.summary_cases import SUMMARY
from tests.tiebreak.reading.findings.text_cases import TEXTS
from tests.tiebreak.reading.findings.watching_cases import WATCHING
from tests.tiebreak.reading.findings.win_rate_cases import WINS

CASES = (
    *(WINS + WATCHING + AGREEMENT + SETS + SELECTION + PERCEPTION + BIASES + FATIGUE + ORDER),
    *(ON_REQUEST + RATERS + LEADING + MACHINES + SUMMARY + STOPPING + STRATA + TEXTS + NONRESPONSE),
)
