"""``docs/reference/cli.md``: every command of ``kennel`` with its arguments and options."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import typer

from deploy.cli.main import app
from deploy.documentation.markdown import code, page, table, text
from kennel_client.cli import exit_codes

TYPES = {int: "integer", float: "number", Path: "path"}
OF_EVERY_COMMAND = """\
Every command and every group prints its help with `-h` or `--help`; arguments after `kennel kaggle` go to the official
client. `kennel --version` prints the version. `kennel --install-completion` installs completion of commands, options
and choices with the Tab key for your shell (bash, zsh, fish or PowerShell).

A command with `--json` prints one JSON document on standard output and nothing else. For an error it is
`{"problem": {"type": ..., "title": ...}}`. A command that prints a list has the option
`--format table`, `csv` or `json`. JSON and CSV are always in UTF-8."""
PASSED_ON = "Arguments are passed to the official client unchanged."


def commands_page() -> str:
    """The page: exit statuses, then a section for each command."""
    statuses = ((str(status.value), text(meaning)) for status, meaning in exit_codes.EXIT_CODE_TEXTS.items())
    return page(
        "The `kennel` command",
        OF_EVERY_COMMAND,
        "## Exit statuses",
        table(("status", "meaning"), statuses),
        *(part for name, command in all_commands().items() for part in _section(name, command)),
    )


@cache
def all_commands() -> dict[str, Any]:
    """Every command by its full name: ``kennel up``, ``kennel admin competition create``, ..."""
    return dict(_commands(typer.main.get_command(app), "kennel"))


def _commands(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    """The commands below this one, without groups, in the order of ``--help``."""
    if not hasattr(command, "commands"):
        yield name, command
        return
    for parameter, inner in command.commands.items():
        yield from _commands(inner, f"{name} {parameter}")


def _section(name: str, command: Any) -> Iterator[str]:
    yield f"## {name}"
    yield "\n\n".join(text(paragraph) for paragraph in (command.help or "").split("\n\n"))
    parameters = [
        parameter
        for parameter in command.params
        if parameter.name != "help" and not getattr(parameter, "hidden", False)
    ]
    if command.ignore_unknown_options and command.allow_extra_args:
        yield PASSED_ON
    if parameters:
        yield table(("argument", "type", "default", "meaning"), [_row(parameter) for parameter in parameters])


def _row(parameter: Any) -> tuple[str, str, str, str]:
    argument = parameter.param_type_name == "argument"
    names = [parameter.metavar or parameter.name.upper()] if argument else [*parameter.opts, *parameter.secondary_opts]
    usage = ", ".join(code(name) for name in names) + (" ..." if parameter.nargs == -1 or parameter.multiple else "")
    variable = f" ({code(parameter.envvar)})" if getattr(parameter, "envvar", None) else ""
    return usage + variable, _type(parameter), _default(parameter), text(getattr(parameter, "help", None))


def _type(parameter: Any) -> str:
    """The type of a parameter as text, with bounds or choices."""
    annotation = parameter.type_descriptor.annotation
    if getattr(parameter, "is_flag", False):
        return "flag"
    if get_origin(annotation) is Literal:
        return " or ".join(code(choice) for choice in get_args(annotation))
    name = TYPES.get(annotation, "text")
    if get_origin(annotation) is tuple:
        name = f"{parameter.nargs} numbers"
    bounds = [
        f"{sign} {bound}"
        for sign, bound in (("at least", parameter.min), ("at most", parameter.max))
        if bound is not None
    ]
    return text(", ".join([name, *bounds]))


def _default(parameter: Any) -> str:
    if parameter.required:
        return "**required**"
    default = parameter.default
    if default is None or default is False or default in ("", [], ()):
        return ""
    return code("on" if default is True else default)
