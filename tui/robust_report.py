"""A robustness on paper: a row for each candidate, a column for each neighbour."""

from typing import Any

import typer

from advisor.robust import Neighbour, Robustness, cell, head, sentences, worst_cell
from tui.output import Column, plain, print_table


def print_robustness(found: Robustness) -> None:
    """The table, and what follows from it, on stdout."""
    typer.echo(typer.style(f"study {found.study} at its neighbours", bold=True))
    typer.echo(typer.style(head(found), dim=True))
    points = range(len(found.points))
    columns = [Column("settings"), *(Column(one.name, right=True) for one in found.points)]
    rows = [
        [
            one.contender.name,
            *(cell(found, one, point) for point in points),
            worst_cell(found, one),
        ]
        for one in found.tried
    ]
    print_table([*columns, Column("worst")], rows)
    typer.echo()
    for sentence in sentences(found):
        typer.echo(sentence)


def point_words(number: int, of: int, point: Neighbour) -> str:
    """What runs next."""
    return f"{number:>4}/{of}  {point.name}"


def document(found: Robustness) -> dict[str, Any]:
    """The answer for `--json`: parts of the best, and medians of the goal's metric."""
    metric = found.goal.metric
    points = range(len(found.points))
    return {
        "study": found.study,
        "session": found.session,
        "goal": str(found.goal),
        "clock": "simulated",
        "radius": found.radius,
        "ending": found.ending,
        "no_mix": found.no_mix or None,
        "points": [{"name": one.name, "divergence": one.divergence} for one in found.points],
        "candidates": [
            {
                "name": one.contender.name,
                "engine": one.contender.engine,
                "settings": dict(one.contender.settings),
                "parts": [found.part(one, point) for point in points],
                metric: [
                    known.score(found.goal) if (known := one.at(point)) is not None else None
                    for point in points
                ],
                "remarks": [one.why_not(point) or None for point in points],
                "worst": found.points[found.worst(one)].name,
            }
            for one in found.tried
        ],
        "choice": found.choice.contender.name,
        "stake": found.points[found.stake(found.choice)].name,
        "out_of_reach": [found.points[point].name for point in found.out_of_reach],
        "noise": [plain(found.noise(point)) for point in points],
        "refuted": [one.contender.name for one in found.refuted],
        "minimax": found.minimax.contender.name,
        "against_recommended": {
            found.points[point].name: plain(found.against_recommended(found.choice, point))
            for point in found.decisive(found.choice)
        },
        "sentences": sentences(found),
    }
