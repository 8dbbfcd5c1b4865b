"""`make docs`: writes docs/commands.md, the options of every command, from the argument parsers."""

from argparse import Action, ArgumentParser
from collections.abc import Iterator
from pathlib import Path

from vcdebug.cli.commands import Command, load_all_commands
from vcdebug.cli.main import needed_words

PAGE = Path(__file__).parents[2] / "docs" / "commands.md"

HEAD = """# Commands

This page is generated (`make docs`) from the commands of the program: `vcdebug COMMAND --help` prints the same.
Without a command, `vcdebug` opens the debugger. `vcdebug --version` prints the version. [Exit codes](exit-codes.md)
compares the codes of all commands; [snapshot formats](snapshot-formats.md) says what SNAPSHOT can be.
"""


def page() -> str:
    """The whole page."""
    commands = load_all_commands()
    index = [f"- [`{name}`](#{name}): {_prose(command.HELP)}" for name, command in commands.items()]
    sections = [line for name, command in commands.items() for line in _section(name, command)]
    return "\n".join([HEAD, *index, "", *sections])


def _section(name: str, command: Command) -> Iterator[str]:
    parser = ArgumentParser(prog=f"vcdebug {name}", add_help=False)
    command.add_arguments(parser)
    # argparse has no public list of options, and the layout of its help text depends on the Python version
    arguments = parser._actions
    positional = " ".join(needed_words(parser))
    yield f"## {name}\n"
    yield f"{_sentence(command.HELP)}\n"
    yield f"```text\nvcdebug {name} {'[OPTIONS] ' if len(arguments) else ''}{positional}".rstrip() + "\n```\n"
    yield "```console\n" + "\n".join(f"$ vcdebug {line}" for line in command.EXAMPLES) + "\n```\n"
    yield from _table(arguments)
    yield f"{_sentence(command.EXITS)}\n"


def _table(arguments: list[Action]) -> Iterator[str]:
    if arguments:
        yield "| argument | does |\n|---|---|"
        for one in arguments:
            yield f"| {_names(one)} | {_prose(one.help or '')} |"
        yield ""


def _names(one: Action) -> str:
    """The names of an option, the last one with its value."""
    if not one.option_strings:
        return f"`{one.metavar}`"
    value = one.metavar or one.dest.upper()
    value = "" if one.nargs == 0 else f" [{value}]" if one.nargs == "?" else f" {value}"
    return ", ".join([*(f"`{name}`" for name in one.option_strings[:-1]), f"`{one.option_strings[-1]}{value}`"])


def _prose(text: str) -> str:
    """A help text as Markdown in a table cell: `|` and tags are escaped."""
    return text.replace("%%", "%").replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")


def _sentence(text: str) -> str:
    text = _prose(text)
    return f"{text[0].upper()}{text[1:]}" + ("" if text.endswith(".") else ".")


def main() -> None:
    PAGE.write_text(page(), encoding="utf-8")
    print(PAGE.relative_to(PAGE.parents[1]))


if __name__ == "__main__":
    main()
