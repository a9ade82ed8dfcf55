"""Base classes of errors: a code for programs, and a message to read."""


class DomainError(Exception):
    """An operation was refused.

    ``code`` identifies the case for programs. ``message`` says what happened and what to do next, and
    is shown on pages and by the API, the admin and the commands. ``status`` is the HTTP status.
    """

    def __init__(self, code: str, message: str, *, status: int = 409) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = status


class InvalidInput(ValueError):
    """An invalid value: an argument, a label, or a cell of a file.

    ``code`` identifies the case for programs; ``message`` names the value and what is allowed.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message

    def __str__(self) -> str:
        return self.message
