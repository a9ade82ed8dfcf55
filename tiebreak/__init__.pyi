from tiebreak.analysis import analyze as analyze
from tiebreak.verification import verify as verify

__version__: str
