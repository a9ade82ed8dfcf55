"""The currencies that people can be paid in, by their codes in ISO 4217."""

from typing import Any

from django.core.exceptions import ValidationError
from django.db import models

# The codes in use in 2026, without those of funds, metals and tests.
CURRENCIES = frozenset(
    """
    AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF
    CHF CLP CNY COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ
    GYD HKD HNL HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP
    LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR
    PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC
    SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD UYU UZS VES VND VUV WST XAF XCD XCG XOF XPF
    YER ZAR ZMW ZWG
    """.split()  # noqa: SIM905
)
# Those that most studies pay in, to choose from first.
USUAL = ("EUR", "GBP", "USD", "AUD", "CAD", "CHF", "CNY", "INR", "JPY", "SEK")
NOT_A_CURRENCY = (
    "“{}” is not the code of a currency. Enter one of ISO 4217, such as GBP, EUR or USD."
)


def validate_currency(code: str) -> None:
    if code.upper() not in CURRENCIES:
        raise ValidationError(NOT_A_CURRENCY.format(code), code="not_a_currency")


def currency_choices() -> list[tuple[str, list[tuple[str, str]]]]:
    """Return all codes, the usual ones first."""
    groups = {"Usual": USUAL, "Others": sorted(CURRENCIES - set(USUAL))}
    return [(name, [(code, code) for code in codes]) for name, codes in groups.items()]


class CurrencyField(models.CharField[str, str]):
    """A code of a currency, which is stored in capital letters however it was typed."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        its: dict[str, Any] = {"max_length": 3, "validators": [validate_currency]}
        super().__init__(*args, **its | kwargs)

    def deconstruct(self) -> tuple[str, str, list[Any], dict[str, Any]]:
        name, _, args, kwargs = super().deconstruct()
        return name, "django.db.models.CharField", [*args], kwargs

    def to_python(self, value: Any) -> Any:
        text = super().to_python(value)
        return text.upper() if isinstance(text, str) else text

    def pre_save(self, model_instance: models.Model, add: bool) -> Any:
        code = self.to_python(super().pre_save(model_instance, add))
        setattr(model_instance, self.attname, code)
        return code
