"""What was seen of one change, and the sentence that a line of the file carries about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from advisor.goal import Goal, Limit
from advisor.recommend import wording
from advisor.trial import Clock

Fate = Literal["kept", "weak", "dropped", "unmeasured", "unlawful", "needed"]
"""`weak`: it stays because the settings without it are not as good as the best, and was not told
from noise by itself. `unmeasured`: it stays, and no run was left for it. `unlawful`: its old value
does not go with the other settings and the memory. `needed`: it went by short runs, and came back
since final runs showed less without those that went."""

_STAYS = "rule: with the other changes"
_ALIKE = "a run without it came out exactly the same"
_TOO_FEW = "in too few runs to be sure of one among so many lines"


@dataclass(frozen=True)
class Effect:
    """What one change does to the goal's metric."""

    gain: float
    """Relative; above 0 is better."""
    bound: float
    """Relative difference that noise alone explains with 95% confidence."""
    chance: float
    """Probability that noise alone makes a gain as large, at one look."""
    chance_of_looks: float
    """The same at any of the looks that these runs gave."""
    runs: int
    """Of that of the two settings which has fewer."""

    @property
    def is_none(self) -> bool:
        """Whether runs came out alike with the change and without it."""
        return self.gain == 0.0

    @property
    def is_told(self) -> bool:
        """Whether it is more than what noise explains."""
        return abs(self.gain) > self.bound


@dataclass(frozen=True)
class Finding:
    """What became of one change."""

    knob: str
    fate: Fate
    alone: Effect | None = None
    """What it buys on its own, over the base."""
    company: Effect | None = None
    """What it buys in the company of the others that stay."""
    screened: Effect | None = None
    """What it bought in the company of all changes of the best settings, when each was left out
    once."""
    rest: Effect | None = None
    """What the settings that stay gain over the best, without it and the others that went."""
    together: int = 1
    """How many changes went."""
    without: float | None = None
    """The goal's metric when it alone is left out."""
    broken: tuple[Limit, ...] = ()
    """Limits of the goal that are broken without it, or gone farther beyond."""


def evidence(found: Finding, goal: Goal, clock: Clock, *, is_kept: bool) -> str:
    """What a line says for itself; `is_kept` where the settings keep the goal's limits."""
    if found.fate == "unlawful":
        return "rule: its old value does not go with the other changes and the memory"
    if found.fate == "needed":
        return "rule: short runs did not miss it; final runs showed less without such lines"
    if found.broken:
        verb = "breaks" if is_kept else "goes farther beyond"
        return f"{clock}: without it, it {verb} {', '.join(map(str, found.broken))}"
    if found.company is None:
        if found.alone is None:
            return _unmeasured(found, goal)
        if not found.alone.is_told:
            return f"rule: on its own {_told(found.alone, goal)}, which noise may explain"
        if found.alone.gain <= 0:
            return f"rule: on its own {_told(found.alone, goal)}, in short runs"
        return f"{clock}: buys {_told(found.alone, goal)} on its own"
    if found.fate == "weak" and found.company.is_none:
        return f"{_STAYS}; {_ALIKE}"
    if found.fate == "weak":
        told = _told(found.company, goal)
        doubt = _TOO_FEW if found.company.is_told else "which noise may explain"
        return f"{_STAYS}; in company {told}, {doubt}"
    if found.without == 0.0 or found.company.gain >= 1.0 or found.company.gain <= -1.0:
        return f"{clock}: buys {_told(found.company, goal)} in company"
    alone = f"{_told(found.alone, goal)} on its own, " if found.alone else ""
    return f"{clock}: buys {alone}{_told(found.company, goal)} in company"


def reason(found: Finding, goal: Goal) -> str:
    """Why a change went back."""
    if found.company is not None and found.company.is_none:
        return _ALIKE
    if found.company is not None:
        return f"in company {_told(found.company, goal)}{_verdict(found.company)}"
    many = f" and {found.together - 1} others" if found.together > 1 else ""
    if found.rest is None:
        return f"without it{many} the settings are as good"
    return f"without it{many} the settings are as good: {_told(found.rest, goal)}"


def _unmeasured(found: Finding, goal: Goal) -> str:
    if found.screened is None:
        return f"{_STAYS}; no run was left to measure it on its own"
    if found.screened.is_none:
        return f"{_STAYS}; {_ALIKE} where all that were tried stayed"
    told = _told(found.screened, goal)
    return f"{_STAYS}; in the company of all that were tried {told}, which noise may explain"


def _verdict(seen: Effect) -> str:
    if not seen.is_told:
        return ": within noise"
    return ": too little for a line" if seen.gain > 0 else ""


def _told(seen: Effect, goal: Goal) -> str:
    """`+12% ops_per_s (noise ±2.0%)`."""
    return f"{wording.difference(goal, seen.gain)} (noise ±{wording.percent(seen.bound)})"
