"""What candidates do at a profile and at its neighbours, and which of them to take.

At each point a candidate has a part of the best there: of the goal's metric, 1 for the best and 0
for settings that do not fit, do not run, or break a limit that others keep. What is missing to 1 is
its regret, of which what the noise of that point explains counts for nothing. Chosen is who has the
best worst part (Savage's minimax regret, 1951; ties go to the next worst) among those that lose at
most `MOST_LOSS` as asked. A point at which none of these has any part decides nothing. The
recommended settings stay unless another's worst part is better by more than noise, and runs after
the choice, on a larger copy, bear it out; where they do not, the next is asked.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from advisor.goal import Goal
from advisor.knobs import Settings
from advisor.noise import Noise
from advisor.recommend import Comparison
from advisor.recommend.verdict import compare
from advisor.robust.neighbours import Neighbour
from advisor.robust.rivals import FIT
from advisor.robust.tried import Tried
from advisor.search.ranking import loss
from advisor.trial import Trial

MOST_LOSS = 0.05
"""What may be lost as asked for the sake of neighbours: a choice of ours."""


@dataclass(frozen=True)
class Robustness:
    """The candidates of a study at what was asked and at its neighbours."""

    study: str
    session: str
    goal: Goal
    radius: float
    """Of the ball of mixes, in nats."""
    points: tuple[Neighbour, ...]
    """Where all candidates ran; what was asked first."""
    no_mix: str
    """Why no neighbour has another mix; empty if one has."""
    tried: tuple[Tried, ...]
    """What is recommended first."""
    ending: str
    """`complete`, `out of time` or `interrupted`."""

    @property
    def recommended(self) -> Tried:
        return self.tried[0]

    @property
    def scale(self) -> float:
        """Data of a run / data of the profile, as asked."""
        return self.recommended.runs[0][0].scale

    def noise(self, point: int) -> Noise:
        """Of the goal's metric at a point: neighbours differ in it."""
        return self._noises[point]

    def is_about(self, settings: Settings) -> bool:
        """Whether these settings are what was recommended then."""
        return dict(self.recommended.contender.settings) == dict(settings)

    def part(self, one: Tried, point: int) -> float:
        """What a candidate has of the best at a point, from 0 to 1."""
        return self._parts[point][self.tried.index(one)]

    def worst(self, one: Tried) -> int:
        """The point at which a candidate has least of the best, beyond what noise explains."""
        return self._worst_of(one, range(len(self.points)))

    def worst_that_runs(self, one: Tried) -> int | None:
        """The same of the neighbours at which it ran."""
        ran = [point for point in range(1, len(self.points)) if one.at(point) is not None]
        return self._worst_of(one, ran) if ran else None

    @cached_property
    def out_of_reach(self) -> tuple[int, ...]:
        """The points at which nobody who loses little as asked has any part: to choose among these
        by such a point would be to choose by nothing."""
        some = [one for one in self.tried if one is self.recommended or self._is_cheap(one)]
        every = range(len(self.points))
        return tuple(at for at in every if all(self.part(one, at) == 0.0 for one in some))

    def stake(self, one: Tried) -> int:
        """Where the recommended settings are worst of the points that decide; of several such
        points, as where they do not fit, the one at which a candidate has most."""
        worst = self._worst_of(self.recommended, self._deciding)
        low = self.part(self.recommended, worst)
        same = [at for at in self._deciding if self.part(self.recommended, at) == low]
        return max(same, key=lambda at: self.part(one, at))

    def is_out(self, one: Tried, point: int) -> bool:
        """Whether it breaks a limit at a point that another candidate keeps there."""
        found = one.at(point)
        return found is not None and self._part(one, point, self._best(point)) is None

    def nominal_loss(self, one: Tried) -> float:
        """What a candidate loses as asked against what is recommended; all where it does not
        run."""
        mine, theirs = one.at(0), self.recommended.at(0)
        after = mine.score(self.goal) if mine else None
        before = theirs.score(self.goal) if theirs else None
        if after is None:
            return 1.0
        return 0.0 if before is None else loss(self.goal, before, after)

    @cached_property
    def minimax(self) -> Tried:
        """The candidate with the best worst part, whatever it loses as asked."""
        every = range(len(self.points))
        return max(self.tried, key=lambda one: sorted(self.part(one, at) for at in every))

    @cached_property
    def preferred(self) -> tuple[Tried, ...]:
        """Who may be the robust choice: those with a better worst case than what is recommended
        that lose little as asked, the best first."""
        better = [
            one
            for one in self.tried[1:]
            if self._is_cheap(one) and self._is_better(one, self.recommended)
        ]
        return tuple(
            sorted(better, key=lambda one: [part for part, _ in self._order(one)], reverse=True)
        )

    @property
    def refuted(self) -> tuple[Tried, ...]:
        """Those of them that runs on a larger copy do not bear out."""
        return tuple(one for one in self.preferred if one.again and not self.bears_out(one))

    @property
    def choice(self) -> Tried:
        """The robust choice, by the rule above."""
        refuted = self.refuted
        left = (one for one in self.preferred if not any(one is other for other in refuted))
        return next(left, self.recommended)

    def bears_out(self, one: Tried) -> bool:
        """Whether a candidate loses no more than it may, and gains more than the noise there where
        what is recommended is worst."""
        nominal = self.against_recommended(one, 0)
        if nominal is None or nominal.gain < -MOST_LOSS:
            return False
        point = self.stake(one)
        gained = self.against_recommended(one, point)
        if gained is None:
            return (one.after(point) or one.at(point)) is not None
        return gained.gain > gained.bound

    def unsettled(self, one: Tried) -> tuple[int, ...]:
        """The points at which noise leaves open whether a candidate loses no more than it may, or
        gains where what is recommended is worst."""
        found = []
        for point, least in ((0, -MOST_LOSS), (self.stake(one), 0.0)):
            compared = self.against_recommended(one, point)
            if compared is not None and abs(compared.gain - least) <= compared.bound:
                found.append(point)
        return tuple(dict.fromkeys(found))

    def decisive(self, one: Tried) -> tuple[int, ...]:
        """The points at which a candidate is held against what is recommended: as asked, where that
        is worst of the points that decide, and where it is worst of those where it runs."""
        last = self.worst_that_runs(self.recommended)
        found = (0, self.stake(one), *(() if last is None else (last,)))
        return tuple(dict.fromkeys(found))

    def against_recommended(self, one: Tried, point: int) -> Comparison | None:
        """A candidate against what is recommended at a point, in runs after the choice where there
        are any, and then with what the smaller copy said; None where one of them did not run."""
        first = one.at(point), self.recommended.at(point)
        later = one.after(point), self.recommended.after(point)
        mine, theirs = later if None not in later else first
        if mine is None or theirs is None:
            return None
        if mine is first[0]:
            return compare(self.goal, self.noise(point), mine, theirs)
        below = {id(mine): first[0], id(theirs): first[1]}
        return compare(self.goal, self.noise(point), mine, theirs, lambda found: below[id(found)])

    def against_fitted(self, one: Tried, point: int) -> tuple[Tried, Comparison] | None:
        """A candidate against the best of what is recommended made to fit, in the table: what
        would be run where that itself does not fit. None where it is that, or none ran."""
        name = self.recommended.contender.name + FIT
        ran = [other for other in self.tried if other.contender.name.startswith(name)]
        made = {id(other): found for other in ran if (found := other.at(point)) is not None}
        best = max(
            (other for other in ran if id(other) in made),
            key=lambda other: self.part(other, point),
            default=None,
        )
        mine = one.at(point)
        if best is None or best is one or mine is None:
            return None
        compared = compare(self.goal, self.noise(point), mine, made[id(best)])
        return None if compared is None else (best, compared)

    @cached_property
    def _parts(self) -> list[list[float]]:
        found = []
        for point in range(len(self.points)):
            best = self._best(point)
            found.append([self._part(one, point, best) or 0.0 for one in self.tried])
        return found

    def _best(self, point: int) -> float | None:
        """The best score at a point, of those that keep the limits if any do."""
        ran = [found for one in self.tried if (found := one.at(point)) is not None]
        lawful = [found for found in ran if found.feasible(self.goal)] or ran
        scores = [score for one in lawful if (score := one.score(self.goal)) is not None]
        take = max if self.goal.direction == "maximize" else min
        return take(scores, default=None)

    def _part(self, one: Tried, point: int, best: float | None) -> float | None:
        """None where it has no score there, or breaks a limit that another keeps."""
        found = one.at(point)
        score = found.score(self.goal) if found is not None else None
        if found is None or score is None or best is None:
            return None
        if not found.feasible(self.goal) and self._somebody_is_lawful(point):
            return None
        low, high = sorted((abs(score), abs(best)))
        return low / high if high else 1.0

    def _somebody_is_lawful(self, point: int) -> bool:
        ran = (one.at(point) for one in self.tried)
        return any(found is not None and found.feasible(self.goal) for found in ran)

    @cached_property
    def _noises(self) -> list[Noise]:
        every = range(len(self.points))
        return [
            self._pooled(
                runs for one in self.tried for runs in (one.runs[at], one.again.get(at, ()))
            )
            for at in every
        ]

    @cached_property
    def _bounds(self) -> list[float]:
        """The part of a median at each point that noise alone explains between two. Of the table
        alone: runs after the choice are not to change what was chosen to be run."""
        runs = len(self.recommended.runs[0])
        every = range(len(self.points))
        return [self._pooled(one.runs[at] for one in self.tried).bound(runs, runs) for at in every]

    def _pooled(self, groups: Iterable[Sequence[Trial]]) -> Noise:
        metric = self.goal.metric
        return Noise.pooled(
            [trial.metrics[metric] for trial in runs if metric in trial.metrics] for runs in groups
        )

    @property
    def _deciding(self) -> list[int]:
        """All points where none is within reach."""
        every = range(len(self.points))
        return [at for at in every if at not in self.out_of_reach] or list(every)

    def _allowed(self, one: Tried, point: int) -> float:
        """A candidate's part, with what the noise of the point may have taken from it."""
        return min(1.0, self.part(one, point) * (1.0 + self._bounds[point]))

    def _worst_of(self, one: Tried, points: Iterable[int]) -> int:
        return min(points, key=lambda at: (self._allowed(one, at), self.part(one, at)))

    def _order(self, one: Tried) -> list[tuple[float, int]]:
        """Its parts where that decides, with what noise may have taken, the worst first; and where
        they are."""
        return sorted((self._allowed(one, point), point) for point in self._deciding)

    def _is_cheap(self, one: Tried) -> bool:
        return not self.is_out(one, 0) and self.nominal_loss(one) <= MOST_LOSS

    def _is_better(self, one: Tried, other: Tried) -> bool:
        """Whether the first part, from the worst on, in which two differ by more than the noise of
        both points is better. To have no part at all is not a matter of noise."""
        for (mine, here), (theirs, there) in zip(self._order(one), self._order(other), strict=True):
            both = math.hypot(self._bounds[here], self._bounds[there]) / math.sqrt(2.0)
            is_sure = min(mine, theirs) == 0.0 or abs(mine - theirs) > both * max(mine, theirs)
            if is_sure and mine != theirs:
                return mine > theirs
        return False
