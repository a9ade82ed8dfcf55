from tiebreak.analysis import analyze as analyze

__version__: str
