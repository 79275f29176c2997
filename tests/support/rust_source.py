"""One Rust source as a reader of imports sees it: what it declares, imports and names by paths.

No more of the language is read than that takes. What is compiled for tests only is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

TOKEN = re.compile(
    r"""
    (?P<skip>\s+|//[^\n]*)
  | (?P<comment>/\*)
  | (?P<raw>b?r(?P<hashes>\#*)".*?"(?P=hashes))
  | (?P<text>b?"(?:\\.|[^"\\])*"|b?'(?:\\[^\n]+?|[^\\'\n])')
  | (?P<lifetime>'\w+)
  | (?P<name>(?:r\#)?[A-Za-z_]\w*)
  | (?P<number>\d[\w.]*?(?=\.\.|[^\w.]|$))
  | (?P<sign>::|\#!|->|=>|.)
    """,
    re.VERBOSE | re.DOTALL,
)
NAME = re.compile(r"[A-Za-z_]\w*$")
OPEN, CLOSE = {"{": "}", "(": ")", "[": "]"}, {"}", ")", "]"}
"""What begins a group and what ends one."""
DECLARES = {"fn", "struct", "enum", "union", "trait", "type", "const", "static"}
ITEMS = {"use", "mod", "impl", "unsafe", "async", "extern", "macro_rules"}
"""What begins an item beside what declares a name."""
UNTIL_SEMICOLON = {"use", "const", "static", "type", "let"}
Path = tuple[str, ...]


@dataclass(frozen=True)
class Use:
    """One leaf of a `use` tree: a path, and the name that it has here (`*` for all of them)."""

    path: Path
    name: str
    is_public: bool


@dataclass
class Module:
    """What one module says in its own file, without its inline children."""

    declared: set[str] = field(default_factory=set)
    exported_macros: set[str] = field(default_factory=set)
    children: dict[str, Module | None] = field(default_factory=dict)
    """By name; None where the child has a file of its own."""
    test_children: set[str] = field(default_factory=set)
    """Children with files of their own that only tests have."""
    uses: list[Use] = field(default_factory=list)
    paths: set[Path] = field(default_factory=set)
    """Paths of two and more names outside `use`, and macros that are called by one name."""
    names: set[str] = field(default_factory=set)
    """All names that stand outside `use`."""


def tokens(text: str) -> list[str]:
    """The text without comments; what is in quotes is `""`."""
    found, at = [], 0
    while at < len(text):
        match = TOKEN.match(text, at)
        assert match is not None
        at = match.end()
        kind = match.lastgroup
        if kind == "comment":
            at = _end_of_comment(text, at)
        elif kind == "name":
            found.append(match.group().removeprefix("r#"))
        elif kind in ("text", "raw", "hashes"):
            found.append('""')
        elif kind == "sign":
            found.append(match.group())
    return found


def _end_of_comment(text: str, at: int) -> int:
    depth = 1
    for match in re.compile(r"/\*|\*/").finditer(text, at):
        depth += 1 if match.group() == "/*" else -1
        if depth == 0:
            return match.end()
    return len(text)


def read(text: str) -> Module:
    """The module that this text is."""
    module = Module()
    _Reader(tokens(text)).module(module, 0)
    return module


class _Reader:
    def __init__(self, found: list[str]) -> None:
        self.tokens = found

    def at(self, index: int) -> str:
        return self.tokens[index] if index < len(self.tokens) else ""

    def module(self, module: Module, index: int) -> int:
        """Reads to the brace that closes the module, and says where that is."""
        depth, is_test, is_exported, is_public = 0, False, False, False
        while index < len(self.tokens):
            token = self.tokens[index]
            if token in ("#", "#!") and "[" in (self.at(index + 1), token):
                end = self.group_end(index + 1)
                words = self.tokens[index + 2 : end]
                is_test = is_test or _is_of_tests(words)
                is_exported = is_exported or words == ["macro_export"]
                index = end + 1
                continue
            if token == "pub":
                is_public = True
                index = self.group_end(index + 1) + 1 if self.at(index + 1) == "(" else index + 1
                continue
            if is_test:
                index = self.test_item(module, index)
            elif token == "use":
                index = self.use(module, index + 1, is_public)
            elif token == "mod" and NAME.match(self.at(index + 1)):
                index = self.child(module, index + 1)
            else:
                if depth == 0:
                    self.declaration(module, index, is_exported)
                depth += (token in OPEN) - (token in CLOSE)
                if depth < 0:
                    return index
                index = self.names(module, index)
            is_test = is_exported = is_public = False
        return index

    def group_end(self, index: int) -> int:
        """Where the group that begins here ends."""
        depth = 0
        for end in range(index, len(self.tokens)):
            depth += (self.tokens[end] in OPEN) - (self.tokens[end] in CLOSE)
            if depth == 0:
                return end
        return len(self.tokens)

    def test_item(self, module: Module, index: int) -> int:
        """Steps over an item, a field, a variant or a statement that only tests have."""
        first = self.at(index)
        if first == "mod" and self.at(index + 2) == ";":
            module.test_children.add(self.at(index + 1))
        is_item = first in DECLARES | ITEMS
        has_block = first not in UNTIL_SEMICOLON or self.at(index + 1) == "fn"
        angles = 0
        while index < len(self.tokens):
            token = self.tokens[index]
            angles += (token == "<") - (token == ">")
            if token == ";" or (token == "," and not is_item and angles == 0):
                return index + 1
            if token in CLOSE:
                return index
            if token in OPEN:
                index = self.group_end(index)
                if token == "{" and has_block:
                    return index + 1
            index += 1
        return index

    def child(self, module: Module, index: int) -> int:
        name = self.at(index)
        if self.at(index + 1) == ";":
            module.children[name] = None
            return index + 2
        inline = Module()
        module.children[name] = inline
        return self.module(inline, index + 2) + 1

    def declaration(self, module: Module, index: int, is_exported: bool) -> None:
        token, following = self.tokens[index], self.at(index + 1)
        if token in DECLARES and NAME.match(following) and following not in DECLARES:
            module.declared.add(self.at(index + 2) if following == "mut" else following)
        if token == "macro_rules" and following == "!":
            module.declared.add(self.at(index + 2))
            if is_exported:
                module.exported_macros.add(self.at(index + 2))

    def names(self, module: Module, index: int) -> int:
        """Notes the path, macro or name that stands here, and steps over it."""
        if not NAME.match(self.tokens[index]):
            return index + 1
        path = [self.tokens[index]]
        while self.at(index + 1) == "::" and NAME.match(self.at(index + 2)):
            path.append(self.at(index + 2))
            index += 2
        if len(path) > 1 or self.at(index + 1) == "!":
            module.paths.add(tuple(path))
        module.names.add(path[0])
        return index + 1

    def use(self, module: Module, index: int, is_public: bool) -> int:
        end = self.tokens.index(";", index)
        for path, name in _leaves(self.tokens[index:end], ()):
            module.uses.append(Use(path, name, is_public))
        return end + 1


def _is_of_tests(attribute: list[str]) -> bool:
    """`cfg(test)` and `cfg(all(test, ..))`; what also the fuzzer compiles is no test."""
    return attribute[:3] == ["cfg", "(", "test"] or attribute[:5] == [
        "cfg",
        "(",
        "all",
        "(",
        "test",
    ]


def _leaves(tree: list[str], before: Path) -> Iterator[tuple[Path, str]]:
    """The paths of a `use` tree, each with the name that it gets."""
    for branch in _branches(tree):
        if "{" in branch:
            brace = branch.index("{")
            stem = tuple(name for name in branch[:brace] if name != "::")
            yield from _leaves(branch[brace + 1 : -1], before + stem)
            continue
        alias = branch[branch.index("as") + 1] if "as" in branch else None
        words = branch[: branch.index("as")] if alias else branch
        path = before + tuple(name for name in words if name != "::")
        if path[-1] == "self" and len(path) > 1:
            path = path[:-1]
        yield (path, alias or path[-1])


def _branches(tree: list[str]) -> Iterator[list[str]]:
    """The parts of a tree between the commas of its own level."""
    branch: list[str] = []
    depth = 0
    for token in tree:
        depth += (token == "{") - (token == "}")
        if token == "," and depth == 0:
            yield branch
            branch = []
        else:
            branch.append(token)
    if branch:
        yield branch
