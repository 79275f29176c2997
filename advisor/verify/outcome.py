"""What a verification showed: each contender, predicted beside real, and the verdict on it."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from advisor.goal import Goal
from advisor.knobs import Settings
from advisor.profile import Profile
from advisor.scale import Scale
from advisor.trial import Trial
from advisor.verify.contenders import RECOMMENDED, Contender
from advisor.verify.paired import Difference, differences

METRICS = (
    "ops_per_s",
    "p99_us",
    "write_kb_per_op",
    "read_kb_per_op",
    "reads_per_op",
    "write_amp",
    "space_amp",
    "memory_bytes",
    "process_memory_bytes",
)
"""What is compared besides the goal's own metrics."""
Ending = Literal["settled", "out of time", "interrupted", "nothing to compare"]


@dataclass(frozen=True)
class Sizing:
    """What each run of a verification is."""

    scale: Scale
    data_bytes: int
    memory_bytes: int
    operations: int
    """Of the measured phase, which begins and ends settled: the same for all, and predicted."""
    direct_io: bool
    """Whether reads and writes pass the page cache by, which would hold all the data here."""
    disk: str = ""
    """The folder of the runs; empty where only the stored runs are left."""

    @classmethod
    def of(cls, profile: Profile, scale: Scale, operations: int, disk: str = "") -> Sizing:
        """The profile at this scale."""
        return cls(
            scale,
            scale.size(profile.data_bytes),
            scale.size(profile.memory_bytes),
            operations,
            profile.holds_page_cache_out("real"),
            disk,
        )


@dataclass(frozen=True)
class Compared:
    """One contender: what was predicted and what the real engine did."""

    contender: Contender
    predicted: tuple[Trial, ...]
    """Finished ones, each with the seed of another round."""
    real: tuple[Trial, ...]
    """Finished runs."""
    error: str | None
    """Why it ran no longer, or never."""
    differences: Mapping[str, Difference] = field(default_factory=dict)
    """By metric, to the base of comparison; empty for that itself."""

    def predicted_ratio(self, metric: str, base: Compared) -> float | None:
        """What was predicted of a metric, over what was predicted of the base."""
        mine, other = (
            _mean(trial.counted.get(metric, 0.0) for trial in one.predicted) for one in (self, base)
        )
        return mine / other if mine and other else None

    def value(self, metric: str) -> float | None:
        """The geometric mean of the real runs."""
        return _mean(trial.metrics.get(metric, 0.0) for trial in self.real)


def _mean(values: Iterable[float]) -> float | None:
    """The geometric one of the positive values, if there are any."""
    positive = [value for value in values if value > 0]
    return statistics.geometric_mean(positive) if positive else None


def failure(trial: Trial, number: int) -> str:
    """Why a contender ran no longer than this round."""
    return f"round {number}: {trial.error or trial.outcome}"


@dataclass(frozen=True)
class Verification:
    """Predicted against real."""

    study: str
    session: str
    goal: Goal
    product: str
    """Name and version of the real engine; empty if none of its runs finished."""
    predicted_on: str
    """The machine that the predictions are of."""
    sizing: Sizing
    rounds: int
    """Rounds that all contenders finished."""
    compared: tuple[Compared, ...]
    """The base of comparison first."""
    ending: Ending | None
    """None where only the stored runs are left."""

    @classmethod
    def of(
        cls,
        study: str,
        session: str,
        profile: Profile,
        found: Sequence[Compared],
        sizing: Sizing,
        ending: Ending | None,
    ) -> Verification:
        """From the runs of each contender, the base of comparison first."""
        base, *others = found
        products = [trial.product for one in found for trial in one.real]
        predicted = [trial.hardware for one in found for trial in one.predicted]
        return cls(
            study=study,
            session=session,
            goal=profile.goal,
            product=next(iter(products), ""),
            predicted_on=next(iter(predicted), profile.hardware.name),
            sizing=sizing,
            rounds=min((len(one.real) for one in found if one.error is None), default=0),
            compared=(
                base,
                *(replace(one, differences=differences(base.real, one.real)) for one in others),
            ),
            ending=ending,
        )

    @property
    def base(self) -> Compared:
        """What all are compared with."""
        return self.compared[0]

    @property
    def recommended(self) -> Compared:
        """What the search recommends, which may be to change nothing: the base."""
        named = (one for one in self.compared if one.contender.name == RECOMMENDED)
        return next(named, self.base)

    @property
    def metrics(self) -> tuple[str, ...]:
        """What is compared: the goal's metrics first."""
        return tuple(dict.fromkeys((*self.goal.metrics, *METRICS)))

    def is_about(self, settings: Settings) -> bool:
        """Whether these settings were among the contenders."""
        return any(dict(one.contender.settings) == dict(settings) for one in self.compared)

    def verdict(self, one: Compared) -> str:
        """Of the goal's metric against the base, in words."""
        if one.error:
            return f"failed in {one.error}" if one.real else f"did not run: {one.error}"
        if one is self.base:
            return "the base"
        difference = one.differences.get(self.goal.metric)
        if difference is None or difference.pairs < 2:
            return "too few runs"
        if not difference.is_detectable:
            return "no difference shown"
        better = (difference.ratio > 1) == (self.goal.direction == "maximize")
        return "better" if better else "worse"
