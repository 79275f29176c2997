"""Every command and every option says what it is for."""

import typer

from tui.cli import app


def _commands() -> list[tuple[str, object]]:
    group = typer.main.get_command(app)
    return [("tunebench", group), *group.commands.items()]


def test_every_command_has_a_sentence_of_its_own() -> None:
    silent = [name for name, command in _commands() if not (command.help or "").strip()]
    assert silent == []


def test_every_option_and_argument_has_a_help_text() -> None:
    silent = [
        f"{name} {parameter.name}"
        for name, command in _commands()
        for parameter in command.params
        if not getattr(parameter, "help", None)
    ]
    assert silent == []


def test_an_option_means_the_same_everywhere() -> None:
    """Some are worded by what the command does with them."""
    own = {"--study", "--engine", "--seconds", "--runs", "--profile", "--force"}
    texts: dict[str, set[str]] = {}
    for _, command in _commands():
        for parameter in command.params:
            for flag in parameter.opts:
                if flag.startswith("--") and flag not in own:
                    texts.setdefault(flag, set()).add(getattr(parameter, "help", "") or "")
    assert {flag: said for flag, said in texts.items() if len(said) > 1} == {}
