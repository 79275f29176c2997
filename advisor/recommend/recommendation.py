"""What a study recommends: the engine, the settings, and for every line what it buys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from advisor import dialects, knobs, patch
from advisor.dialects import About, Line
from advisor.errors import InputError
from advisor.evaluate import fits_memory
from advisor.goal import Goal
from advisor.imports.connections import Connections
from advisor.knobs import Engine, Setting, Settings
from advisor.memory_need import needed_parts
from advisor.noise import Noise, Spread
from advisor.profile import Profile
from advisor.recommend.budget import BudgetLine, budget_lines, crowded
from advisor.recommend.known_errors import NOTHING_KNOWN, KnownErrors
from advisor.recommend.standing import Standing
from advisor.recommend.verdict import Comparison, EngineVerdict
from advisor.search.front import Front, Member
from advisor.trial import Clock, Trial

COMPARED_METRICS = ("ops_per_s", "p99_us", "write_kb_per_op", "reads_per_op", "space_amp")
"""The columns of "default against recommended"."""
Basis = Literal["defaults", "defaults squeezed into the memory", "current settings"]
SQUEEZED = "current, squeezed"
"""What the user's settings are called, made smaller as they do not fit the memory."""
WITHHELD = "what else waits: without that, final runs of the file did worse than what you have"


@dataclass(frozen=True)
class Change:
    """One line of the recommendation that differs from what the user has."""

    knob: str
    current: Setting
    recommended: Setting
    evidence: str
    """`measured: …`, `simulated: …` or `rule: …`."""
    alone: float | None = None
    """What it buys of the goal's metric on its own, relatively; absent if that was not measured."""
    company: float | None = None
    """What it buys beside the other changes."""


@dataclass(frozen=True)
class Dropped:
    """A change that the search made and that buys nothing: it went back."""

    knob: str
    tried: Setting
    kept: Setting
    reason: str


@dataclass(frozen=True)
class Rebuild:
    """What only a rebuild of the user's data would change, and what it would buy."""

    knob: str
    current: Setting
    value: Setting
    gain: Comparison | None
    """Of the recommended settings with it over those without; absent if it was not run."""


@dataclass(frozen=True)
class Column:
    """One column of the comparison table."""

    title: str
    engine: Engine
    settings: Settings
    metrics: Mapping[str, Spread]
    runs: int
    trials: tuple[Trial, ...] = ()
    """Those that the numbers are of."""


