"""Walks a page of `advisor.html`: asks for every number again, where it says that it is stored."""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from html.parser import HTMLParser
from operator import attrgetter
from typing import Any

from advisor.memory_need import needed_parts
from advisor.recommend import Recommendation
from advisor.search import Study
from advisor.store import Store

VOID = ("meta", "link", "br", "img")
WORDS = ("code", "said", "svg", "style", "title", "data")
"""Elements and classes in which digits are names, or words that follow from what is stored."""
_TAKEN = {"median": statistics.median, "low": min, "high": max, "count": len}


@dataclass(frozen=True)
class Shown:
    """A number of the page."""

    text: str
    value: str
    source: Mapping[str, str]


@dataclass
class Page(HTMLParser):
    """What is on a page: numbers, texts outside of them, and what it would ask others for."""

    text: str
    numbers: list[Shown] = field(default_factory=list)
    loose: list[str] = field(default_factory=list)
    """Texts with digits that are neither numbers nor names."""
    addresses: list[str] = field(default_factory=list)
    scripts: int = 0

    def __post_init__(self) -> None:
        super().__init__()
        self._open: list[tuple[str, dict[str, str]]] = []
        self._said = ""
        self.feed(self.text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        told = {name: value or "" for name, value in attributes}
        self.scripts += tag == "script" or any(name.startswith("on") for name in told)
        links = (value for name, value in told.items() if name in ("src", "href", "xlink:href"))
        self.addresses += [one for one in links if not one.startswith("#")]
        if tag == "data":
            self._said = ""
        if tag not in VOID:
            self._open.append((tag, told))

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self._open.pop()

    def handle_endtag(self, tag: str) -> None:
        name, told = self._open.pop()
        assert name == tag, f"</{tag}> closes <{name}>"
        if tag == "data":
            around: dict[str, str] = {}
            for _, one in self._open:
                around |= {k: v for k, v in one.items() if k.startswith("data-")}
            own = {k: v for k, v in told.items() if k.startswith("data-")}
            source = {k.removeprefix("data-"): v for k, v in (around | own).items()}
            self.numbers.append(Shown(self._said, told["value"], source))

    def handle_data(self, data: str) -> None:
        self._said += data
        words = any(tag in WORDS or told.get("class") in WORDS for tag, told in self._open)
        if not words and re.search(r"\d", data):
            self.loose.append(data)


@dataclass(frozen=True)
class Stored:
    """What the results file says of a number."""

    store: Store
    study: Study
    advice: Recommendation

    def value(self, shown: Shown) -> object:
        """The value of a number, as it is stored."""
        source = shown.source
        if "formula" in source:
            return self._computed(source)
        table, name = source.get("table", "trial_metric"), source["name"]
        if table == "study":
            return self._tables["study"][source["key"]][name]
        if table == "verified":
            session, place, metric = source["key"].split()
            return self._tables["verified"][session, int(place), metric][name]
        found = [
            self._of_trial(table, trial, name, source.get("key"))
            for trial in source["trial"].split()
        ]
        return _TAKEN[source["as"]](found) if "as" in source else found[0]

    def _of_trial(self, table: str, trial: str, name: str, key: str | None) -> Any:
        if table == "endurance":
            return self._tables[table][trial][name]
        if table != "trial":
            return self._tables[table][(trial, key, name) if key else (trial, name)]
        row = self._tables["trial"][trial]
        return json.loads(row["settings"])[key] if key else row[name]

    @cached_property
    def _tables(self) -> dict[str, dict[Any, Any]]:
        """Each table by what its rows are named with."""
        long = ("trial_metric", "trial_operation", "trial_bytes")
        found: dict[str, dict[Any, Any]] = {
            name: {
                (str(trial), *rest): value
                for trial, *rest, value in self.store.sql(f"SELECT * FROM {name}").rows
            }
            for name in long
        }
        for name, keys in (
            ("study", ("name",)),
            ("trial", ("id",)),
            ("endurance", ("trial",)),
            ("verified", ("session", "place", "metric")),
        ):
            answer = self.store.sql(f"SELECT * FROM {name}")
            rows = [dict(zip(answer.columns, row, strict=True)) for row in answer.rows]
            found[name] = {_key([row[key] for key in keys]): row for row in rows}
        return found

    def _computed(self, source: Mapping[str, str]) -> object:
        """What follows from the stored question and settings."""
        name, profile = source["name"], self.study.profile
        if source["formula"] == "importance":
            return self.study.importance(source["key"])[name]  # type: ignore[index]
        if source["formula"] == "memory":
            r = self.advice
            parts = needed_parts(profile, r.engine, r.settings)
            return sum(one.bytes for one in parts if name in ("together", one.name))
        return attrgetter(name)(profile)


def _key(values: list[Any]) -> Any:
    """Ids are texts on the page."""
    told = tuple(one if isinstance(one, int) else str(one) for one in values)
    return told if len(told) > 1 else told[0]


def same(shown: Shown, stored: object) -> bool:
    """Whether a number of the page is the stored one, to the digit."""
    if isinstance(stored, float):
        return abs(float(shown.value) - stored) <= 1e-9 * max(1.0, abs(stored))
    return shown.value in (str(stored), json.dumps(stored))
