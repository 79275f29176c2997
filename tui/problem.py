"""From what the user said to what the library takes: a profile with the changes of the options, and
settings.

An error names the option, not the field that it ends up in.
"""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from advisor import imports, knobs
from advisor.errors import InputError
from advisor.knobs import ENGINES, Engine, Setting
from advisor.profile import Profile, load
from advisor.real import ENGINE, Library, RealEngine, Server, find, find_server
from advisor.real.server import ENGINE_OF
from advisor.sizes import ACCEPTED, parse_size
from advisor.store import Store
from advisor.trial import Clock
from tui.options import MINUTES_OF_A_SERVERS_VERDICT, MINUTES_OF_A_VERDICT
from tui.output import narrate

if TYPE_CHECKING:
    from advisor.search import Question


def changed_profile(name: str, changes: Mapping[str, Any]) -> Profile:
    """The profile with each given field in place of its own; None leaves a field as it is."""
    profile = load(name)
    for field, value in changes.items():
        if value is not None:
            profile = _with(profile, field, value)
    return profile


def _with(profile: Profile, field: str, value: Any) -> Profile:
    try:
        return profile.with_changes("--" + field, **{field: value})
    except InputError as error:
        if error.source != f"--{field}":  # a file that the option names
            raise
        raise InputError(f"--{field}", None, error.found, error.accepted) from error


def chosen_engines(engine: str | None, profile: Profile) -> tuple[Engine, ...]:
    """The engines that `--engine` asks for; the profile's own without it."""
    if engine is None:
        return profile.engines
    return ENGINES if engine == "both" else tuple(one for one in ENGINES if one == engine)


def clock_of(simulate: bool | None, profile: Profile, hardware: str | None = None) -> Clock:
    """The clock that `--simulate` or `--measure` asks for; without either, a profile's hardware is
    simulated unless it is this machine and not all of it was measured: a measured run keeps a small
    copy in the memory of the whole machine. Other hardware can only be simulated."""
    if hardware is not None and simulate is False and not profile.hardware.detect:
        raise InputError(
            "--hardware",
            None,
            f"{hardware!r} with --measure",
            "a measured run is on this machine",
        )
    if simulate is None:
        simulate = profile.hardware.is_known
    if simulate and profile.hardware.unfit:
        raise InputError(
            "--simulate",
            None,
            profile.hardware.unfit,
            "`tunebench doctor --calibrate` first, or --hardware NAME",
        )
    return "simulated" if simulate else "measured"


def real_engine(
    engine: str | None,
    rocksdb: Path | None,
    server: Path | None,
    simulate: bool | None,
    hardware: str | None,
) -> RealEngine | None:
    """What `--engine` names where that is a real engine: the one that --rocksdb or --server names,
    or the system's; None for an engine of ours."""
    storage = next((one for one in ENGINE_OF if one == engine), None)
    for option, named, wanted in (
        ("--rocksdb", rocksdb, engine == "rocksdb"),
        ("--server", server, storage is not None),
    ):
        if named is not None and not wanted:
            owners = "rocksdb" if option == "--rocksdb" else "innodb or myrocks"
            raise InputError(option, None, str(named), f"with --engine {owners} alone")
    if engine != "rocksdb" and storage is None:
        return None
    if simulate:
        accepted = "a real engine runs by the wall clock"
        raise InputError("--simulate", None, f"--engine {engine}", accepted)
    if hardware is not None:
        accepted = "a real engine runs on this machine"
        raise InputError("--hardware", None, f"{hardware!r} with --engine {engine}", accepted)
    return find(rocksdb) if storage is None else find_server(storage, server)


def told(real: RealEngine) -> RealEngine:
    """The real engine, with a word on one whose times mislead."""
    if isinstance(real, Library) and real.has_assertions:
        narrate(
            f"{real.path} is built with assertions, as distributions do, and slow: read its "
            "counters, not its times; --rocksdb names a release build"
        )
    return real


def judged_engine(engine: str | None, profile: Profile, rocksdb: Path | None) -> Engine | None:
    """Whose advice runs on a real engine; None for the recommended one's. Only the LSM's has a real
    engine where the workload is of plain keys, or the user names a RocksDB."""
    if engine is not None:
        return chosen_engines(engine, profile)[0]
    alone = rocksdb is not None or not profile.workload.info.has_tables
    return ENGINE if alone else None


