"""Lazy groups of commands: calling a command imports the command."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Annotated, Any, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup

from .. import __version__

# By panel, command name, module and help line.
CommandPanels = Mapping[str, Mapping[str, tuple[str, str]]]


class LazyGroup(TyperGroup):
    """A group that imports a command when the command is called."""

    panels: ClassVar[CommandPanels] = {}

    @property
    def modules(self) -> dict[str, str]:
        """The module of every command."""
        return {
            name: module
            for commands in self.panels.values()
            for name, (module, _) in commands.items()
        }

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all commands."""
        return [*self.modules]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command; for an unknown name, import all commands, for suggestions, and return
        None."""
        modules = self.modules
        if cmd_name in modules and cmd_name not in self.commands:
            module = import_module(f".{modules[cmd_name]}", __package__)
            group = typer.main.get_group(module.commands)
            self.commands.update(group.commands)
        # Import all commands, so that an error message can suggest similar names.
        if cmd_name not in modules:
            for name in modules:
                self.get_command(ctx, name)
        return self.commands.get(cmd_name)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help without importing any command."""
        lines = {
            name: TyperCommand(name=name, help=line, rich_help_panel=title)
            for title, panel in self.panels.items()
            for name, (_, line) in panel.items()
        }
        settings = {"name": self.name, "help": self.help, "params": self.params}
        TyperGroup(commands=lines, **settings).format_help(ctx, formatter)  # type: ignore[arg-type]


def lazy_command_line(panels: CommandPanels) -> typer.Typer:
    """Return the command line with the commands of all panels. ``panels``: by panel of the help and
    command name, the module in this package and the help line."""
    group = typer.Typer(
        cls=type("Commands", (LazyGroup,), {"panels": panels}),
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        help="Compare neural-network representations with tested similarity measures, p-values and "
        "intervals. Begin with: resemblance demo --small --open",
    )
    group.callback(invoke_without_command=True)(_root_callback)
    return group


def _root_callback(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", is_eager=True)
    ] = False,
) -> None:
    if version:
        print(f"resemblance {__version__}")
        raise typer.Exit()
