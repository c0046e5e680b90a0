"""Groups that import a command only when it is called, so that ``--help`` and completion stay fast."""

from collections import UserDict
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup


class ListedCommand(TyperCommand):
    """A command as its group lists it. ``load`` imports and returns the command or group."""

    def __init__(
        self, name: str, text: str, load: Callable[[], Any], *, panel: str | None = None, hidden: bool = False
    ) -> None:
        super().__init__(name, help=text, rich_help_panel=panel, hidden=hidden)
        self.load = load


class Commands(UserDict[str, Any]):
    """The commands of a group by name; loads a listed command on access."""

    def __getitem__(self, name: str) -> Any:
        listed = super().__getitem__(name)
        if not isinstance(listed, ListedCommand):
            return listed
        command = self.data[name] = listed.load()
        command.hidden, command.rich_help_panel = listed.hidden, listed.rich_help_panel
        return command


class ListingGroup(TyperGroup):
    """A group that starts with the commands in ``listed``."""

    listed: ClassVar[Sequence[TyperCommand]] = ()

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        own = dict(self.commands)
        self.commands: Any = Commands({**own, **{str(command.name): command for command in self.listed}})

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        return list(self.commands)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        """The command or its listed form; None if there is none."""
        return self.commands.data.get(cmd_name)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse as any group, without importing pydantic, which Typer uses to convert flags that are None."""
        for parameter in self.get_params(ctx):
            if getattr(parameter, "is_flag", False) and parameter.default is None:
                parameter.default = False
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        return name, command if name is None else self.commands[name], rest


def listing(group: type[ListingGroup], commands: Sequence[TyperCommand]) -> type[ListingGroup]:
    """A subclass of ``group`` with these commands."""
    return type(group.__name__, (group,), {"listed": commands})


def group_in(module: str) -> TyperGroup:
    return typer.main.get_group(import_module(module).app)


def command_in(module: str, name: str) -> Any:
    return group_in(module).commands[name]
