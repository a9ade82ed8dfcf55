from tiebreak.verification import verify as verify

__version__: str
