"""The house of the core: which file of `rust_core/src` takes what from which, and what that breaks.

An arrow goes from a file to the file that defines what it names, however many doors re-export it,
and to the door by which it is named. A door (a file with child modules) has no arrow for declaring
and re-exporting its children, but one for each that its own code uses. What a door itself says is
common to the files behind it: from them to it there is no arrow.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.support import rust_source
from tests.support.rust_source import Module

ROOMS: tuple[tuple[str, ...], ...] = (
    ("error", "metrics"),
    ("cost", "scale", "random"),
    ("task",),
    ("codec", "device"),
    ("storage",),
    ("engine", "options", "session"),
    ("transaction",),
    ("lsm", "btree", "real"),
    ("table",),
    ("workload",),
    ("run",),
    ("python",),
    ("fuzz", "crash_matrix"),
)
"""The rooms of the core by floors, the lowest first: a room knows those below it and on its own."""
STRANGERS = ({"lsm", "btree"}, {"lsm", "real"}, {"btree", "real"})
"""Rooms of one floor of which none knows another."""
HELPER = "fuzz"
"""What an engine gives the fuzzer is in a file of this name, and belongs to the fuzzer's room."""
DOOR = "lib.rs"
"""The crate's own door, which belongs to no room."""

Arrows = dict[tuple[str, str], set[str]]
"""(file, file) to the names that the first takes from the second."""
At = tuple[str, ...]
"""Where a module is, from the crate's root on."""


@dataclass
class House:
    """The modules of a crate, each with its file."""

    modules: dict[At, Module] = field(default_factory=dict)
    files: dict[At, str] = field(default_factory=dict)
    exported: dict[str, At] = field(default_factory=dict)
    """Macros that stand at the crate's root, whichever module defines them."""

    def add(self, at: At, module: Module, file: str) -> None:
        """Takes in a module and its inline children."""
        self.modules[at], self.files[at] = module, file
        self.exported.update(dict.fromkeys(module.exported_macros, at))
        for name, child in module.children.items():
            if child is not None:
                self.add((*at, name), child, file)

    def resolve(
        self, at: At, path: tuple[str, ...], seen: frozenset[tuple[At, str]] = frozenset()
    ) -> tuple[At, str | None] | None:
        """The module that defines what the path names, and the item's name there.

        The name is None for a module itself. Names of other crates give None.
        """
        here, names = at, list(path)
        if names[0] in ("crate", "self", "super"):
            here = () if names[0] == "crate" else at
            while names and names[0] in ("crate", "self", "super"):
                here = here[:-1] if names.pop(0) == "super" else here
        else:
            found = self.lookup(at, names.pop(0), bool(names), seen)
            if found is None or found[1] is not None:
                return found
            here = found[0]
        while names:
            name = names.pop(0)
            found = self.lookup(here, name, bool(names), seen)
            if found is None:
                return (here, name)
            if found[1] is not None:
                return found
            here = found[0]
        return (here, None)

    def lookup(
        self, at: At, name: str, has_more: bool, seen: frozenset[tuple[At, str]]
    ) -> tuple[At, str | None] | None:
        """What a name means in a module; where more follows, a module goes before an item."""
        if (at, name) in seen:
            return None
        seen = seen | {(at, name)}
        module = self.modules[at]
        child = (*at, name)
        if has_more and child in self.modules:
            return (child, None)
        if name in module.declared:
            return (at, name)
        for use in module.uses:
            found = self.resolve(at, use.path, seen) if use.name == name else None
            if found and (found[1] is not None or child not in self.modules):
                return found
        if child in self.modules:
            return (child, None)
        for use in module.uses:
            inner = self.resolve(at, use.path[:-1], seen) if use.name == "*" else None
            if inner and inner[1] is None and inner[0] != at:
                found = self.lookup(inner[0], name, has_more, seen)
                if found:
                    return found
        return (self.exported[name], name) if at == () and name in self.exported else None

    def taken(self, at: At) -> Iterator[tuple[At, str]]:
        """What the code of a module takes from others, itself among them."""
        module = self.modules[at]
        for use in module.uses:
            if use.name == "*":
                yield from self.taken_by_glob(at, use.path[:-1])
                continue
            found = self.resolve(at, use.path)
            if found and found[1] is not None:
                is_re_export = use.is_public and found[0][: len(at)] == at != found[0]
                if not is_re_export or use.name in module.names:
                    yield from self.by_door(at, use.path, (found[0], found[1]))
        for path in module.paths:
            found = self.resolve(at, path)
            if found is None and len(path) == 1 and path[0] in self.exported:
                found = (self.exported[path[0]], path[0])
            if found and found[1] is not None:
                yield from self.by_door(at, path, (found[0], found[1]))

    def by_door(
        self, at: At, path: tuple[str, ...], found: tuple[At, str]
    ) -> Iterator[tuple[At, str]]:
        """What a path found, and the same name in the module by whose name the path goes."""
        yield found
        for length in range(len(path) - 1, 0, -1):
            door = self.resolve(at, path[:length])
            if door and door[1] is None:
                yield (door[0], found[1])
                return

    def taken_by_glob(self, at: At, path: tuple[str, ...]) -> Iterator[tuple[At, str]]:
        inner = self.resolve(at, path)
        if inner is None or inner[0] == at:
            return
        if inner[1] is not None:
            yield (inner[0], inner[1])
            return
        for name in sorted(self.modules[at].names):
            found = self.lookup(inner[0], name, False, frozenset())
            if found and found[1] is not None:
                yield (found[0], found[1])
                yield (inner[0], found[1])


