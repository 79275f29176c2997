"""The reversal of changes, on a bench that answers from a table of what each change is worth."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from advisor.goal import Goal, Limit
from advisor.knobs import Setting, Settings
from advisor.noise import Noise
from advisor.recommend.ablation import Pruned, prune
from advisor.search import Candidate
from tests.support.problems import trial

BASE: dict[str, Setting] = dict.fromkeys("abcdefgh", 0)
WON: dict[str, Setting] = dict.fromkeys("abcdefgh", 1)
NOISES = dict.fromkeys(("ops_per_s", "p99_us", "stall_s"), Noise(0.005, 20))


@dataclass
class TableBench:
    """Each change adds its worth to 100 operations per second; without it come its microseconds of
    p99 and its seconds of stalls."""

    worth: Mapping[str, float]
    runs: int = 100
    p99: Mapping[str, float] = field(default_factory=dict)
    stalls: Mapping[str, float] = field(default_factory=dict)
    unlawful: tuple[str, ...] = ()
    seen: dict[tuple[Setting, ...], Candidate] = field(default_factory=dict)

    def known(self, settings: Settings) -> Candidate | None:
        return self.seen.get(tuple(settings.values()))

    def measure(self, settings: Settings, *, spare: int) -> Candidate | None:
        if self.runs <= spare:
            return None
        self.runs -= 1
        known = self.known(settings)
        made = self.candidate(settings, known.trials if known else ())
        self.seen[tuple(settings.values())] = made
        return made

    def lawful(self, settings: Settings) -> Settings | None:
        return None if any(settings[knob] == 0 for knob in self.unlawful) else settings

    def candidate(self, settings: Settings, before: tuple[object, ...] = ()) -> Candidate:
        ops = 100 + sum(self.worth.get(knob, 0) for knob, on in settings.items() if on)
        p99 = 100 + sum(self.p99.get(knob, 0) for knob, on in settings.items() if not on)
        stall = sum(self.stalls.get(knob, 0) for knob, on in settings.items() if not on)
        metrics = {"ops_per_s": ops, "p99_us": p99, "stall_s": stall}
        run = trial(settings=settings, role="ablation", metrics=metrics)
        return Candidate("lsm", settings, (*before, run))  # type: ignore[arg-type]


def run(bench: TableBench, order: str = "abcdefgh", goal: Goal | None = None) -> Pruned:
    units = [(knob,) for knob in order]
    return prune(bench.candidate(WON), BASE, units, goal or Goal("ops_per_s"), NOISES, bench)


def fates(pruned: Pruned) -> dict[str, str]:
    return {finding.knob: finding.fate for finding in pruned.findings}


def kept(pruned: Pruned) -> set[str]:
    return {knob for knob, value in pruned.settings.items() if value == 1}


def test_changes_that_pay_stay_and_the_others_go() -> None:
    pruned = run(TableBench({"a": 50, "c": 30}))
    assert kept(pruned) == {"a", "c"}
    assert pruned.findings[0].cost == 50 / 180


def test_a_group_without_worth_costs_one_run() -> None:
    bench = TableBench({"a": 50})
    run(bench)
    # One for the lesser half, one for each of the other four.
    assert 100 - bench.runs == 5


def test_a_worthy_change_in_the_lesser_half_is_found() -> None:
    assert kept(run(TableBench({"a": 50, "g": 30}))) == {"a", "g"}


def test_a_base_that_is_as_good_takes_everything_back_without_a_run() -> None:
    bench = TableBench({})
    bench.seen[tuple(BASE.values())] = bench.candidate(BASE)
    pruned = run(bench)
    assert pruned.settings == BASE
    assert bench.runs == 100


def test_many_small_losses_do_not_add_up_unseen() -> None:
    small = dict.fromkeys("abcdefgh", 2.0)
    bench = TableBench(small)
    pruned = run(bench)
    won, left = 100 + 16, 100 + 2 * len(kept(pruned))
    assert (won - left) / won <= 0.03


def test_a_reversal_that_breaks_a_limit_is_not_made() -> None:
    goal = Goal("ops_per_s", (Limit("p99_us", 150),))
    bench = TableBench({"a": 50}, p99={"b": 100})
    pruned = run(bench, goal=goal)
    assert kept(pruned) == {"a", "b"}
    assert pruned.findings[1].broken == goal.limits


def test_beyond_a_limit_that_nothing_keeps_the_nearest_answer_stays() -> None:
    # The base is faster and nearly three times as far beyond the limit.
    goal = Goal("ops_per_s", (Limit("p99_us", 10),))
    bench = TableBench({"a": -50}, p99={"a": 600})
    bench.seen[tuple(BASE.values())] = bench.candidate(BASE)
    pruned = run(bench, goal=goal)
    assert kept(pruned) == {"a"}
    assert pruned.findings[0].broken == goal.limits


def test_a_reversal_that_comes_nearer_to_a_limit_is_made_whatever_it_costs() -> None:
    goal = Goal("ops_per_s", (Limit("p99_us", 10),))
    pruned = run(TableBench({"a": 50, "b": 50}, p99={"a": -60, "b": 60}), goal=goal)
    assert kept(pruned) == {"b"}
    assert pruned.findings[0].nearer == goal.limits


def test_what_came_nearer_is_not_lost_by_the_next_reversal() -> None:
    # Without `a` p99 is 40; `b` would take it back to where the winner was.
    goal = Goal("ops_per_s", (Limit("p99_us", 10),))
    pruned = run(TableBench({}, p99={"a": -60, "b": 60}), goal=goal)
    assert kept(pruned) == {"b"}


def test_a_goal_that_reached_zero_does_not_go_back_to_a_worse_base() -> None:
    bench = TableBench({}, stalls={"a": 3.2})
    bench.seen[tuple(BASE.values())] = bench.candidate(BASE)
    pruned = run(bench, goal=Goal("stall_s"))
    assert kept(pruned) == {"a"}
    assert pruned.findings[0].cost == 1.0


def test_a_goal_that_is_zero_everywhere_takes_everything_back() -> None:
    assert kept(run(TableBench({}), goal=Goal("stall_s"))) == set()


def test_what_cannot_be_reverted_says_so() -> None:
    pruned = run(TableBench({"a": 50}, unlawful=("b",)))
    assert fates(pruned)["b"] == "unlawful"
    assert kept(pruned) == {"a", "b"}


def test_without_runs_everything_stays_unmeasured() -> None:
    pruned = run(TableBench({"a": 50}, runs=0))
    assert set(fates(pruned).values()) == {"unmeasured"}
    assert pruned.settings == WON


def test_the_last_run_but_one_reverts_all_that_stayed_unmeasured() -> None:
    # Two runs are spared; the third reverts the lesser half.
    bench = TableBench({"a": 50, "b": 40}, runs=5)
    pruned = run(bench)
    assert kept(pruned) == {"a", "b"}
    assert bench.runs == 1


def test_the_same_trials_tell_the_same_story() -> None:
    bench = TableBench({"a": 50, "c": 30, "g": 4}, runs=9)
    first = run(bench)
    bench.runs = 0
    assert run(bench) == first


@dataclass
class TightBench(TableBench):
    """`b` cannot go while `c` is there, and `a`, a cache, is halved while `d` is there without
    `h`."""

    def lawful(self, settings: Settings) -> Settings | None:
        if not settings["b"] and settings["c"]:
            return None
        small = settings["d"] and not settings["h"] and settings["a"]
        return {**settings, "a": 0.5} if small else settings


def test_what_did_not_go_with_another_change_goes_when_that_has_gone() -> None:
    pruned = run(TightBench({"a": 50}))
    assert fates(pruned)["b"] == fates(pruned)["c"] == "dropped"


def test_a_cache_comes_back_when_what_shrank_it_has_gone() -> None:
    pruned = run(TightBench({"a": 50}))
    assert pruned.settings == {**BASE, "a": 1}
