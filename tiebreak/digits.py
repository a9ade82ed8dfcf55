"""Numbers in readable form: one function for each kind, so equal numbers look equal everywhere.

Names of ranges and confidence levels need as many digits as tell them apart, so they are not of these
kinds; nor are the ticks of an axis.
"""

from decimal import Decimal


def in_digits(number: float, decimals: int | None = None) -> str:
    """Return a coefficient, a rate or a factor, with a real minus sign, and none if it rounds to 0.

    By default it has two decimals, and from 10 on, where Elo ratings are, one.
    """
    decimals = (2 if abs(number) < 10 else 1) if decimals is None else decimals
    text = f"{number:.{decimals}f}"
    return text.replace("-", "−" if float(text) else "")


def small_in_digits(number: float) -> str:
    """Return a change from one item to the next or a variance, which may differ by a hundredth only."""
    return in_digits(number, 3)


def p_in_digits(p: float, *, equals: str = "") -> str:
    """Return a p-value with three decimals, and never as 0."""
    return f"{equals}{in_digits(p, 3)}" if p >= 0.001 else "< 0.001"


def percent(share: float) -> str:
    """Return a share in whole percent, which are the two decimals that tables show."""
    return f"{float(f'{share:.2f}'):.0%}"


def duration(time: float) -> str:
    """Return seconds or minutes, whole ones from 10 on and tenths below."""
    return f"{time:.0f}" if time >= 9.95 else f"{time:.1f}".removesuffix(".0")


def money(amount: Decimal | float) -> str:
    """Return an amount of money without its currency."""
    return f"{amount:.2f}"
