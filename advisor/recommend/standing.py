"""What a file does as it stands: a run of exactly the lines that count, over what the user has.

A file leaves out what its product cannot carry, and what waits for a new data directory, rewritten
tables or a package. Its gain is that of the rest, and only a run of the rest can tell it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from advisor import dialects
from advisor.dialects import Line
from advisor.goal import Goal
from advisor.knobs import Setting, Settings
from advisor.noise import Noise
from advisor.recommend.chosen import Choice
from advisor.recommend.known_errors import KnownErrors
from advisor.recommend.verdict import Comparison, compare


@dataclass(frozen=True)
class Standing:
    """The file of one dialect as it stands."""

    dialect: str
    settings: Settings
    """What a server has with it, complete."""
    left_out: tuple[tuple[str, Setting], ...]
    """Changes that it does not make."""
    gain: Comparison | None
    """Against what the user has; absent where these lines were not run, or change nothing."""
    runs: int
    changes: int
    """How many settings it changes."""
    fits: bool = True
    """Whether they fit the memory without what it leaves out."""

    @property
    def loses(self) -> bool:
        """Whether the file was seen to be worse than what the user has, in runs enough to tell."""
        gain = self.gain
        return gain is not None and gain.decides and gain.gain < 0 and not gain.within_noise

    def words(self, goal: Goal, basis: str) -> str:
        """What the file does: a measured gain, nothing, or that nobody measured it."""
        if not self.changes:
            return f"nothing that was tried: it leaves the {basis} as they are"
        if self.gain is None and not self.fits:
            return "not measured: it does not fit the memory without what it leaves to you"
        if self.gain is None:
            return "not measured: no run was left for exactly these lines"
        many = "run" if self.runs == 1 else "runs"
        told = f"{self.gain.words(goal)} against the {basis}"
        return f"{told}, in {self.runs} {many} of exactly these lines"


def standing(
    dialect: str,
    lines: Sequence[Line],
    chosen: Choice,
    noise: Noise,
    known: KnownErrors,
) -> Standing:
    """What is known of the file with these lines."""
    base, bench = chosen.base, chosen.bench
    settings = dialects.applied(dialect, lines, base)
    made = sum(settings[name] != base[name] for name in settings)
    left_out = tuple(
        (line.knob, line.value)
        for line in lines
        if line.value != base[line.knob] and settings[line.knob] == base[line.knob]
    )
    pair = bench.side_by_side(settings, chosen.compared) if made else None
    gain = compare(chosen.goal, noise, *pair, bench.smaller, known=known) if pair else None
    runs = len(pair[0].judged) if pair else 0
    fits = bench.lawful(settings) == settings
    return Standing(dialect, settings, left_out, gain, runs, made, fits)
