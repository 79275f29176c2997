"""Advice against the real engine: the settings of a study run on the product itself, beside what
was predicted of them."""

from advisor.verify.contenders import BASE, Contender, contenders
from advisor.verify.finals import decided, hold, refuse_unjudged, undecided
from advisor.verify.known import known_errors
from advisor.verify.less_data import size_decides
from advisor.verify.outcome import Compared, Sizing, Verification
from advisor.verify.paired import Difference
from advisor.verify.record import Errors, errors_so_far
from advisor.verify.stored import newest
from advisor.verify.verification import Event, Limits, verify

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
    "decided",
    "errors_so_far",
    "hold",
    "known_errors",
    "newest",
    "refuse_unjudged",
    "size_decides",
    "undecided",
    "verify",
]
