"""The forward selection of changes, on a bench that answers from a table of what each is worth."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pytest

from advisor.goal import Goal, Limit
from advisor.knobs import Setting, Settings
from advisor.recommend.duel import LOOKS
from advisor.recommend.evidence import Effect, Finding, evidence, reason
from advisor.recommend.limits import Noises
from advisor.recommend.selection import Selected, restore, select
from advisor.search import Candidate
from advisor.search.ranking import noise_of
from tests.support.problems import trial

KNOBS = "abcdefgh"
METRICS = ("ops_per_s", "p99_us", "stall_s")


@dataclass
class TableBench:
    """Each change multiplies 100 operations per second by 1 + its worth; without it come its
    microseconds of p99 and its seconds of stalls. Every run is off by `noise`, relatively."""

    worth: Mapping[str, float]
    runs: int = 1000
    p99: Mapping[str, float] = field(default_factory=dict)
    stalls: Mapping[str, float] = field(default_factory=dict)
    noise: float = 0.005
    unlawful: tuple[str, ...] = ()
    draw: random.Random = field(default_factory=lambda: random.Random(7))
    seen: dict[tuple[Setting, ...], Candidate] = field(default_factory=dict)
    is_exhausted: bool = False

    def known(self, settings: Settings) -> Candidate | None:
        return self.seen.get(tuple(settings.values()))

    def measure(self, wanted: Sequence[Settings], *, spare: int) -> None:
        for settings in wanted:
            self.is_exhausted = self.runs <= spare
            if not self.is_exhausted:
                self.runs -= 1
                known = self.known(settings)
                before = known.trials if known else ()
                run = trial(
                    settings=settings,
                    role="ablation",
                    seed=1 + len(before),
                    metrics=self.metrics(settings),
                )
                made = Candidate("lsm", settings, (*before, run))
                self.seen[tuple(settings.values())] = made

    def metrics(self, settings: Settings) -> dict[str, float]:
        ops = 100.0 * self.factor(settings) * self.draw.gauss(1.0, self.noise)
        p99 = 100 + sum(self.p99.get(knob, 0) for knob, on in settings.items() if not on)
        stall = sum(self.stalls.get(knob, 0) for knob, on in settings.items() if not on)
        return {"ops_per_s": ops, "p99_us": p99, "stall_s": stall}

    def factor(self, settings: Settings) -> float:
        made = 1.0
        for knob, on in settings.items():
            made *= 1.0 + (self.worth.get(knob, 0.0) if on else 0.0)
        return made

    def noises(self) -> Noises:
        return {metric: noise_of(self.seen.values(), metric) for metric in METRICS}

    def lawful(self, settings: Settings) -> Settings | None:
        return None if any(settings[knob] == 0 for knob in self.unlawful) else settings


def run(
    bench: TableBench,
    order: str = KNOBS,
    goal: Goal | None = None,
    proofs: int = 2,
    spare: int = 0,
) -> Selected:
    """A selection among settings that were proven in so many runs."""
    base: Settings = dict.fromkeys(order, 0)
    best: Settings = dict.fromkeys(order, 1)
    for settings in (best, base):
        for _ in range(proofs):
            bench.measure([settings], spare=0)
    units = [(knob,) for knob in order]
    return select(best, base, units, goal or Goal("ops_per_s"), bench, (spare, spare))


def by_knob(found: Selected) -> dict[str, Finding]:
    return {finding.knob: finding for finding in found.findings}


def kept(found: Selected) -> str:
    return "".join(knob for knob, value in found.settings.items() if value == 1)


def test_changes_that_pay_stay_and_carry_what_they_buy_alone_and_in_company() -> None:
    found = run(TableBench({"a": 0.5, "c": 0.3}))
    assert kept(found) == "ac"
    line = by_knob(found)["a"]
    assert line.fate == "kept" and line.alone is not None and line.company is not None
    assert line.alone.gain == pytest.approx(0.5, abs=0.03)
    assert line.company.gain == pytest.approx(0.5, abs=0.03)


def test_what_is_not_needed_goes_after_one_look_at_each() -> None:
    bench = TableBench({"a": 0.5})
    before = bench.runs
    found = run(bench)
    assert kept(found) == "a"
    assert before - bench.runs <= 4 + 8 + 4
    gone = [by_knob(found)[knob] for knob in "bcdefgh"]
    assert all(one.fate == "dropped" and one.company is not None for one in gone)
    assert all(one.company.gain < 0.02 for one in gone if one.company)


def test_an_important_change_at_the_end_of_the_order_is_found() -> None:
    assert kept(run(TableBench({"a": 0.5, "h": 0.3}))) == "ah"


def test_changes_that_buy_something_only_together_are_found() -> None:
    class Pair(TableBench):
        def factor(self, settings: Settings) -> float:
            return 1.4 if settings["c"] and settings["f"] else 1.0

    assert kept(run(Pair({}))) == "cf"


@pytest.mark.parametrize("runs", range(4, 40))
def test_however_few_runs_there_are_what_stays_is_as_good_as_the_best(runs: int) -> None:
    class Company(TableBench):
        """`b` costs something alone, and buys something beside `a`."""

        def factor(self, settings: Settings) -> float:
            together = 1.4 if settings["a"] else 0.7
            return super().factor(settings) * (together if settings["b"] else 1.0)

    bench = Company({"a": 0.5, "c": 0.1}, runs=runs)
    found = run(bench, "bachdefg")
    assert bench.factor(found.settings) == pytest.approx(1.5 * 1.4 * 1.1)


def test_of_two_that_do_the_same_one_stays() -> None:
    class Either(TableBench):
        def factor(self, settings: Settings) -> float:
            return 1.4 if settings["c"] or settings["f"] else 1.0

    assert kept(run(Either({}))) == "c"


def test_a_change_that_harms_goes_and_the_file_is_better_than_the_best() -> None:
    found = run(TableBench({"a": 0.5, "b": -0.2, "c": 0.3}))
    assert kept(found) == "ac"
    rest = by_knob(found)["b"].rest
    assert rest is not None and rest.gain == pytest.approx(0.25, abs=0.02)


def test_a_base_that_is_as_good_takes_everything_back() -> None:
    bench = TableBench({})
    found = run(bench)
    assert kept(found) == ""
    assert {finding.fate for finding in found.findings} == {"dropped"}
    assert 1000 - bench.runs <= 2 * LOOKS


def test_many_small_gains_are_not_lost_together() -> None:
    bench = TableBench(dict.fromkeys(KNOBS, 0.03))
    found = run(bench)
    assert bench.factor(found.settings) > 0.97 * 1.03 ** len(KNOBS)


def test_a_change_that_keeps_a_limit_stays() -> None:
    goal = Goal("ops_per_s", (Limit("p99_us", 150),))
    found = run(TableBench({"a": 0.5}, p99={"b": 100}), goal=goal)
    assert kept(found) == "ab"
    assert by_knob(found)["b"].broken == goal.limits


def test_beyond_a_limit_that_nothing_keeps_the_nearest_answer_stays() -> None:
    # The base is faster and nearly three times as far beyond the limit.
    goal = Goal("ops_per_s", (Limit("p99_us", 10),))
    found = run(TableBench({"a": -0.5}, p99={"a": 600}), goal=goal)
    assert kept(found) == "a"
    assert by_knob(found)["a"].broken == goal.limits


def test_a_change_that_goes_farther_beyond_a_limit_is_not_made_whatever_it_buys() -> None:
    goal = Goal("ops_per_s", (Limit("p99_us", 10),))
    found = run(TableBench({"a": 0.5, "b": 0.5}, p99={"a": -60, "b": 60}), goal=goal)
    assert kept(found) == "b"


def test_a_limit_that_noise_would_break_is_not_kept() -> None:
    # Without `b` p99 is 148 of 150, and repeats to 5% or so.
    class Jittery(TableBench):
        def metrics(self, settings: Settings) -> dict[str, float]:
            found = super().metrics(settings)
            return found | {"p99_us": found["p99_us"] * self.draw.gauss(1.0, 0.05)}

    goal = Goal("ops_per_s", (Limit("p99_us", 150),))
    assert kept(run(Jittery({"a": 0.5}, p99={"b": 48}), goal=goal)) == "ab"


def test_a_goal_that_reached_zero_does_not_go_back_to_a_worse_base() -> None:
    found = run(TableBench({}, stalls={"a": 3.2}), goal=Goal("stall_s"))
    assert kept(found) == "a"
    company = by_knob(found)["a"].company
    assert company is not None and company.gain == 1.0


def test_a_goal_that_is_zero_everywhere_takes_everything_back() -> None:
    assert kept(run(TableBench({}), goal=Goal("stall_s"))) == ""


def test_what_cannot_be_left_out_says_so() -> None:
    found = run(TableBench({"a": 0.5}, unlawful=("b",)))
    assert by_knob(found)["b"].fate == "unlawful"
    assert kept(found) == "ab"


def test_without_runs_everything_stays_unmeasured() -> None:
    bench = TableBench({"a": 0.5}, runs=0)
    found = run(bench)
    assert {finding.fate for finding in found.findings} == {"unmeasured"}
    assert kept(found) == KNOBS


def test_what_no_run_was_left_for_stays_of_what_is_as_good() -> None:
    # Four prove the two, two show that neither of the least important is missed; that both may go
    # nobody has seen.
    found = run(TableBench({"b": 0.5, "c": 0.5}, runs=6))
    assert kept(found) == "abcdefh"
    assert {by_knob(found)[knob].fate for knob in "abcd"} == {"unmeasured"}


def test_the_last_run_is_made_without_the_least_of_what_was_not_missed() -> None:
    worth = {"a": 0.5, "c": 0.018, "e": 0.018, "g": 0.018, "h": 0.5}
    found = run(TableBench(worth, runs=4 + len(KNOBS) + 3), spare=3)
    assert set(kept(found)) >= set("ah")
    assert 1 <= len(set("bcdefg") - set(kept(found))) <= 4
    gone = [one for one in found.findings if one.fate == "dropped"]
    assert all(one.rest is not None and one.rest.gain > -0.03 for one in gone)


def test_where_all_of_the_least_are_missed_together_half_of_them_go() -> None:
    class Either(TableBench):
        def factor(self, settings: Settings) -> float:
            return super().factor(settings) * (1.4 if settings["c"] or settings["f"] else 1.0)

    assert kept(run(Either({"a": 0.5}, runs=4 + len(KNOBS) + 3), spare=3)) == "abcgh"


class SeededBench(TableBench):
    """Runs of one seed that do the same come out alike."""

    def metrics(self, settings: Settings) -> dict[str, float]:
        known = self.known(settings)
        self.draw = random.Random(f"{len(known.trials) if known else 0} {self.factor(settings)}")
        return super().metrics(settings)

    def factor(self, settings: Settings) -> float:
        """`b` and `c` do for one another, but for a little; `d` to `f` do nothing."""
        return (1.5 if settings["a"] else 1.0) * (
            0.999 ** (not settings["b"]) * 0.998 ** (not settings["c"])
            if settings["b"] or settings["c"]
            else 0.6
        )


def test_what_a_run_came_out_alike_without_goes_where_no_run_is_left_to_halve_the_rest() -> None:
    bench = SeededBench({}, runs=4 + 6 + 3, noise=0.0001)
    assert kept(run(bench, "abcdef", spare=3)) == "abc"
    assert bench.runs == 0


def test_a_line_without_which_a_run_came_out_alike_says_so() -> None:
    found = run(SeededBench({}, runs=4 + 6, noise=0.0001), "abcdef", spare=0)
    line = next(one for one in found.findings if one.knob == "e")
    assert line.screened is not None and line.screened.is_none
    assert told(line) == (
        "rule: with the other changes; a run without it came out exactly the same where all that "
        "were tried stayed"
    )
    gone = run(SeededBench({}, noise=0.0001), "abcdef")
    assert kept(gone) in ("ab", "ac")
    assert reason(by_knob(gone)["e"], Goal("ops_per_s")) == (
        "a run without it came out exactly the same"
    )


def test_a_line_that_no_more_run_was_left_for_says_what_leaving_it_out_showed() -> None:
    found = run(TableBench({"a": 0.5}, runs=4 + len(KNOBS)))
    stayed = [one for one in found.findings if one.fate == "unmeasured" and one.knob in kept(found)]
    assert stayed, "all but what one run each could take away"
    for one in stayed:
        assert one.screened is not None and one.company is None
        assert "; in the company of all that were tried " in told(one)
        assert told(one).endswith("which noise may explain")


def test_the_same_answers_tell_the_same_story() -> None:
    one, two = (run(TableBench({"a": 0.2, "c": 0.05}, noise=0.03)) for _ in range(2))
    assert one == two


def test_runs_that_end_before_the_best_is_told_from_the_base_say_what_they_saw() -> None:
    ended = run(TableBench({"a": 0.06}, noise=0.03, runs=4))
    assert kept(ended) == "" and ended.untold is not None
    assert ended.untold.gain.gain > 0.02
    assert run(TableBench({}, noise=0.03)).untold is None


def test_what_was_missed_after_all_comes_back_alone() -> None:
    bench = TableBench({"a": 0.5, "f": 0.3})
    best: Settings = dict.fromkeys(KNOBS, 1)
    base: Settings = {**dict.fromkeys(KNOBS, 0), "a": 1}
    order = [(knob,) for knob in KNOBS if knob != "a"]
    found = restore(best, base, order, Goal("ops_per_s"), bench, ())
    assert kept(found) == "af"
    assert by_knob(found)["f"].fate == "needed"
    everything = restore(best, base, order, Goal("ops_per_s"), TableBench({}, runs=0), ())
    assert kept(everything) == KNOBS


def seen(gain: float) -> Effect:
    return Effect(gain, 0.05, 0.3, 0.6, 1)


def told(finding: Finding) -> str:
    return evidence(finding, Goal("ops_per_s"), "simulated", is_kept=True)


def test_what_is_seen_on_its_own_within_noise_is_no_evidence() -> None:
    little, much = (told(Finding("a", "unmeasured", alone=seen(gain))) for gain in (0.01, 0.1))
    assert little.startswith("rule: on its own +1.0% ops_per_s (noise ±5.0%), which noise may")
    assert much.startswith("simulated: buys +10% ops_per_s")


def test_a_weak_line_says_whether_noise_or_the_number_of_lines_leaves_it_in_doubt() -> None:
    little, much = (told(Finding("a", "weak", company=seen(gain))) for gain in (0.01, 0.15))
    assert little.endswith("+1.0% ops_per_s (noise ±5.0%), which noise may explain")
    assert much.endswith("(noise ±5.0%), in too few runs to be sure of one among so many lines")


def studies(worth: Mapping[str, float], count: int) -> list[str]:
    """What selections at 3% of noise keep, each with draws of its own and the changes in an order
    of its own."""
    order, found = list("abcdefghijkl"), []
    for seed in range(count):
        draw = random.Random(seed)
        bench = TableBench(worth, noise=0.03, draw=draw)
        found.append(kept(run(bench, "".join(draw.sample(order, len(order))))))
    return found


def test_forty_studies_in_which_nothing_matters_keep_no_line() -> None:
    assert [one for one in studies({}, 40) if one] == []


def test_three_changes_of_eight_percent_are_told_from_noise_of_three() -> None:
    found = studies(dict.fromkeys("abc", 0.08), 15)
    assert sum(set("abc") <= set(one) for one in found) >= 14
    assert sum(len(set(one) - set("abc")) for one in found) <= 1


@dataclass
class OddBench(TableBench):
    """One in five runs of settings without `a` found another state, in which they do half."""

    def factor(self, settings: Settings) -> float:
        is_odd = not settings["a"] and self.draw.random() < 0.2
        return super().factor(settings) * (0.5 if is_odd else 1.0)


def test_odd_runs_of_the_base_do_not_hide_what_all_runs_agree_about() -> None:
    benches = [OddBench({"a": 0.08}, draw=random.Random(seed)) for seed in range(20)]
    assert sum(kept(run(bench, "abc")) == "a" for bench in benches) >= 19
