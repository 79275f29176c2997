"""Runs the code of a notebook, cell by cell, in one namespace.

A kernel (nbclient, ipykernel and thirty packages below them) would bring a process and sockets to
every test run and nothing that is claimed here: that the cells run, and that what they end with can
be shown.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def cells(path: Path) -> Iterator[str]:
    """The code of each cell."""
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            yield "".join(cell["source"])


def run(path: Path) -> list[str]:
    """What the cells show: the last expression of each, as HTML where it has any."""
    shown: list[str] = []
    names: dict[str, Any] = {"__name__": "__main__"}
    for number, code in enumerate(cells(path), 1):
        body = ast.parse(code, f"{path.name}, cell {number}").body
        last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
        exec(compile(ast.Module(body, []), f"{path.name}, cell {number}", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), path.name, "eval"), names)
            drawn = getattr(value, "_repr_html_", None)
            shown.append(drawn() if drawn else repr(value))
    return shown
