"""Numbers in readable form: one function for each kind, so equal numbers look equal everywhere.

Names of ranges and confidence levels need as many digits as tell them apart, so they are not of these
kinds; nor are the ticks of an axis.
"""

from decimal import ROUND_HALF_UP, Decimal
from functools import cache
from math import floor, isfinite, log10


def rounded(number: Decimal | float, decimals: int) -> str:
    """Return a number with so many decimals; a half is rounded away from 0, as people do.

    What differs from a half by the error of sums only is one, so that a number is the same on each page.

    >>> rounded(0.725, 2), rounded(29 * 0.025, 2), rounded(-0.005, 2)
    ('0.73', '0.73', '-0.01')
    """
    return f"{_rounded(number, decimals):f}" if isfinite(number) else f"{number}"


def _rounded(number: Decimal | float, decimals: int) -> Decimal:
    exact = number if isinstance(number, Decimal) else Decimal(f"{number:.12g}")
    return exact.quantize(_place(decimals), ROUND_HALF_UP)


@cache
def _place(decimals: int) -> Decimal:
    return Decimal(1).scaleb(-decimals)


def in_digits(number: float, decimals: int | None = None) -> str:
    """Return a coefficient, a rate or a factor, with a real minus sign, and none if it rounds to 0.

    By default it has two decimals, and from 10 on, where Elo ratings are, one.
    """
    decimals = (2 if abs(number) < 10 else 1) if decimals is None else decimals
    text = rounded(number, decimals)
    return text.replace("-", "−" if float(text) else "")


def in_thousands(n: int) -> str:
    """Return a count, with a comma between its thousands.

    >>> in_thousands(1080)
    '1,080'
    """
    return f"{n:,}"


def small_in_digits(number: float) -> str:
    """Return a change from one item to the next or a variance, which may differ by a hundredth only."""
    return in_digits(number, 3)


def p_in_digits(p: float, *, equals: str = "") -> str:
    """Return a p-value with three decimals, and never as 0."""
    return f"{equals}{in_digits(p, 3)}" if p >= 0.001 else "< 0.001"


def percent(share: float) -> str:
    """Return a share in whole percent, which are the two decimals that tables show."""
    return f"{rounded(100 * share, 0)}%"


def duration(time: float) -> str:
    """Return seconds or minutes, whole ones from 10 on and tenths below."""
    return rounded(time, 0) if time >= 9.95 else rounded(time, 1).removesuffix(".0")


def about_minutes(minutes: float) -> str:
    """Return about how long something takes, as one says it: in seconds, tenths or whole minutes.

    >>> about_minutes(0.5), about_minutes(1), about_minutes(2.5), about_minutes(9.8)
    ('30 seconds', '1 minute', '2.5 minutes', '10 minutes')
    """
    if minutes < 0.95:
        return f"{max(5, 5 * round(12 * minutes))} seconds"
    number = rounded(minutes, minutes < 5).removesuffix(".0")
    return f"{number} minute{'s' * (number != '1')}"


def in_cents(amount: Decimal | float) -> Decimal:
    """Return an amount of money in whole cents, the half rounded up, as every page has it.

    >>> in_cents(Decimal("22.025"))
    Decimal('22.03')
    """
    return _rounded(amount, 2)


def money(amount: Decimal | float) -> str:
    """Return an amount of money without its currency, with a comma between its thousands.

    >>> money(Decimal("1080.5"))
    '1,080.50'
    """
    return f"{_rounded(amount, 2):,f}"


def about_money(amount: Decimal) -> str:
    """Return a forecast of money without its currency, as exactly as it is known: to two digits.

    >>> about_money(Decimal("381.50")), about_money(Decimal("1234.5")), about_money(Decimal("2.46"))
    ('380', '1,200', '2.50')
    """
    told = _rounded(amount, 1 - amount.adjusted())
    return f"{told:,.0f}" if told >= 10 else money(told)


def small_money(amount: Decimal | float) -> str:
    """Return a price without its currency, which may be of less than a cent and is then never told as 0.

    >>> small_money(12.5), small_money(0.35), small_money(0.00123), small_money(0)
    ('12.50', '0.35', '0.0012', '0.00')
    """
    if amount == 0 or amount >= 0.01:
        return money(amount)
    return rounded(amount, 1 - floor(log10(amount)))


def counted(n: int, noun: str, plural: str = "") -> str:
    """Return the number with its noun, such as `1 HIT` or `1,080 HITs`."""
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"