def read(source: Path) -> House:
    """The crate whose `lib.rs` is in this folder, without what only tests have.

    A whole room of test helpers, which `lib.rs` declares, is a part of the house.
    """
    house = House()
    _read(house, (), source, source / DOOR, source)
    return house


def _read(house: House, at: At, root: Path, file: Path, folder: Path) -> None:
    module = rust_source.read(file.read_text(encoding="utf-8"))
    house.add(at, module, file.relative_to(root).as_posix())
    names = [name for name, child in module.children.items() if child is None]
    if at == ():
        names += sorted(module.test_children)
    for name in names:
        beside, inside = folder / f"{name}.rs", folder / name / "mod.rs"
        _read(house, (*at, name), root, beside if beside.exists() else inside, folder / name)


def arrows(house: House) -> Arrows:
    """All arrows between files."""
    found: Arrows = {}
    for at in house.modules:
        own = {house.files[at[:length]] for length in range(len(at) + 1)}
        for target, name in house.taken(at):
            if house.files[target] not in own:
                found.setdefault((house.files[at], house.files[target]), set()).add(name)
    return found


def circles(of: Arrows) -> list[list[str]]:
    """The sets of files that reach each other, the largest first (Tarjan's algorithm)."""
    after: dict[str, list[str]] = {}
    for source, target in sorted(of):
        after.setdefault(source, []).append(target)
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(file: str) -> None:
        index[file] = low[file] = len(index)
        stack.append(file)
        for other in after.get(file, []):
            if other not in index:
                visit(other)
            if other in stack:
                low[file] = min(low[file], low[other])
        if low[file] == index[file]:
            at = stack.index(file)
            circle = sorted(stack[at:])
            del stack[at:]
            if len(circle) > 1:
                found.append(circle)

    for file in sorted(after):
        if file not in index:
            visit(file)
    return sorted(found, key=lambda circle: (-len(circle), circle))


def room(file: str) -> str:
    """The room that a file of the core belongs to."""
    first, *rest = file.removesuffix(".rs").split("/")
    return HELPER if HELPER in rest else first


def ways_up(of: Arrows, rooms: tuple[tuple[str, ...], ...] = ROOMS) -> list[str]:
    """Arrows to a room above or to a stranger, and rooms that are on no floor, each in a line."""
    floors = {name: floor for floor, names in enumerate(rooms) for name in names}
    found: set[str] = set()
    for (source, target), names in of.items():
        if source == DOOR:
            continue
        pair = {room(source), room(target)}
        if unknown := pair - set(floors):
            found.update(f"{name} is on no floor of the house" for name in unknown)
        elif len(pair) == 2 and pair in STRANGERS:
            found.add(f"strangers: {_line(source, target, names)}")
        elif floors[room(source)] < floors[room(target)]:
            found.add(f"up: {_line(source, target, names)}")
    return sorted(found)


def complaints(source: Path, rooms: tuple[tuple[str, ...], ...] = ROOMS) -> list[str]:
    """What breaks the house: its circles, each with the arrows that tie it, and its ways up."""
    of = arrows(read(source))
    found = []
    for circle in circles(of):
        found.append(f"circle of {len(circle)} files: {', '.join(circle)}")
        for (first, second), names in sorted(of.items()):
            if first in circle and second in circle:
                found.append(f"    {_line(first, second, names)}")
    return found + ways_up(of, rooms)


def _line(source: str, target: str, names: set[str]) -> str:
    return f"{source} -> {target}: {', '.join(sorted(names))}"


if __name__ == "__main__":
    print("\n".join(complaints(Path(__file__).parents[2] / "rust_core" / "src")))
