"""What final runs change of a choice: it was made of short looks and of few runs of the search, and
they may know better."""

from __future__ import annotations

from dataclasses import replace

from advisor.goal import Goal
from advisor.noise import Noise
from advisor.recommend.chosen import Choice, finals_of_most
from advisor.recommend.limits import farther
from advisor.recommend.lines import Lines
from advisor.recommend.selection import Selected, Untold
from advisor.recommend.verdict import VERDICT_LEVEL, compare
from advisor.search import Candidate, Study
from advisor.search.ranking import WORTH, ranked
from advisor.search.seeds import best_rule


def unless_too_short(chosen: Choice, lines: Lines) -> Choice:
    """The choice, or with some of the winner's changes again, where final runs of both show that
    some of those that went were needed: which lines matter is looked at in short runs. Where all
    went because nobody could tell what they do, `unless_told` has decided."""
    goal, bench = chosen.goal, chosen.bench
    settings, whole = chosen.selected.settings, chosen.winner.settings
    mine, best = bench.finals(settings), bench.finals(whole)
    is_told = chosen.selected.findings and chosen.selected.untold is None
    if not is_told or mine is None or best is None:
        return chosen
    found = compare(goal, bench.noise_of_finals(), best, mine)
    if found is None or not found.is_told:
        return chosen
    restored = lines.restore(whole, settings, chosen.selected.findings)
    again = {one.knob: one for one in restored.findings}
    findings = tuple(again.get(one.knob, one) for one in chosen.selected.findings)
    selected = replace(chosen.selected, settings=restored.settings, findings=findings)
    return replace(chosen, selected=selected)


def unless_told(chosen: Choice, lines: Lines) -> Choice:
    """The choice, or what is needed of the winner's changes, where runs ended before these were
    told from noise, and final runs of both did it."""
    goal, bench, winner = chosen.goal, chosen.bench, chosen.winner.settings
    mine, base = bench.finals(winner), bench.finals(chosen.compared)
    if chosen.selected.untold is None or mine is None or base is None:
        return chosen
    found = compare(goal, bench.noise_of_finals(), mine, base, level=VERDICT_LEVEL)
    if found is None or not found.decides:
        return chosen
    if found.is_told:
        return replace(chosen, selected=lines.select_proven(winner, chosen.base, alone=True))
    untold = Untold(winner, found) if found.gain > WORTH else None
    return replace(chosen, selected=replace(chosen.selected, untold=untold))


def unless_denied(study: Study, chosen: Choice) -> Choice:
    """The choice, or none of its changes, where what was told of them together was told in fewer
    runs than that takes, and neither final runs of them, or of the most of them that a file
    carries, nor these with those before bear it out."""
    goal, bench, selected = chosen.goal, chosen.bench, chosen.selected
    mine, base = finals_of_most(study, chosen), bench.finals(chosen.compared)
    if selected.is_proven or mine is None or base is None or selected.settings == chosen.compared:
        return chosen
    noise = bench.noise_of_finals()
    found = compare(goal, noise, mine, base, level=VERDICT_LEVEL)
    if found is None or not found.decides or found.gain > found.bound:
        return chosen
    if farther(goal, {**bench.noises(), goal.metric: noise}, base, mine):
        return chosen
    later = bench.all_later(mine.settings, chosen.compared)
    if later is not None and ranked([*later], goal)[0] is later[0]:
        return chosen
    gone = tuple(
        replace(one, fate="dropped", company=None, together=len(selected.findings))
        for one in selected.findings
    )
    untold = Untold(mine.settings, found) if found.gain > WORTH else None
    return replace(chosen, selected=Selected(chosen.compared, gone, untold=untold))


def unless_outdone(study: Study, chosen: Choice, lines: Lines) -> Choice:
    """The choice, or what is needed of the best rule of thumb, where this was better in final runs
    of both, or was alone shown to be better than the base: nobody should be told to take less than
    what the table beside it shows."""
    goal, bench = chosen.goal, chosen.bench
    rule = best_rule(study.question, study.looks, chosen.winner.engine, goal)
    mine = bench.finals(chosen.selected.settings)
    its = None if rule is None else bench.finals(rule.settings)
    if rule is None or mine is None or its is None or not its.feasible(goal):
        return chosen
    base = bench.finals(chosen.compared)

    def edge(one: Candidate, other: Candidate | None) -> float:
        """What is gained beyond noise; below 0 where nothing is shown."""
        if other is None:
            return -1.0
        found = compare(goal, bench.noise_of_finals(), one, other, level=VERDICT_LEVEL)
        return -1.0 if found is None or not found.decides else found.gain - found.bound

    is_alone = edge(mine, base) <= 0.0 < edge(its, base) and ranked([mine, its], goal)[0] is its
    if edge(its, mine) <= 0.0 and not is_alone:
        return chosen
    kept = lines.select_proven(rule.settings, chosen.base)
    outdone = replace(chosen, winner=its, selected=kept, rule=rule.rule)
    return unless_too_short(outdone, lines)


def is_overtaken(goal: Goal, noise: Noise, mine: Candidate | None, its: Candidate | None) -> bool:
    """Whether final runs of both show that the other is better, or that it alone keeps the
    limits."""
    if mine is None or its is None or not its.feasible(goal):
        return False
    found = compare(goal, noise, its, mine, level=VERDICT_LEVEL)
    if found is None or not found.decides:
        return False
    return not mine.feasible(goal) or found.is_told
