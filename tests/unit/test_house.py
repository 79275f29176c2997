"""The core keeps its rooms: no circle of files, and nobody knows a room above their own."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import house

ROOT = Path(__file__).parents[2]
CORE = ROOT / "rust_core" / "src"
ROOMS = (("ground",), ("left", "right"), ("top",))


def built(folder: Path, **files: str) -> Path:
    """A small crate: `a__b="..."` is the file `a/b.rs`."""
    for name, text in files.items():
        path = folder / f"{name.replace('__', '/')}.rs"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def arrows(folder: Path, **files: str) -> dict[tuple[str, str], set[str]]:
    return house.arrows(house.read(built(folder, **files)))


def test_the_core_keeps_its_rooms() -> None:
    found = house.complaints(CORE)
    assert found == [], "\n".join(found)


def test_every_file_of_the_core_is_read() -> None:
    read = set(house.read(CORE).files.values())
    files = {path.relative_to(CORE).as_posix() for path in CORE.rglob("*.rs")}
    only_for_tests = {file for file in files - read if "tests" not in file}
    assert all("cfg(test)" in _declaration(file) for file in only_for_tests)


def _declaration(file: str) -> str:
    """The line of a door that declares a file, and the line above it."""
    path = CORE / file
    folder, name = (
        (path.parent.parent, path.parent.name) if path.stem == "mod" else (path.parent, path.stem)
    )
    doors = [folder / "mod.rs", folder / "lib.rs", folder.with_suffix(".rs")]
    text = "\n".join(door.read_text(encoding="utf-8") for door in doors if door.exists())
    before, _, _ = text.partition(f"mod {name};")
    return "\n".join(before.splitlines()[-2:])


def test_a_circle_is_found_with_what_ties_it(tmp_path: Path) -> None:
    source = built(
        tmp_path,
        lib="mod ground;",
        ground__mod="mod a; mod b; mod c;",
        ground__a="use super::b::B; pub struct A(B);",
        ground__b="pub struct B; impl B { fn c() { super::c::make::<u8>() } }",
        ground__c="use crate::ground::{a::{self, A as Other}}; pub fn make() {}",
    )
    assert house.complaints(source, ROOMS) == [
        "circle of 3 files: ground/a.rs, ground/b.rs, ground/c.rs",
        "    ground/a.rs -> ground/b.rs: B",
        "    ground/b.rs -> ground/c.rs: make",
        "    ground/c.rs -> ground/a.rs: A",
    ]


def test_an_import_that_goes_up_is_found(tmp_path: Path) -> None:
    source = built(
        tmp_path,
        lib="mod ground; mod top;",
        ground="use crate::top::Roof;",
        top="pub struct Roof;",
    )
    assert house.complaints(source, ROOMS) == ["up: ground.rs -> top.rs: Roof"]


def test_an_import_that_goes_down_is_none(tmp_path: Path) -> None:
    source = built(
        tmp_path,
        lib="mod ground; mod top;",
        ground="pub struct Floor;",
        top="use crate::ground::Floor;",
    )
    assert house.complaints(source, ROOMS) == []


def test_strangers_on_one_floor_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(house, "STRANGERS", ({"left", "right"},))
    source = built(
        tmp_path, lib="mod left; mod right;", left="use crate::right::R;", right="pub struct R;"
    )
    assert house.complaints(source, ROOMS) == ["strangers: left.rs -> right.rs: R"]


def test_what_a_room_gives_the_fuzzer_is_of_the_fuzzers_room() -> None:
    assert [house.room(file) for file in ("lsm/fuzz.rs", "lsm/db.rs", "run.rs", "fuzz/mod.rs")] == [
        "fuzz",
        "lsm",
        "run",
        "fuzz",
    ]


def test_a_room_that_is_on_no_floor_is_found(tmp_path: Path) -> None:
    source = built(
        tmp_path, lib="mod ground; mod shed;", ground="use crate::shed::S;", shed="pub struct S;"
    )
    assert house.complaints(source, ROOMS) == ["shed is on no floor of the house"]


def test_a_re_exported_name_leads_to_the_door_and_to_the_file_behind_it(tmp_path: Path) -> None:
    found = arrows(
        tmp_path,
        lib="mod ground; mod top;",
        ground__mod="mod inner; pub use inner::*;",
        ground__inner__mod="mod deep; pub use deep::Thing;",
        ground__inner__deep="pub struct Thing;",
        top="use crate::ground::Thing;",
    )
    assert found == {
        ("top.rs", "ground/mod.rs"): {"Thing"},
        ("top.rs", "ground/inner/deep.rs"): {"Thing"},
    }


def test_a_door_knows_those_children_that_its_own_code_uses(tmp_path: Path) -> None:
    found = arrows(
        tmp_path,
        lib="mod ground;",
        ground="mod a; mod b; mod c; pub use a::A; pub use b::B; fn f(b: B) { c::g() }",
        ground__a="pub struct A;",
        ground__b="pub struct B;",
        ground__c="use super::f; pub fn g() {}",
    )
    assert found == {("ground.rs", "ground/b.rs"): {"B"}, ("ground.rs", "ground/c.rs"): {"g"}}


def test_a_name_that_a_parent_imported_leads_to_where_it_is_defined(tmp_path: Path) -> None:
    found = arrows(
        tmp_path,
        lib="mod ground; mod top;",
        ground="pub struct Floor;",
        top__mod="mod a; use crate::ground::Floor;",
        top__a="use super::*; fn f(floor: Floor) {}",
    )
    assert found[("top/a.rs", "ground.rs")] == {"Floor"}


@pytest.mark.parametrize(
    "use",
    ["use crate::table; table! {}", "crate::table! {}", "fn f() { crate::table!() }", "table! {}"],
)
def test_an_exported_macro_leads_to_the_file_that_defines_it(tmp_path: Path, use: str) -> None:
    found = arrows(
        tmp_path,
        lib="mod ground; mod top;",
        ground__mod="mod macros;",
        ground__macros="#[macro_export]\nmacro_rules! table { () => { $crate::top::Top } }",
        top=f"{use} struct Top;",
    )
    assert found == {
        ("top.rs", "ground/macros.rs"): {"table"},
        ("ground/macros.rs", "top.rs"): {"Top"},
    }


def test_what_only_tests_import_makes_no_arrow(tmp_path: Path) -> None:
    found = arrows(
        tmp_path,
        lib="mod ground; mod top;",
        ground="""
            #[cfg(test)] use crate::top::Roof;
            struct Kept { #[cfg(test)] roof: crate::top::Roof, size: usize }
            impl Kept { #[cfg(test)] fn f(&self) -> [crate::top::Roof; 1] { crate::top::g() } }
            #[cfg(test)] pub(crate) fn h<A, B>(a: A) -> Map<A, crate::top::Roof> { crate::top::g() }
            #[cfg(test)] const fn k() { crate::top::g() }
            enum Kind { #[cfg(test)] Map(Map<A, crate::top::Roof>), Other }
            #[cfg(test)] mod other;
            #[cfg(test)] mod tests { use crate::top::Roof; }
        """,
        ground__other="use crate::top::Roof;",
        top="pub struct Roof; pub fn g() {}",
    )
    assert found == {}


def test_comments_and_strings_make_no_arrow(tmp_path: Path) -> None:
    found = arrows(
        tmp_path,
        lib="mod ground; mod top;",
        ground="""
            // use crate::top::Roof;
            /* /* crate::top::Roof */ crate::top::Roof */
            /// [`crate::top::Roof`]
            fn f<'a>() -> &'a str { let q = '"'; "crate::top::Roof"; r#"a"crate::top::Roof"# }
        """,
        top="pub struct Roof;",
    )
    assert found == {}


def test_the_library_and_the_terminal_keep_their_contracts() -> None:
    linter = Path(sys.executable).parent / "lint-imports"
    assert linter.exists(), "import-linter is not installed beside this Python"
    done = subprocess.run(
        [linter, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_line_of_the_core_is_wider_than_the_page() -> None:
    """`cargo fmt` does not reach texts, comments and what macros hide."""
    root = ROOT
    sources = [*root.glob("rust_core/src/**/*.rs"), *root.glob("rust_core/benches/*.rs")]
    wide = [
        f"{path.relative_to(root)}:{number}"
        for path in sources
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if len(line) > 120
    ]
    assert wide == []
