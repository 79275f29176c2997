"""What Bloom filters spare: reads of keys that do not exist, and scans, with and without them.

The post has no experiment. This one is as small as its claims allow: plain keys in an LSM with a
block cache of a tenth of them, past the page cache.
"""

from __future__ import annotations

from typing import Any

from advisor.knobs import Setting
from advisor.published.engines import MYROCKS_2016
from advisor.published.experiment import Configuration, Experiment, Phase, Run, compared, measured

KEYS = 100_000_000
KEY_AND_VALUE_BYTES = 16 + 400
"""Those of the workload where it is not told otherwise."""
CLIENTS = 20
"""As many as the author's other posts of that month have."""

FILTERS: dict[str, Setting] = {"filter_policy": MYROCKS_2016["filter_policy"]}
CACHE: dict[str, Setting] = {
    "block_cache": KEYS * KEY_AND_VALUE_BYTES // 10,
    "use_direct_reads": True,
    "use_direct_io_for_flush_and_compaction": True,
}
WITH, WITHOUT = "with filters", "without filters"
CONFIGURATIONS = (
    Configuration(WITH, "lsm", CACHE | FILTERS),
    Configuration(WITHOUT, "lsm", CACHE),
)
ABSENT, SCANS = "absent keys", "scans"
REQUESTS: dict[str, dict[str, Any]] = {
    ABSENT: {"reads": 1, "overwrites": 0, "absent_share": 1.0},
    SCANS: {"reads": 0, "overwrites": 0, "scans": 1},
}


def named(requests: str, filters: str) -> str:
    """The name of a run."""
    return f"{requests} {filters}"


def bloom_filters() -> Experiment:
    """Reads of absent keys, and scans, of an LSM with and without filters."""
    runs = tuple(
        Run(
            named(requests, one.name),
            one,
            CLIENTS,
            Phase(operations=KEYS),
            workload=parameters,
        )
        for requests, parameters in REQUESTS.items()
        for one in CONFIGURATIONS
    )
    return Experiment(
        name="bloom-filters",
        text="100 million plain keys: reads of absent ones, and scans, with and without filters",
        sources=("MC-2016-01-19a",),
        hardware="pcie-flash-2016",
        workload={"kind": "key_value", "load_overwrites": 0},
        units=KEYS,
        sized_by="keys",
        data_bytes=KEYS * KEY_AND_VALUE_BYTES,
        operations=KEYS,
        runs=runs,
        rows=(
            *(
                compared(metric, named(requests, WITH), named(requests, WITHOUT))
                for requests in REQUESTS
                for metric in ("reads_per_op", "read_amp")
            ),
            *(
                measured(metric, run.name)
                for metric in ("reads_per_op", "read_amp")
                for run in runs
            ),
        ),
        claims=("C7",),
        caveats=(
            "the post describes no experiment: keys, sizes, cache and machine are ours",
            "files are those of a load that has settled",
        ),
    )
