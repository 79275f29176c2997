"""A session without engines: fixed profiles, a scripted study, results in memory.

The study waits at a gate before each trial, so that a test decides when the next one ends and
nothing depends on time.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event, Semaphore

from tui.views import (
    AnswerView,
    Change,
    ClaimView,
    ComparedLine,
    ComparisonView,
    ContenderView,
    DialectView,
    ExperimentRow,
    FigureView,
    FormProblems,
    NumberColumn,
    Outcome,
    Plan,
    ProfileView,
    PublishedView,
    ReplayWatcher,
    RobustView,
    SideView,
    StudyForm,
    StudyView,
    SweepCell,
    SweepForm,
    SweepGrid,
    SweepPlan,
    SweepRow,
    SweepStep,
    SweepView,
    SweepWatcher,
    TrialView,
    UsualBounds,
    VerificationView,
    Watcher,
)

GIB = 1024**3

PROFILES = [
    ProfileView(
        name="linkbench",
        text="A social graph: short range scans of links, point reads and updates of nodes.",
        workload="linkbench, 1 billion ids",
        hardware="this machine",
        data_bytes=200 * GIB,
        memory_bytes=16 * GIB,
        clients=16,
        goal="maximize ops_per_s subject to p99_us <= 5000",
        engines=("lsm", "btree"),
    ),
    ProfileView(
        name="insert-benchmark",
        text="Inserts in primary key order with three secondary indexes.",
        workload="insert_benchmark",
        data_bytes=50 * GIB,
        memory_bytes=4 * GIB,
        clients=4,
        goal="minimize write_kb_per_op",
        engines=("lsm",),
    ),
    ProfileView(name="broken.toml", problem="broken.toml: goal: found 'fast', accepted: a goal"),
]


def _metrics(
    ops: float, p99: float, write_kb: float, reads: float, space: float
) -> dict[str, float]:
    return {
        "ops_per_s": ops,
        "p99_us": p99,
        "write_kb_per_op": write_kb,
        "reads_per_op": reads,
        "space_amp": space,
    }


TRIALS = [
    TrialView(1, "lsm", 18214, _metrics(18214, 2210, 3.1, 0.84, 1.31), "defaults"),
    TrialView(2, "btree", 9120, _metrics(9120, 6890, 11.7, 0.61, 1.52), "defaults"),
    TrialView(3, "lsm", 31480, _metrics(31480, 1430, 2.2, 0.52, 1.14), "write_buffer_size=256MiB"),
    TrialView(4, "lsm", None, {}, "block_size=64KiB", note="needs 19 GiB, memory is 16 GiB"),
    TrialView(
        5,
        "lsm",
        38655,
        _metrics(38655, 1240, 1.9, 0.41, 1.12),
        "write_buffer_size=256MiB block_size=16KiB max_background_jobs=4",
    ),
    TrialView(
        6, "btree", 14020, _metrics(14020, 3900, 6.2, 0.6, 1.5), "innodb_redo_log_capacity=2GiB"
    ),
]

UNDECIDED = "no difference shown"

OUTCOME = Outcome(
    study="linkbench-1",
    engine="lsm",
    verdict="lsm wins over btree: +176% ops_per_s (noise 4.3%), 38,655 against 14,020",
    goal="maximize ops_per_s subject to p99_us <= 5000",
    clock="measured",
    trials=6,
    tried="6 trials (4 of lsm, 2 of btree)",
    columns=(
        NumberColumn("default", TRIALS[0].metrics),
        NumberColumn("recommended", TRIALS[4].metrics),
    ),
    changes=(
        Change("write_buffer_size", "64 MiB", "256 MiB", "without it: -21 % ops/s, write/op +38 %"),
        Change("block_size", "4 KiB", "16 KiB", "without it: reads/op 2.1x"),
        Change("max_background_jobs", "2", "4", "without it: 3.2 s of stalls"),
    ),
    notes=("Ran at 1/64 of the data size; 3 runs of each column.",),
)

VERIFIED_OUTCOME = replace(
    OUTCOME,
    clock="simulated",
    verified=VerificationView(
        "RocksDB 10.4.2",
        "ops_per_s",
        "1GiB of data, 64MiB of memory (1/200 of the profile's), 10 s measured, direct I/O; "
        "6 rounds; predicted for nvme-2024; ratios are to defaults",
        (
            ContenderView("defaults", "12,410", "", "", "the base"),
            ContenderView(
                "rule: cache at a third", "13,020", "1.05x (0.96 to 1.15)", "1.41x", UNDECIDED
            ),
            ContenderView("recommended", "19,732", "1.59x (1.48 to 1.71)", "2.12x", "better"),
        ),
    ),
)

FULL_OUTCOME = replace(
    OUTCOME,
    clock="simulated",
    metrics=("ops_per_s", "p99_us"),
    columns=tuple(
        NumberColumn(title, {**trial.metrics, **wear})
        for title, trial, wear in (
            (
                "default",
                TRIALS[0],
                {"written_bytes_per_day": 9.1e12, "drive_writes_per_day": 2.9, "years": 2.8},
            ),
            (
                "recommended",
                TRIALS[4],
                {"written_bytes_per_day": 5.2e12, "drive_writes_per_day": 1.6, "years": 5.1},
            ),
        )
    ),
    changes=(
        replace(OUTCOME.changes[0], alone=0.62, company=0.41),
        replace(OUTCOME.changes[1], alone=-0.03, company=0.18),
        replace(OUTCOME.changes[2], company=0.07),
    ),
    importance=(
        ("write_buffer_size", 0.48),
        ("block_size", 0.21),
        ("level0_file_num_compaction_trigger", 0.04),
        ("max_background_jobs", 0.002),
    ),
    robust=RobustView(
        "rule: five things to set",
        ("as asked", "memory x 0.5", "data x 2", "clients x 4", "worst"),
        (
            ("recommended", ("100%", "out", "88%", "97%", "out at memory x 0.5")),
            ("rule: five things to set", ("97%", "100%", "100%", "100%", "97% as asked")),
        ),
        (
            "Recommended: worst at memory x 0.5, where it does not fit the memory.",
            "Robust choice: rule: five things to set; worst as asked, with 97% of the best there.",
        ),
    ),
)

LONG_OUTCOME = replace(
    OUTCOME,
    metrics=("stall_s", "p99_us"),
    columns=(
        NumberColumn("default", {**TRIALS[0].metrics, "stall_s": 3.2}),
        NumberColumn("recommended", {**TRIALS[4].metrics, "stall_s": 0.0}),
    ),
    warning="no settings kept p99_us <= 100; these come nearest "
    "(p99_us: default 960, recommended 340)",
    changes=(
        *OUTCOME.changes,
        Change("filter_policy", "nullptr", "bloomfilter:10:false", "without it: reads/op 2.1x"),
        Change(
            "level_compaction_dynamic_level_bytes",
            "off",
            "on",
            "buys +4.1% ops_per_s (noise ±2.0%) in company; less than the trials "
            "had by 2% at most, to make room for innodb_log_buffer_size",
        ),
    ),
)


GOAL = OUTCOME.goal
STUDIES = [
    StudyView(
        "night", "linkbench", "2026-11-20 14:02", 6, "simulated", GOAL, "RocksDB 10.4.2", ("kept",)
    ),
    StudyView("flash", "ycsb", "2026-11-19 08:30", 140, "simulated", "minimize p99_us"),
    StudyView(
        "linkbench-2", "linkbench", "2026-11-12 22:10", 40, "measured", GOAL, "", ("kept", "slow")
    ),
]

COMPARISON = ComparisonView(
    sides=(
        SideView(
            "night",
            "the settings that the study recommends: linkbench on the LSM engine, simulated on "
            "nvme-2024",
            "at 1/64 of the full size; 200GiB of data, 16GiB of memory, 16 clients; 3 runs of 2 s",
        ),
        SideView(
            "linkbench-2",
            "the settings that the study recommends: linkbench on the LSM engine, simulated on "
            "sata-ssd-2018",
            "at 1/64 of the full size; 200GiB of data, 16GiB of memory, 16 clients; 3 runs of 2 s",
        ),
    ),
    metrics=(
        ComparedLine("ops/s", ("38,655", "21,480"), ("worse by 44% (noise ±4.3%)",)),
        ComparedLine("p99", ("1.24 ms", "1.19 ms"), ("within noise (±6.0%)",)),
        ComparedLine("write/op", ("1.90 KB", "1.70 KB"), ("better by 11% (noise ±2.0%)",)),
        ComparedLine("stalled", ("0.00 s", "0.40 s"), ("was 0: no ratio",)),
        ComparedLine("to the flash", ("-", "1.2GiB"), ("",)),
    ),
    settings=(
        ComparedLine("write_buffer_size", ("256MiB", "128MiB")),
        ComparedLine("block_size", ("16KiB", "4KiB")),
    ),
    notes=("linkbench-2 and night differ in more than settings: hardware",),
)

ANSWER = AnswerView(
    ("study", "engine", "trials", "best"),
    (
        ("night", "lsm", "4", "38655"),
        ("night", "btree", "2", "14020"),
        ("flash", "lsm", "140", "-"),
    ),
    (False, False, True, True),
)
TABLES = {
    "run": ("id", "study", "number", "engine", "role", "outcome", "ops_per_s", "p99_us"),
    "run_interval": ("study", "engine", "clock", "hardware", "trial", "sequence", "t_s"),
    "study": ("name", "created", "workload", "goal", "engines", "clock", "seed"),
    "tag": ("study", "name"),
}

SWEEP = SweepView(
    name="linkbench-sweep-1",
    profile="linkbench",
    axis="memory",
    metric="ops_per_s",
    goal="maximize ops_per_s",
    clock="simulated",
    engines=("lsm", "btree"),
    steps=(
        SweepStep("4GiB", (41200.0, 18300.0), "LSM 2.25x", ""),
        SweepStep("8GiB", (48100.0, 33900.0), "LSM 1.42x", ""),
        SweepStep(
            "16GiB",
            (52700.0, 49800.0),
            "LSM 1.06x",
            "B-tree overtakes LSM at memory 18.2GiB (between 16.9GiB and 19.4GiB by the noise)",
        ),
        SweepStep("32GiB", (55900.0, 88400.0), "B-tree 1.58x", ""),
        SweepStep("64GiB", (None, 96100.0), "", ""),
    ),
    sentences=(
        "B-tree overtakes LSM at memory 18.2GiB (between 16.9GiB and 19.4GiB by the noise)",
        "differences below 3.1 % are within noise",
        "LSM at memory 64GiB: the run failed",
    ),
    points=10,
    planned=10,
)
STORED_SWEEPS = [
    SweepRow(SWEEP.name, "memory", "2026-11-20 14:02", 10, 10, "simulated", SWEEP.goal),
    SweepRow("old-sweep", "clients", "2026-10-02 09:40", 0, None, "simulated", SWEEP.goal),
]
MAP = SweepView(
    name="linkbench-sweep-9",
    profile="linkbench",
    axis="memory and clients",
    metric="ops_per_s",
    goal="maximize ops_per_s",
    clock="simulated",
    engines=("lsm", "btree"),
    steps=(),
    sentences=(
        "of 12 cells LSM leads in 5, B-tree leads in 3, noise does not tell them apart in 1, "
        "LSM alone ran in 1, neither ran in 1, not run: 1",
        "clients 16: B-tree overtakes LSM at memory 18.2GiB (between 16.9GiB and 19.4GiB by the "
        "noise)",
        "differences below 3.1 % are within noise",
        "B-tree at memory 1MiB, clients 16: no settings fit the memory; so in 2 cells",
        "interrupted: the steps that are missing were not run",
    ),
    points=22,
    planned=24,
    grid=SweepGrid(
        "memory",
        "clients",
        ("1MiB", "4GiB", "16GiB", "64GiB", "128GiB", "256GiB"),
        (
            (
                "16",
                (
                    SweepCell("LSM alone", "lsm"),
                    SweepCell("LSM 2.25x", "lsm"),
                    SweepCell("even 1.01x", ""),
                    SweepCell("B-tree 1.58x", "btree"),
                    SweepCell("B-tree 1.62x", "btree"),
                    SweepCell("B-tree 1.70x", "btree"),
                ),
            ),
            (
                "64",
                (
                    SweepCell("neither", ""),
                    SweepCell("LSM 3.53x", "lsm"),
                    SweepCell("LSM 3.08x", "lsm"),
                    SweepCell("LSM 1.44x", "lsm"),
                    SweepCell("LSM 1.12x", "lsm"),
                    SweepCell("-", ""),
                ),
            ),
        ),
    ),
)
STORED_MAP = SweepRow(
    MAP.name, MAP.axis, "2026-11-22 09:12", MAP.points, MAP.planned, MAP.clock, MAP.goal
)


EXPERIMENTS = [
    ExperimentRow("linkbench-flash", 4, "LinkBench on a flash card for a day and a week"),
    ExperimentRow("memtable-sweep", 2, "random inserts into memtables of many sizes"),
]
REPLAYED = PublishedView(
    "linkbench-flash",
    "pcie-flash-2016, shrunk to 1/6,667 of the data; a post of 2017",
    (
        FigureView("write_kb_per_op innodb.none / myrocks", "about 10.4", "11.2", "1.08x"),
        FigureView("ops_per_s myrocks / innodb.none", "1.47", "1.21", "0.82x"),
        FigureView("p99_us myrocks", "", "1,430", ""),
    ),
    (
        ClaimView("G3", "holds", "InnoDB writes at least eight times as much per operation", ""),
        ClaimView("G2", "fails", "uncompressed InnoDB takes more than twice the space", ""),
        ClaimView("G7", "no answer", "compaction is an example of a debt", "an example"),
    ),
    ("the binary log is assumed to be on",),
)


def replayed(figures: int, claims: int) -> PublishedView:
    """The experiment with so many simulated figures and answers."""
    return replace(
        REPLAYED,
        figures=tuple(
            one if at < figures else replace(one, simulated="", ratio="")
            for at, one in enumerate(REPLAYED.figures)
        ),
        claims=tuple(
            one if at < claims or one.why else replace(one, verdict="not yet")
            for at, one in enumerate(REPLAYED.claims)
        ),
    )


PREVIEW = """\
# my.cnf for {dialect}, recommended by tunebench
# Evidence: trials measured by the clock of this machine, on its disk

