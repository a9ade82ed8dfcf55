"""Base classes of errors: a code for programs, and a message for people."""


class DomainError(Exception):
    """A verb that was refused, with a sentence that says what happened and what to do next.

    Pages, the API, the admin and the commands all show `message`; `status` is the HTTP answer.
    """

    def __init__(self, code: str, message: str, *, status: int = 409) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = status


class InvalidInput(ValueError):
    """A value that cannot be used: an argument, a label, a cell of a file.

    `code` names the case for programs; `message` names the value and says what is allowed.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message

    def __str__(self) -> str:
        return self.message
