"""What speaks for an advice: all that the results file knows of its study, as both reports tell
it."""

from advisor.evidence.evidence import Evidence
from advisor.evidence.provenance import Fact, asked, made, questions
from advisor.evidence.runs import (
    LATENCIES,
    MOVED,
    History,
    bytes_of,
    histories,
    last_run,
    operation_of,
    operations,
    purposes,
    shape_of,
)

__all__ = [
    "LATENCIES",
    "MOVED",
    "Evidence",
    "Fact",
    "History",
    "asked",
    "bytes_of",
    "histories",
    "last_run",
    "made",
    "operation_of",
    "operations",
    "purposes",
    "questions",
    "shape_of",
]
