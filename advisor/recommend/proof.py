"""The final runs: the answer beside what it is compared with, with seeds that no decision saw.

What is printed is what these runs say, never the best score that a search met: the best of many
noisy trials looks better than it is. They have a role of their own, `final`, and are compared with
one another alone, so that they may be of another kind than the trials of the search.
"""

from __future__ import annotations

from collections.abc import Sequence

from advisor.goal import Goal
from advisor.knobs import Engine, Settings
from advisor.recommend.bench import StudyBench
from advisor.recommend.choice import best_of_others, for_other
from advisor.recommend.chosen import Choice
from advisor.recommend.recommendation import Recommendation
from advisor.search import VERDICT_RUNS, Study
from advisor.search.rules import rules
from advisor.search.seeds import Seed, best_rule

FINAL_RUNS = 3
"""Final runs of the answer and of each of those beside it."""

Wanted = tuple[StudyBench, list[Settings], range]
"""Settings of one engine, and the numbers of the final runs that they shall have."""


class Proof:
    """The final runs of a choice: of the file of the dialect as it stands, what it is compared
    with, the best rule of thumb, the result, the winner that it is a part of and the defaults in
    turns, as far as the bounds go, and the best of the other engine."""

    def __init__(
        self, study: Study, chosen: Choice, drafted: Recommendation, *, looks_at_other: bool
    ) -> None:
        """With `looks_at_other` some runs are left for what single changes of the best of the other
        engine buy."""
        self._study, self._bench = study, chosen.bench
        self._base, self._result = chosen.compared, chosen.selected.settings
        changed = [file for file in drafted.files.values() if file.changes]
        if chosen.selected.untold is not None:
            # What may have to be told is in no file yet.
            self._result, changed = chosen.selected.untold.settings, []
        own = chosen.winner.engine
        self._files = [file.settings for file in changed]
        self._mine = [file.settings for file in changed if file.dialect == drafted.dialect]
        self._rebuilt = [settings for _, settings in alternatives(study, chosen)]
        self.rival = best_of_others(study, chosen.goal, own)
        """The best of the other engine, if the study has one."""
        self._kept = for_other(study, self.rival) if looks_at_other else 0
        self._beside: list[tuple[StudyBench, Settings]] = []
        if self.rival is not None:
            its = StudyBench(study, chosen.goal, self.rival.engine, may_run=True)
            self._beside = [(its, self.rival.settings)]
        self._wanted = [self._result]
        if self._is_changed:
            rule = rule_of_thumb(study, chosen.goal, own)
            rules = [rule.settings] if rule else []
            self._wanted = [*self._mine, self._base, *rules, self._result]
            self._wanted += [chosen.winner.settings] if study.rung_below else []
            self._wanted.append(study.question.defaults(own))

    @property
    def _is_changed(self) -> bool:
        return self._result != self._base

    def run_untold(self) -> None:
        """As many runs as a verdict takes of what led in too few of them to tell, of its base, and
        of the best of the other engine: what these tell decides what else is to be proven."""
        numbers = range(VERDICT_RUNS)
        beside = [(it, [best], numbers) for it, best in self._beside]
        _run(self._study, [(self._bench, [self._base, self._result], numbers), *beside])

    def run_for_verdict(self) -> None:
        """As many runs of each as a verdict takes, and one of what a rebuild would change. Where
        the bounds do not go as far beyond a look at each line of the other engine, the file, its
        base and the result have theirs first, and then the best of the other engine what it lacks;
        in the end a look at the file."""
        if self._is_changed:
            self._run_first()
        for number in range(VERDICT_RUNS):
            self._run_round(number, self._kept)
        _look(self._study, self._bench, self._mine)

    def run_further(self) -> None:
        """One more run of each; the files of the other dialects, and looks at all files."""
        for number in range(VERDICT_RUNS, FINAL_RUNS):
            self._run_round(number, 0)
        _look(self._study, self._bench, self._files)
        _run(self._study, [(self._bench, self._files, range(1))])

    def _run_first(self) -> None:
        study, bench, beside = self._study, self._bench, self._beside
        # Where trials bound the study, a look takes as much of it as a final run.
        is_timed = study.bounds.minutes is not None
        if is_timed:
            _look(study, bench, self._mine)
        left = study.runs_left(beyond=self._kept)
        if left >= VERDICT_RUNS * (len(self._wanted) + len(beside)):
            return
        numbers = range(VERDICT_RUNS)
        few = [*self._mine, self._base, self._result]
        if left < VERDICT_RUNS * (len(few) + len(beside)):
            few = [*(self._mine or [self._result]), self._base]
        are_left = left >= VERDICT_RUNS * (len(few) + len(beside))
        first = [(bench, few, numbers)]
        first += [
            (it, [best], numbers if are_left else it.lacks(best, VERDICT_RUNS))
            for it, best in beside
        ]
        if is_timed and self._result not in few:
            # What the file leaves to its reader, on the core beside the last of the others.
            first.append((bench, [self._result], range(1)))
        _run(study, first)

    def _run_round(self, number: int, spare: int) -> None:
        if not (self._is_changed or self._rebuilt or self._beside):
            return
        now = [*self._wanted, *self._rebuilt] if number == 0 else self._wanted
        one = range(number, number + 1)
        beside = [(it, [best], one) for it, best in self._beside]
        _run(self._study, [(self._bench, now, one), *beside], spare)


def _look(study: Study, bench: StudyBench, wanted: Sequence[Settings]) -> None:
    """The looks that settings lack on the smaller copy: without one nobody knows by how much the
    size of the copy errs."""
    looks = [look for one in wanted if (look := bench.missing_look(one)) is not None]
    study.measure(looks, "final", 0)


def _run(study: Study, wanted: Sequence[Wanted], spare: int = 0) -> None:
    """The final runs that settings lack, side by side, as far as the bounds allow any beyond
    `spare` others. One that fails is made once more, with another seed: an answer shall not turn on
    whether a run was given up."""
    for further in (0, FINAL_RUNS):
        due = [
            bench.final_run(settings, further + number)
            for bench, given, numbers in wanted
            for number in numbers
            for settings in _due(bench, given, number)
        ]
        if due and (room := study.runs_left(beyond=spare)):
            study.measure(due[:room] if spare else due, "final")


def _due(bench: StudyBench, wanted: list[Settings], number: int) -> list[Settings]:
    """Those that have at most so many final runs."""
    due: list[Settings] = []
    for settings in wanted:
        known = bench.finals(settings)
        is_short = len(known.trials if known else ()) <= number
        if is_short and settings not in due and bench.lawful(settings) == settings:
            due.append(settings)
    return due


def rule_of_thumb(study: Study, goal: Goal, engine: Engine) -> Seed | None:
    """The rule of thumb that did best in the search."""
    return best_rule(study.question, study.looks, engine, goal)


def alternatives(study: Study, chosen: Choice) -> list[tuple[str, Settings]]:
    """What rules of thumb would set if the data might be rebuilt: the knob, and the result with
    it."""
    engine, settings = chosen.winner.engine, chosen.selected.settings
    found: dict[tuple[str, object], Settings] = {}
    fixed = study.question.fixed(engine)
    for rule in rules(engine):
        for name in rule.stated.keys() & fixed:
            made = rule.settings(study.profile, settings)
            other = made and chosen.bench.lawful({**settings, name: made[name]})
            if other and other[name] != settings[name]:
                found[name, other[name]] = other
    return [(name, other) for (name, _), other in found.items()]
