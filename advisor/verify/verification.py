"""The runs of a verification: every contender on the real engine, in turns, with the same keys and
rows, until the verdict stands or the time is over; and each predicted, with the seeds of the first
rounds.

A round runs every contender once with one seed, so that each is paired with the base of comparison
under the same load of the machine. Data, memory and all that scales shrink by one factor to what
the time allows, for the prediction as for the real engine. Each run does the same work, predicted
or real: so many operations from a settled engine to a settled one.
"""

from __future__ import annotations

import shutil
import tempfile
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from advisor.core import Core
from advisor.evaluate import Setup
from advisor.profile import Profile
from advisor.real import RealEngine
from advisor.real.disk import SPACE
from advisor.scale import Scale
from advisor.spec import Interval
from advisor.store import Store
from advisor.trial import Clock, Trial
from advisor.verify.contenders import RECOMMENDED, Contender, fits, tried
from advisor.verify.outcome import (
    Compared,
    Ending,
    Sizing,
    Verification,
    failure,
)
from advisor.verify.paired import LOOKS, differences
from advisor.verify.pilot import PILOT_BYTES, PILOT_SECONDS, SECONDS, pilot

LEAST_ROUNDS = LOOKS[0]
INDIFFERENT = 0.03
"""A difference that is smaller than this, for certain, is none."""
DISK_PART = 0.5
"""Of the free disk that the data of one run may take, with all that an engine needs beside it."""
SLOWEST = 4.0
"""A contender that takes so many times longer is cut off."""
LEAST_OPERATIONS = 1000
PREDICTIONS_PART = 0.3
"""Of the time of a verification that its predictions may take; one that takes more than its part of
that is given up, and others with further seeds are made only within it."""
LEAST_PREDICTION_S = 5.0
PILOT_PART = 0.3
"""Of the time of a verification that each of the runs may take that tell how large others can be;
a server was seen to do nothing for 20 minutes in one."""
LEAST_PATIENCE_S = 60.0
"""That each of these may take, and each real run: a server takes some just to begin."""
LONGEST_PART = 10.0
"""A real run that takes so many times as long as was planned, and longer than all of them together
may, is given up."""


@dataclass(frozen=True)
class Limits:
    """How long a verification may take."""

    minutes: float
    data_bytes: int | None = None
    """Data of each run, in place of the largest that the time allows."""
    seconds: float | None = None
    """Measured phase of each run."""


@dataclass(frozen=True)
class Event:
    """What is about to run."""

    what: Literal["pilot", "prediction", "real"]
    contender: str
    round: int
    seconds_left: float
    """Of the budget."""


def verify(
    study: str,
    profile: Profile,
    contenders: Sequence[Contender],
    real: RealEngine,
    store: Store,
    limits: Limits,
    *,
    rival: str | None = None,
    seed: int = 1,
    directory: Path | None = None,
    on_event: Callable[[Event], None] = lambda event: None,
    on_interval: Callable[[Interval], None] | None = None,
    core: Core | None = None,
) -> Verification:
    """Runs the contenders, the base of comparison first, on the real engine, until each verdict
    against the base, and against the contender called `rival` if there is one, stands.

    Every run is stored when it ends; an interrupt ends the verification with what there is. Raises
    `WorkError` where the base of comparison does not run or the disk is too small, and `DiskFull`.
    """
    runs = _Runs(study, profile, tuple(contenders), real, store, limits, seed, directory, core)
    runs.on_event, runs.on_interval, runs.rival = on_event, on_interval, rival
    return runs.carry_out()


def seconds_of_a_run(limits: Limits, profile: Profile, contenders: Sequence[Contender]) -> float:
    """What each run may take, so that all contenders that run have rounds enough."""
    able = sum(fits(profile, one) for one in contenders)
    return 60 * limits.minutes / (able * (LEAST_ROUNDS + 1))