def minutes_of_a_verdict(real: RealEngine) -> float:
    """What a verification takes where nobody says."""
    return MINUTES_OF_A_SERVERS_VERDICT if isinstance(real, Server) else MINUTES_OF_A_VERDICT


def current_by_engine(
    path: Path | None,
    assignments: Iterable[str],
    engines: tuple[Engine, ...],
    *,
    force: bool = False,
) -> dict[Engine, dict[str, Setting]]:
    """The current settings: those of `--from`, over them those of `--set`.

    An engine about which neither says anything is absent: it starts from its defaults. What a
    product's file does not say is what the product does when its file is silent. A file that
    describes another engine than the model is refused without `force`.
    """
    current = _from_file(path, engines, force) if path is not None else {}
    for engine, settings in _assigned(assignments, engines).items():
        if settings:
            current[engine] = current.get(engine, {}) | settings
    for engine, settings in current.items():
        options = [name for name, given in (("--from", path), ("--set", assignments)) if given]
        knobs.check(engine, settings, " and ".join(options))
    return current


def _from_file(
    path: Path, engines: tuple[Engine, ...], force: bool
) -> dict[Engine, dict[str, Setting]]:
    found = imports.read(path)
    others = found.another_engine(engines)
    if others and force:
        lines = ", ".join(other.text for other in others)
        narrate(f"{path} is taken although it describes another engine than the model: {lines}")
    return imports.current_settings(path, found, engines, any_engine=force)


def _assigned(
    assignments: Iterable[str], engines: tuple[Engine, ...]
) -> dict[Engine, dict[str, Setting]]:
    fixed: dict[Engine, dict[str, Setting]] = {engine: {} for engine in engines}
    for assignment in assignments:
        name, equals, text = assignment.partition("=")
        name = name.strip()
        if not equals or not name:
            raise InputError("--set", None, repr(assignment), "KNOB=VALUE")
        owners = [engine for engine in engines if name in knobs.catalogue(engine)]
        if not owners:
            raise InputError("--set", None, f"the knob {name!r}", _near(name, engines))
        for engine in owners:
            knob = knobs.catalogue(engine)[name]
            fixed[engine][name] = knobs.parse_value(knob, text, "--set")
    return fixed


def size_of(option: str, text: str) -> int:
    """Bytes, at least 1, that an option names."""
    try:
        size = parse_size(text)
    except ValueError as error:
        raise InputError(option, None, repr(text), ACCEPTED) from error
    if size < 1:
        raise InputError(option, None, repr(text), "at least a byte")
    return size


def predictable(profile: Profile, hardware: str | None) -> Profile:
    """The profile on the hardware that predictions are of, with or without a page cache as it was
    searched. Raises `InputError` for a machine that nobody described."""
    chosen = profile
    if hardware is not None:
        searched = profile.with_changes(direct_io=profile.passes_page_cache)
        chosen = _with(searched, "hardware", hardware)
    if chosen.hardware.unfit:
        raise InputError(
            "--hardware",
            None,
            chosen.hardware.unfit,
            "`tunebench doctor --calibrate` first, or --hardware NAME to predict for",
        )
    return chosen


def newest_study(store: Store) -> str:
    """The study that was made last."""
    studies = store.studies()
    if not studies:
        raise InputError(store.path, None, "no study", "a study made by `tunebench tune`")
    return studies[0].name


def refuse_unanswerable(question: "Question") -> None:
    """Refuse a question whose memory holds no settings that its study would try."""
    from advisor import search

    settled = question.settled(search.Bounds(), None)
    try:
        search.refuse_unanswerable(settled)
    except InputError as error:
        raise InputError("--memory", None, error.found, error.accepted) from error


def _near(name: str, engines: tuple[Engine, ...]) -> str:
    known = [knob for engine in engines for knob in knobs.catalogue(engine)]
    near = get_close_matches(name, known, n=3)
    return ", ".join(near) if near else f"a knob of {' or '.join(engines)}"
