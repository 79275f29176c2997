"""Whole studies, search to answer, of engines of which it is known what matters: many in seconds,
since nothing is run and no results file is written."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from advisor.knobs import Engine, catalogue
from advisor.recommend import Recommendation, recommend
from advisor.search import Bounds, Question, Study
from advisor.store import Store, StudyRecord
from advisor.trial import Clock, Trial
from tests.support.fake_core import FakeCore, searched
from tests.support.problems import problem

SCALE = 1 / 160
"""Of the lowest rung: no size is too small for it, which would leave a gain unsettled."""


class HeldStore(Store):
    """One study in memory."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / "results.duckdb")
        self._study: StudyRecord | None = None
        self._held: list[Trial] = []

    def study(self, name: str) -> StudyRecord | None:
        return self._study

    def add_study(self, study: StudyRecord) -> None:
        self._study = study

    def trials(self, study: str | None, *, intervals: bool = True) -> list[Trial]:
        return list(self._held)

    def add_trials(self, trials: Sequence[Trial], study: str | None = None) -> list[Trial]:
        first = len(self._held) + 1
        added = [trial.numbered(number) for number, trial in enumerate(trials, first)]
        self._held += added
        return added


@dataclass
class KnobCore(FakeCore):
    """Engines that make 10,000 operations per second, times what each knob is worth that is not at
    its default. Each run is off by a normal draw of `noise`, relatively."""

    noise: float = 0.03
    worth: Mapping[str, float] = field(default_factory=dict)
    speed: Mapping[Engine, float] = field(default_factory=dict)

    def _answer(self, spec: Mapping[str, Any]) -> dict[str, float]:
        engine, knobs = spec["engine"], catalogue(spec["engine"])
        ops = 10_000.0 * self.speed.get(engine, 1.0)
        for name, gain in self.worth.items():
            if name in knobs and spec["options"][name] != knobs[name].default:
                ops *= 1.0 + gain
        draw = random.Random(f"{spec['seed']} {engine} {searched(spec)}")
        return super()._answer(spec) | {"ops_per_s": ops * draw.gauss(1.0, self.noise)}


def whole_study(folder: Path, core: FakeCore, **given: Any) -> tuple[Study, Recommendation]:
    """A study, given as to `searched_study`, from its first look to its answer."""
    study = searched_study(folder, core, **given)
    return study, recommend(study)


def searched_study(
    folder: Path,
    core: FakeCore,
    *,
    seed: int = 1,
    trials: int = 40,
    minutes: float | None = None,
    engines: tuple[Engine, ...] = (),
    clock: Clock = "simulated",
) -> Study:
    """A study that has searched."""
    question = Question(
        problem(hardware="nvme-2024"),
        engines=engines,
        seed=seed,
        clock=clock,
        scale=SCALE if clock == "simulated" else None,
        cold=True,
    )
    study = Study(
        f"study-{seed}",
        question,
        HeldStore(folder),
        bounds=Bounds(trials=trials, minutes=minutes),
        directory=folder,
        core=core,
    )
    study.run()
    return study


@dataclass
class SlowCore(KnobCore):
    """The same on a machine on which every run takes its time, by a clock that only runs move."""

    look_s: float = 1.0
    """What a run of the lowest rung takes."""
    flattered: Mapping[Engine, float] = field(default_factory=dict)
    """By how much the lowest rung makes an engine look better."""
    now_s: float = 0.0
    _look: int = 0

    def monotonic(self) -> float:
        """Seconds."""
        return self.now_s

    def _answer(self, spec: Mapping[str, Any]) -> dict[str, float]:
        self._look = self._look or spec["operations"]
        self.now_s += self.look_s * spec["operations"] / self._look
        seen = super()._answer(spec)
        if spec["operations"] <= self._look:
            seen["ops_per_s"] *= 1.0 + self.flattered.get(spec["engine"], 0.0)
        return seen
