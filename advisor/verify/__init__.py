"""Advice against the real engine: the settings of a study run on the product itself, beside what
was predicted of them."""

from advisor.verify.contenders import BASE, Contender, contenders
from advisor.verify.paired import Difference
from advisor.verify.record import Errors, errors_so_far
from advisor.verify.verification import (
    Compared,
    Event,
    Limits,
    Sizing,
    Verification,
    verify,
)

__all__ = [
    "BASE",
    "Compared",
    "Contender",
    "Difference",
    "Errors",
    "Event",
    "Limits",
    "Sizing",
    "Verification",
    "contenders",
    "errors_so_far",
    "verify",
]
