"""A filter that is larger than a shard of the block cache is read again by each lookup, and so it
is in copies, whose filters and caches are smaller: as often, and of as many bytes.
"""

from collections.abc import Mapping
from functools import cache

import pytest

from advisor import core, knobs
from advisor.profile import hardware
from advisor.scale import FullRun, InBytes, Scale, Simulated, scaled_run
from advisor.workload import Workload

MIB = 1 << 20
WORKLOAD = {"kind": "key_value", "reads": 1.0, "distribution": "uniform", "value_bytes": 100}
DATA = 128 * MIB
CACHE = 24 * MIB
"""32 shards of 768 KiB. A file of 32 MiB has some 270,000 keys, at 10 bits each 340 KB of filters,
at 40 bits 1.3 MB."""


@cache
def measured(bits: int, factor: float) -> Mapping[str, float]:
    scale = Scale(factor)
    settings = {
        "write_buffer_size": 16 * MIB,
        "target_file_size_base": 32 * MIB,
        "max_bytes_for_level_base": 64 * MIB,
        "block_cache": CACHE,
        "cache_index_and_filter_blocks": True,
        "filter_policy": f"bloomfilter:{bits}:false",
        "compression": "kNoCompression",
    }
    run = scaled_run(
        FullRun(
            engine="lsm",
            settings=knobs.defaults("lsm") | settings,
            workload=InBytes(Workload.model_validate(WORKLOAD), DATA),
            clients=4,
            seed=1,
            clock=Simulated(hardware("pcie-flash-2016")),
            length={"operations": 4_000, "interval_ms": 10},
            load_batch_rows=64,
        ),
        scale,
    )
    report = core.run(run.spec)
    metrics: dict[str, float] = report["metrics"]
    return metrics


@pytest.mark.parametrize("metric", ["read_kb_per_op", "reads_per_op", "ops_per_s", "cpu_us_per_op"])
@pytest.mark.parametrize("factor", [1 / 4, 1 / 16])
def test_what_a_shard_cannot_hold_is_read_as_at_full_size(factor: float, metric: str) -> None:
    full, copy = measured(40, 1.0)[metric], measured(40, factor)[metric]
    assert copy == pytest.approx(full, rel=0.2)


@pytest.mark.parametrize("factor", [1.0, 1 / 4, 1 / 16])
def test_what_a_shard_holds_is_not_read_again(factor: float) -> None:
    small, large = measured(10, factor), measured(40, factor)
    assert small["read_kb_per_op"] < 10 < large["read_kb_per_op"] / 10
