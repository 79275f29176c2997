"""How well the first tier of a search predicts the recorded trials, and what its proposals are
worth: `python -m tests.calibration.first_tier`.

For each table the closed forms, as they are and corrected by some rows, rank all others. Then they
propose six of the rows, as a search would have them, beside six random ones.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Sequence
from unittest.mock import patch

import numpy as np

from advisor.analytic import FirstTier
from advisor.analytic.model import Model
from advisor.goal import Goal
from advisor.trial import Trial, settings_key
from tests.support.recorded import TABLES, profile_of
from tests.support.recorded_study import METRIC, Table, drawing

LEARNT, PROPOSED = 12, 6
METRICS = ("ops_per_s", "write_kb_per_op", "reads_per_op", "cpu_us_per_op")
DRAWS = 20


def main() -> None:
    for workload, engine in TABLES:
        table = Table.of(workload, engine)
        tier = FirstTier.of(profile_of(workload), engine)
        assert tier is not None
        print(f"{workload} {engine}: {len(table.trials)} rows")
        for metric in METRICS:
            judge(FirstTier(tier.model, Goal(metric)), metric, table.trials)
        propose(FirstTier(tier.model, Goal(METRIC)), table)


def judge(tier: FirstTier, metric: str, trials: Sequence[Trial]) -> None:
    """Prints how the forms rank what they were not corrected by."""
    learnt, others = trials[:LEARNT], trials[LEARNT:]
    found = tier._corrections(learnt).get(metric)
    error = tier.error(learnt)
    if found is None or error is None:
        return
    seen = np.array([one.metrics[metric] for one in others])
    raw = tier._predicted(others)
    misses = found.log(raw) - np.log(seen)
    print(
        f"  {metric}: rank correlation {spearman(raw[metric].tolist(), seen.tolist()):.2f},"
        f" corrected {spearman(found.log(raw).tolist(), seen.tolist()):.2f};"
        f" simulated / predicted {np.median(seen / raw[metric]):.2f};"
        f" rms {np.sqrt(np.mean(misses**2)):.2f} corrected, {np.std(np.log(seen)):.2f} by the mean,"
        f" told {error.rms:.2f}"
    )


def propose(tier: FirstTier, table: Table) -> None:
    """Prints what the best of six proposals lacks of the best row, beside the best of six random
    rows."""
    rows = {settings_key("", one.settings): one.metrics[METRIC] for one in table.trials}
    best, lacks, blind = max(rows.values()), [], []
    values = {axis.name: axis.values for axis in table.space.axes}
    with patch.object(Model, "draw", drawing(table)):
        for seed in range(DRAWS):
            mixed = random.Random(seed).sample(table.trials, len(table.trials))
            learnt, others = mixed[:LEARNT], mixed[LEARNT:]
            found = tier.propose(values, learnt, count=PROPOSED, seed=seed).settings
            lacks.append(1.0 - max(rows[settings_key("", one)] for one in found) / best)
            blind.append(1.0 - max(one.metrics[METRIC] for one in others[:PROPOSED]) / best)
    print(
        f"  six proposals lack {statistics.fmean(lacks):.0%} of the best row,"
        f" six random rows {statistics.fmean(blind):.0%}",
        flush=True,
    )


def spearman(first: Sequence[float], second: Sequence[float]) -> float:
    """Correlation of ranks."""
    ranks = [np.argsort(np.argsort(np.asarray(own))) for own in (first, second)]
    return float(np.corrcoef(ranks)[0, 1])


if __name__ == "__main__":
    main()