[mysqld]

# without it: -21 % ops/s, write/op +38 %; default 64MiB; was 64MiB
rocksdb_write_buffer_size=256M
"""


def _set_event() -> Event:
    event = Event()
    event.set()
    return event


@dataclass
class FakeSession:
    """`release(n)` lets n more trials end."""

    results: list[StudyView] = field(default_factory=list)
    kept_sweeps: list[SweepRow] = field(default_factory=list)
    swept: list[SweepForm] = field(default_factory=list)
    compared: list[tuple[str, ...]] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    failure: Exception | None = None
    exported: list[tuple[str, Path, bool]] = field(default_factory=list)
    stopping: Event = field(default_factory=Event)
    cancelled: Event = field(default_factory=Event)
    may_write: Event = field(default_factory=_set_event)
    _gate: Semaphore = field(default_factory=lambda: Semaphore(0))

    def release(self, trials: int) -> None:
        for _ in range(trials):
            self._gate.release()

    def profiles(self) -> list[ProfileView]:
        return PROFILES

    def usual_bounds(self) -> UsualBounds:
        return UsualBounds(6, 2.0)

    def plan(self, form: StudyForm) -> Plan:
        problems = {}
        if form.data and not form.data[0].isdigit():
            problems["data"] = f"found {form.data!r}, accepted: a size such as 200GiB"
        if problems:
            raise FormProblems(problems)
        profile = next(p for p in PROFILES if p.name == form.profile)
        return Plan(profile.name, "ops_per_s", profile.goal, "measured", len(TRIALS))

    def tune(self, plan: Plan, watcher: Watcher) -> Outcome:
        watcher.attach(self.stopping.set, self.cancelled.set)
        for trial in TRIALS:
            watcher.started(trial.number, plan.trials, trial.engine)
            # One: of several, the screen draws as many as its timer happens to meet.
            watcher.interval({"phase": "run", "ops_per_s": 20_000.0, "p99_us": 1500.0, "t_s": 2.0})
            while not self._gate.acquire(timeout=0.01):
                if self.cancelled.is_set():
                    raise RuntimeError("cancelled")
            if self.failure is not None:
                raise self.failure
            watcher.finished(trial)
            if self.stopping.is_set():
                break
        return OUTCOME

    def studies(self) -> list[StudyView]:
        return self.results

    def trials(self, study: str) -> list[TrialView]:
        return TRIALS

    def delete(self, study: str) -> None:
        if self.failure is not None:
            raise self.failure
        self.results = [one for one in self.results if one.name != study]

    def tag(self, study: str, name: str) -> tuple[str, ...]:
        at = next(at for at, one in enumerate(self.results) if one.name == study)
        tags = tuple(sorted({*self.results[at].tags} ^ {name}))
        self.results[at] = replace(self.results[at], tags=tags)
        return tags

    def compare(self, studies: Sequence[str]) -> ComparisonView:
        if self.failure is not None:
            raise self.failure
        self.compared.append(tuple(studies))
        return COMPARISON

    def sql(self, query: str) -> AnswerView:
        self.asked.append(query)
        if "gone" in query:
            raise ValueError("Catalog Error: Table with name gone does not exist!")
        return ANSWER

    def tables(self) -> dict[str, tuple[str, ...]]:
        return TABLES

    def outcome(self, study: str) -> Outcome:
        return OUTCOME

    def sweeps(self) -> list[SweepRow]:
        return self.kept_sweeps

    def stored_sweep(self, name: str) -> SweepView:
        if name == MAP.name:
            return MAP
        if name != SWEEP.name:
            raise RuntimeError(f"{name}: found a sweep that does not say what was asked")
        return SWEEP

    def plan_sweep(self, form: SweepForm) -> SweepPlan:
        if "=" not in form.over:
            raise FormProblems({"over": f"found {form.over!r}, accepted: memory, data, clients"})
        self.swept.append(form)
        return SweepPlan(f"{form.profile} over memory")

    def sweep(self, plan: SweepPlan, watcher: SweepWatcher) -> SweepView:
        watcher.attach(self.stopping.set, self.cancelled.set)
        made = replace(SWEEP, name="linkbench-sweep-2", steps=(), sentences=(), points=0)
        watcher.moved(made)
        for step in SWEEP.steps:
            watcher.step(step.label)
            while not self._gate.acquire(timeout=0.01):
                if self.cancelled.is_set():
                    raise RuntimeError("cancelled")
            if self.failure is not None:
                raise self.failure
            made = replace(made, steps=(*made.steps, step), points=made.points + 2)
            watcher.moved(made)
            if self.stopping.is_set():
                break
        return replace(made, sentences=SWEEP.sentences)

    def experiments(self) -> list[ExperimentRow]:
        return EXPERIMENTS

    def published(self, name: str) -> PublishedView:
        return replace(replayed(0, 0), name=name)

    def replay(self, name: str, watcher: ReplayWatcher) -> PublishedView:
        watcher.attach(self.stopping.set, self.cancelled.set)
        for done in range(4):
            watcher.runs(done, 4)
            watcher.moved(replayed(done, done - 1))
            while not self._gate.acquire(timeout=0.01):
                if self.cancelled.is_set():
                    raise RuntimeError("cancelled")
                if self.stopping.is_set():
                    return replayed(done, done - 1)
            if self.failure is not None:
                raise self.failure
        return REPLAYED

    def dialects(self, outcome: Outcome) -> list[DialectView]:
        return [
            DialectView("myrocks-mariadb-10.11", "MyRocks in MariaDB 10.11", "my.cnf"),
            DialectView("rocksdb-10.4", "RocksDB 10.4", "OPTIONS"),
            DialectView("mysql-8.4", "MySQL 8.4", "my.cnf", "btree lost: lsm has +176% ops_per_s"),
        ]

    def preview(self, outcome: Outcome, dialect: str) -> str:
        if dialect == "rocksdb-10.4":
            raise RuntimeError("the results file is locked")
        return PREVIEW.format(dialect=dialect)

    def export(self, outcome: Outcome, dialect: str, path: Path, *, force: bool) -> str:
        while not self.may_write.wait(0.01):
            if self.cancelled.is_set():
                raise RuntimeError("cancelled")
        if self.failure is not None:
            raise self.failure
        self.exported.append((dialect, path, force))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# {dialect}\n")
        return f"{path} and report.md"
