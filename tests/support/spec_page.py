"""The page of the shapes that pass between the library and the core, made of their types.

`python -m tests.support.spec_page` writes `docs/spec.md`.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from advisor import hardware, spec
from tests.support.pages import WIDEST

PAGE = Path(__file__).parents[2] / "docs" / "spec.md"
LEFT_OUT = {"source"}
"""Fields of a device's file that the core does not get."""

HEAD = """\
# The spec of a run and its report

Made by `python -m tests.support.spec_page` from `advisor/spec.py` and the devices of
`advisor/hardware.py`; a test holds that it is what they say.

A spec is a plain dict, and so is a report. The core refuses unknown fields of a spec by name.
What was not measured is absent from a report.
"""

PLAIN = {
    r"Literal\[([^]]*)\]": r"\1",
    r"Annotated\[float, .*\]": "float",
    r"\bEngine\b": "str",
    r"\b(Size|Count)\b": "int",
    r"\b(Positive|Ratio)\b": "float",
    r" \| |, (?=')": " or ",
    "'": '"',
}
"""What a reader of the page need not know of Python's types."""


def page() -> str:
    """The whole page."""
    parts = [HEAD, "## What goes in\n"]
    parts += [_section(name) for name in ("Spec", *_reached("Spec"))]
    parts.append("## Devices\n\nThe `device` of a simulated machine is one of these.\n")
    parts += [_device(kind) for kind in ("DiskArray", "Flash", "CloudVolume")]
    parts.append("## What comes out\n")
    inside = [name for name in _reached("Report") if name not in _reached("Spec")]
    parts += [_section(name) for name in ("Report", *inside)]
    return "\n".join(parts)


def _section(name: str) -> str:
    return _table(name, shapes(spec)[name])


def _device(name: str) -> str:
    return _table(name, shapes(hardware)[name])


@dataclass(frozen=True)
class Shape:
    """A class as it stands in its source."""

    text: str
    fields: dict[str, tuple[str, str]]
    """Type and text by name."""


def _table(name: str, shape: Shape) -> str:
    """What a type is, and a row for each field, those of its bases first."""
    rows = [
        f"| `{field}` | {_shown(kind)} | {text} |"
        for field, (kind, text) in shape.fields.items()
        if field not in LEFT_OUT
    ]
    text = textwrap.fill(shape.text, WIDEST)
    head = [f"### {name}\n", f"{text}\n", "| field | type | |", "|---|---|---|"]
    return "\n".join([*head, *rows, ""])


def _shown(kind: str) -> str:
    """A type without what only Python needs; what may be absent says so."""
    may_be_absent = kind.startswith("NotRequired[")
    if may_be_absent:
        kind = kind.removeprefix("NotRequired[").removesuffix("]")
    for name, plain in PLAIN.items():
        kind = re.sub(name, plain, kind)
    return f"`{kind}`" + (", optional" if may_be_absent else "")


def shapes(module: ModuleType) -> dict[str, Shape]:
    """Every class of a module that has fields, its bases' included, and every TypedDict that is
    made by a call."""
    found: dict[str, Shape] = {}
    body = ast.parse(inspect.getsource(module)).body
    for node, after in zip(body, [*body[1:], None], strict=True):
        match node:
            case ast.ClassDef():
                fields = dict(_fields(node))
                for base in (ast.unparse(one) for one in node.bases):
                    fields = (found[base].fields if base in found else {}) | fields
                found[node.name] = Shape(_joined(ast.get_docstring(node) or ""), fields)
            case ast.Assign(
                value=ast.Call(func=ast.Name("TypedDict"), args=[_, ast.Dict() as keys])
            ):
                text = _text(after)
                fields = {
                    ast.literal_eval(key): (ast.unparse(kind), text)
                    for key, kind in zip(keys.keys, keys.values, strict=True)
                    if key is not None
                }
                found[ast.unparse(node.targets[0])] = Shape(text, fields)
    return found


def _fields(shape: ast.ClassDef) -> Iterator[tuple[str, tuple[str, str]]]:
    """Annotated fields: type, and the text that stands under it."""
    total = not any(one.arg == "total" for one in shape.keywords)
    for node, after in zip(shape.body, [*shape.body[1:], None], strict=True):
        if isinstance(node, ast.AnnAssign):
            kind = ast.unparse(node.annotation)
            yield (
                ast.unparse(node.target),
                (kind if total else f"NotRequired[{kind}]", _text(after)),
            )


def _text(node: ast.stmt | None) -> str:
    match node:
        case ast.Expr(ast.Constant(str(text))):
            return _joined(text)
    return ""


def _joined(text: str) -> str:
    return " ".join(text.split())


def _reached(name: str) -> list[str]:
    """Types that a type is made of, in the order in which they are met."""
    known, left = shapes(spec), [name]
    met: list[str] = []
    while left:
        one = left.pop(0)
        for kind, _ in known[one].fields.values():
            words = "".join(letter if letter.isalnum() else " " for letter in kind).split()
            new = [word for word in words if word in known and word not in met and word != name]
            met += new
            left += new
    return met


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
