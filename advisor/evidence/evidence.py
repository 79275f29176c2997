"""The advice, and what else the results file knows of its study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from advisor.knobs import Engine
from advisor.recommend import Column, Endurance, Recommendation, endurance, with_intervals
from advisor.robust import Robustness
from advisor.robust import newest as newest_robustness
from advisor.search import Study
from advisor.store import Store, StudyRecord
from advisor.sweep import Sweep, sweeps_of
from advisor.trial import Trial
from advisor.verify import Verification, newest, size_decides


@dataclass(frozen=True)
class Evidence:
    """All that a report shows. It is made of what is stored, so that a report can be made again;
    what is not stored is absent."""

    advice: Recommendation
    record: StudyRecord | None = None
    importance: Mapping[Engine, Mapping[str, float]] = field(default_factory=dict)
    """The share of each knob in good scores, the largest first."""
    verified: Verification | None = None
    robust: Robustness | None = None
    wear: Endurance | None = None
    sweeps: Sequence[Sweep] = ()
    """Of the study's question moved along an axis."""

    @property
    def of_the_product(self) -> tuple[str, ...]:
        """What the product itself did, in sentences, and where the size of its runs decides."""
        told = self.advice.real
        if self.verified is not None and (size := size_decides(self.verified, self.advice)):
            told = (*told, size)
        return tuple(dict.fromkeys(told))

    @classmethod
    def of(cls, advice: Recommendation, store: Store) -> Evidence:
        """What is stored of the study that was asked for advice. Raises `InputError` where its
        results cannot be read."""
        study = Study.load(advice.study, store)
        return cls(
            with_intervals(advice, store),
            store.study(advice.study),
            {engine: study.importance(engine) for engine in study.engines},
            newest(study.name, advice.profile, store),
            newest_robustness(study.name, advice.profile, store),
            endurance(advice, store),
            sweeps_of(study.profile, advice.clock, store),
        )

    @property
    def base(self) -> Column | None:
        """What the recommended settings are compared with; absent if it was not measured."""
        return self.advice.columns[-2] if len(self.advice.columns) > 1 else None

    @property
    def final(self) -> Column:
        """The recommended settings as they were measured."""
        return self.advice.columns[-1]

    @property
    def compared(self) -> Sequence[Column]:
        """Base, if there is one, and recommended."""
        return self.advice.columns[-2:]

    def decides(self, trial: Trial) -> bool:
        """Whether a trial is of the size that decided."""
        return abs(trial.scale / self.advice.scale - 1) < 1e-6