@dataclass(frozen=True, repr=False)
class Recommendation:
    """The answer of a study."""

    study: str
    profile: Profile
    goal: Goal
    """By which the answer is judged: of several objectives the first, the others within limits."""
    clock: Clock
    scale: float
    engine: Engine
    settings: Mapping[str, Setting]
    """Complete, in full-size units."""
    current: Mapping[str, Setting]
    """What the changes are counted from: the user's settings of this engine, or its defaults."""
    basis: Basis
    changes: tuple[Change, ...]
    dropped: tuple[Dropped, ...]
    columns: tuple[Column, ...]
    """Defaults, the user's settings if given, and the recommended ones last."""
    gain: Comparison | None
    """The recommended settings against `current`, squeezed where that does not fit the memory, in
    runs of their own after they were chosen; absent if there is no change or no such run."""
    verdict: EngineVerdict | None
    """Of all engines of the study, whichever was asked for here; absent if it looked at one."""
    noise: Noise
    broken: tuple[str, ...]
    """Limits that even the best settings do not keep."""
    notes: tuple[str, ...]
    trials: tuple[Trial, ...]
    rebuilds: tuple[Rebuild, ...] = ()
    """What the user did not allow, by knob."""
    results: Path | None = None
    """Where the study is stored, if that is not the usual file."""
    files: Mapping[str, Standing] = field(default_factory=dict)
    """What the file of each dialect of the engine does as it stands."""
    dialect: str = ""
    """The dialect whose file was measured first: what the headline is about."""
    connections: Connections | None = None
    """What the user's server admits, if its file says so."""
    real: tuple[str, ...] = ()
    """What the product itself did with these settings at the end of the search, in sentences; empty
    if it was not asked."""
    robust: tuple[str, ...] = ()
    """What these settings do at the neighbours of what was asked, in sentences, where they were
    chosen for that."""
    front: Front | None = None
    """What may be chosen from, where the profile's goal has several objectives."""
    member: Member | None = None
    """Of the front, whose other objectives are the limits of `goal`; absent where there is none."""
    as_measured: bool = False
    """Whether the settings are those of the member as it is, because someone asked for it."""
    rival: Column | None = None
    """The other engine at its best settings; absent where the study measured one engine."""
    untold: Comparison | None = None
    """What the best settings seemed to gain, where runs ended before that was told from noise and
    nothing is changed; absent otherwise."""
    known: KnownErrors = NOTHING_KNOWN
    """How far such predictions were off on real engines."""
    withheld: tuple[str, ...] = ()
    """Dialects whose file does worse than what the user has as long as some of its lines wait, so
    that all of them do."""
    refuted: str = ""
    """Why they should not be taken, by the product itself; empty if nothing speaks against them."""

    def __repr__(self) -> str:
        changes = ", ".join(one.knob for one in self.changes) or "no change"
        return f"<recommendation of {self.study}: {self.engine}, {changes} to {self.basis}>"

    def lines(
        self, dialect: str | None = None, has: Mapping[str, Setting] | None = None
    ) -> list[Line]:
        """The lines to write: every change, and, for a dialect, also what its product would do
        otherwise, by default or with a file whose settings are `has`."""
        if dialect and dialects.engine_of(dialect) != self.engine:
            accepted = ", ".join(dialects.for_engine(self.engine))
            raise InputError("dialect", None, f"{dialect}, not a file of {self.engine}", accepted)
        default = knobs.defaults(self.engine)
        silent = has or (dialects.product_defaults(dialect) if dialect else default)
        changed = {change.knob: change for change in self.changes}
        waits = WITHHELD if dialect in self.withheld else ""
        found = []
        for name, knob in knobs.catalogue(self.engine).items():
            value = self.settings[name]
            if name in changed:
                evidence = changed[name].evidence
            elif value != default[name]:
                evidence = "rule: as you have it now, and no other value was better"
                if self.basis == "defaults squeezed into the memory":
                    evidence = "rule: the default does not fit the memory"
            elif value != silent[name] and not knob.durability:
                evidence = "rule: as in the trials; the product's own default differs"
            else:
                continue
            found.append(Line(name, value, silent[name], self.current[name], evidence, waits=waits))
        return found

    @property
    def memory(self) -> list[BudgetLine]:
        """What the settings need, line by line, against the profile's memory."""
        return budget_lines(self.profile, needed_parts(self.profile, self.engine, self.settings))

    @property
    def crowding(self) -> str:
        """Why the server's connections may not fit beside the settings; empty if they do."""
        parts = needed_parts(self.profile, self.engine, self.settings)
        return crowded(self.profile, parts, self.connections)

    @property
    def over(self) -> str:
        """What gains are over: the basis, where it fits the memory."""
        fits = fits_memory(self.profile, self.engine, self.current)
        return self.basis if fits else f"{self.basis} squeezed into the memory"

    @property
    def standing(self) -> Standing | None:
        """What the file of `dialect` does as it stands."""
        return self.files.get(self.dialect)

    def about(self, dialect: str) -> About:
        """What the head of a written file says."""
        return About(
            self.profile.name, self.clock, (*self.file_words(dialect), *self.real, *self.robust)
        )

    def file_words(self, dialect: str) -> list[str]:
        """What the file does as it stands, and apart from it what all of it would do."""
        file = self.files.get(dialect)
        if file is None:
            return []
        told = [f"As it stands: {file.words(self.goal, self.over)}."]
        if file.left_out:
            catalogue = knobs.catalogue(self.engine)
            names = ", ".join(f"{knob} = {catalogue[knob].show(v)}" for knob, v in file.left_out)
            whole = self.gain.words(self.goal) if self.gain else "not measured"
            told.append(f"With what it leaves to you ({names}): {whole}.")
        return told

    def write(self, dialect: str, over: Path | None = None) -> str:
        """The text of a product's configuration file, or of the user's own file with the changes in
        it, where `over` is one of the dialect. Raises `InputError` if the dialect is of the other
        engine."""
        if over is not None and patch.fits(over, dialect):
            lines = self.lines(dialect, patch.settings_of(over, dialect))
            return patch.patched(over, dialect, lines, self.about(dialect))
        return dialects.write(dialect, self.lines(dialect), self.about(dialect))