class _Runs:
    """A verification under way."""

    on_event: Callable[[Event], None]
    on_interval: Callable[[Interval], None] | None
    rival: str | None

    def __init__(
        self,
        study: str,
        profile: Profile,
        contenders: tuple[Contender, ...],
        real: RealEngine,
        store: Store,
        limits: Limits,
        seed: int,
        directory: Path | None,
        core: Core | None,
    ) -> None:
        self._study, self._profile, self._engine = study, profile, real
        self._contenders, self._store, self._limits = contenders, store, limits
        self._seed, self._directory, self._core = seed, directory, core
        self._session = str(uuid.uuid4())
        self._ends = time.monotonic() + 60 * limits.minutes
        self._predicted: dict[str, list[Trial]] = {one.name: [] for one in contenders}
        self._real: dict[str, list[Trial]] = {one.name: [] for one in contenders}
        self._errors: dict[str, str] = {}
        self._longest = 0.0
        self._most_seconds = SLOWEST * SECONDS[1]
        self._patience_s = max(LEAST_PATIENCE_S, 60 * limits.minutes * PILOT_PART)

    def carry_out(self) -> Verification:
        sizing = self._sized()
        ending: Ending = "out of time"
        try:
            self._predict(sizing)
            number = 0
            while self._may_go_on(number):
                number += 1
                for place, one in enumerate(self._in_turn(number)):
                    # Two contenders run whatever it takes: one alone says nothing.
                    if (number > 1 or place > 1) and not self._has_time():
                        break
                    self._run(one, number, sizing)
                if number in LOOKS and self._is_settled():
                    ending = "settled"
                    break
            if not self._is_comparing:
                ending = "nothing to compare"
        except KeyboardInterrupt:
            ending = "interrupted"
        return self._verification(sizing, ending)

    def _in_turn(self, number: int) -> list[Contender]:
        """The contenders that run, each round from another one on."""
        able = [one for one in self._contenders if one.name not in self._errors]
        # What is asked about runs beside the base even where nothing else has time.
        able.sort(key=lambda one: (one is not self._contenders[0], one.name != RECOMMENDED))
        first = (number - 1) % max(1, len(able))
        return able[first:] + able[:first]

    def _may_go_on(self, rounds: int) -> bool:
        return rounds == 0 or (self._is_comparing and self._has_time())

    @property
    def _is_comparing(self) -> bool:
        able = [one.name for one in self._in_turn(1)]
        return self._contenders[0].name in able and len(able) > 1

    def _has_time(self) -> bool:
        return time.monotonic() + self._longest <= self._ends

    def _is_settled(self) -> bool:
        """Whether more rounds would not change a verdict."""
        able = {one.name: self._real[one.name] for one in self._in_turn(1)}
        against = {self._contenders[0].name, self.rival or self._contenders[0].name}
        found = [
            differences(able[other], runs).get(self._profile.goal.metric)
            for other in against & able.keys()
            for name, runs in able.items()
            if name != other
        ]
        enough = all(len(runs) >= LEAST_ROUNDS for runs in able.values())
        return enough and all(one is not None and one.is_settled(INDIFFERENT) for one in found)

    def _sized(self) -> Sizing:
        """The size of all runs, by small ones that tell how fast this machine is."""
        profile, limits = self._profile, self._limits
        folder = Path(self._directory or tempfile.gettempdir())
        of_disk = shutil.disk_usage(folder).free * DISK_PART / SPACE
        base = self._contenders[0]
        self._say("pilot", base.name, 0)
        small = Scale.at_most(min(PILOT_BYTES, profile.data_bytes), profile.data_bytes)
        asked = [one for one in self._contenders[1:] if one.name == RECOMMENDED]
        setup = self._setup(small, PILOT_SECONDS)
        told = pilot(base, asked, setup, self._seed, self._patience_s)
        run_s = max(0.0, seconds_of_a_run(limits, profile, self._contenders) - told.start_s)
        data, seconds = told.sized(run_s, limits.data_bytes, limits.seconds, of_disk)
        scale = Scale.at_most(round(data), profile.data_bytes)
        self._most_seconds = SLOWEST * seconds
        longest_s = LONGEST_PART * told.takes_s(data, seconds)
        self._patience_s = max(LEAST_PATIENCE_S, 60 * limits.minutes, longest_s)
        operations = max(LEAST_OPERATIONS, round(told.ops_per_s * seconds))
        return Sizing.of(profile, scale, operations, str(folder))

    def _predict(self, sizing: Sizing) -> None:
        """On the data of the first rounds, for as long as they leave these their time: which of few
        compactions fall into a run is chance in the simulation too."""
        began = time.monotonic()
        most = PREDICTIONS_PART * (self._ends - began)
        for number in range(1, LEAST_ROUNDS + 1):
            for one in self._contenders:
                if number == 1 or self._predicted[one.name]:
                    self._predict_once(one, number, sizing)
            if (time.monotonic() - began) * (number + 1) > most * number:
                break

    def _predict_once(self, one: Contender, number: int, sizing: Sizing) -> None:
        self._say("prediction", one.name, number)
        left = self._ends - time.monotonic()
        most = max(LEAST_PREDICTION_S, left * PREDICTIONS_PART / len(self._contenders))
        seed = self._seed + number
        trial = self._tried(one, sizing, seed, simulated=True, most_wall_seconds=most)
        self._keep(trial, one, 0)
        if trial.finished:
            self._predicted[one.name].append(trial)

    def _run(self, one: Contender, number: int, sizing: Sizing) -> None:
        self._say("real", one.name, number)
        began = time.monotonic()
        seed, most = self._seed + number, self._patience_s
        trial = self._tried(one, sizing, seed, most_wall_seconds=most)
        self._longest = max(self._longest, time.monotonic() - began)
        self._keep(trial, one, number)
        if trial.finished:
            self._real[one.name].append(trial)
        else:
            self._errors[one.name] = failure(trial, number)

    def _tried(
        self,
        one: Contender,
        sizing: Sizing,
        seed: int,
        *,
        simulated: bool = False,
        most_wall_seconds: float | None = None,
    ) -> Trial:
        setup = self._setup(sizing.scale, self._most_seconds, "simulated" if simulated else "real")
        return tried(
            one,
            replace(setup, operations=sizing.operations),
            seed,
            on_interval=self.on_interval,
            most_wall_seconds=most_wall_seconds,
        )

    def _setup(self, scale: Scale, seconds: float, clock: Clock = "real") -> Setup:
        return Setup(
            self._profile,
            scale,
            seconds,
            clock,
            self._directory,
            self._core,
            self._engine,
            direct_io=self._profile.holds_page_cache_out("real"),
            empties_level0=True,
        )

    def _keep(self, trial: Trial, one: Contender, number: int) -> None:
        place = self._contenders.index(one)
        self._store.add_verified(trial, self._study, self._session, place, one.name, number)

    def _say(self, what: Literal["pilot", "prediction", "real"], name: str, number: int) -> None:
        self.on_event(Event(what, name, number, max(0.0, self._ends - time.monotonic())))

    def _verification(self, sizing: Sizing, ending: Ending) -> Verification:
        found = [
            Compared(
                contender=one,
                predicted=tuple(self._predicted[one.name]),
                real=tuple(self._real[one.name]),
                error=self._errors.get(one.name),
            )
            for one in self._contenders
        ]
        return Verification.of(self._study, self._session, self._profile, found, sizing, ending)
