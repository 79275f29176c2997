"""The two faces of the workbench: one theme for dark terminals, one for light ones.

Amber marks what is best or recommended, teal the LSM engine, violet the B-tree: the charts and
tables use the same three everywhere.
"""

from textual.theme import Theme

DARK = Theme(
    name="tunebench",
    dark=True,
    primary="#4fb3a6",
    secondary="#8b93a7",
    accent="#e0a458",
    background="#14171c",
    surface="#1a1e25",
    panel="#232832",
    foreground="#d9dde5",
    success="#7fbf7a",
    warning="#e0a458",
    error="#e06c75",
    variables={
        "lsm": "#4fb3a6",
        "btree": "#a991d4",
        "best": "#e0a458",
        "border": "#343b48",
        "border-blurred": "#343b48",
        "footer-key-foreground": "#e0a458",
        "footer-description-foreground": "#a7aebd",
        "footer-background": "#14171c",
        "block-cursor-background": "#2f4a4f",
        "block-cursor-foreground": "#ffffff",
        "block-cursor-text-style": "none",
        "block-cursor-blurred-background": "#262c36",
        "input-selection-background": "#4fb3a6 35%",
    },
)

LIGHT = Theme(
    name="tunebench-light",
    dark=False,
    primary="#1f7a70",
    secondary="#5d6678",
    accent="#a8641a",
    background="#f7f6f2",
    surface="#fdfcf9",
    panel="#ecebe5",
    foreground="#23272f",
    success="#3d7a39",
    warning="#a8641a",
    error="#b3323d",
    variables={
        "lsm": "#1f7a70",
        "btree": "#6d4fa8",
        "best": "#a8641a",
        "border": "#cfccc2",
        "border-blurred": "#cfccc2",
        "footer-key-foreground": "#a8641a",
        "footer-description-foreground": "#5d6678",
        "footer-background": "#f7f6f2",
        "block-cursor-background": "#cfe5e0",
        "block-cursor-foreground": "#10302c",
        "block-cursor-text-style": "none",
        "block-cursor-blurred-background": "#e4e2da",
        "input-selection-background": "#1f7a70 30%",
    },
)

DEFAULT_COLOURS = {"lsm": "#4fb3a6", "btree": "#a991d4", "best": "#e0a458"}


def colour(variables: dict[str, str], name: str) -> str:
    """A named colour of the current theme; ours where the theme does not name it."""
    return variables.get(name) or DEFAULT_COLOURS.get(name, "default")
