"""`vcdebug completion`: completion scripts for shells, and kubectl's completion of `kubectl vcdebug`."""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from vcdebug.cli.commands import Command, CommandOutcome, load_all_commands
from vcdebug.cli.output import Output
from vcdebug.releases.release import release_names
from vcdebug.snapshot.sources import list_bundled

SHELLS = ("bash", "zsh", "fish")
BASH_SCRIPT = Path(__file__).with_suffix(".bash")
BASH_CASE = '      %s) words="%s" ;;'
ZSH_PREFIX = "autoload -U +X bashcompinit && bashcompinit\n"
FISH_COMMAND = "complete -c vcdebug -n __fish_use_subcommand -a %s -d '%s'"
FISH_WORD = "complete -c vcdebug -n '__fish_seen_subcommand_from %s' -a %s"
FISH_OPTION = "complete -c vcdebug -n '__fish_seen_subcommand_from %s' -l %s"


class CompletionCommand(Command):
    """Prints a script for a shell, which completes files itself."""

    HELP = "Print a shell completion script (bash, zsh, fish)"
    EXAMPLES = (
        "completion bash",
        "completion zsh",
        "completion fish",
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help=f"one of {', '.join(SHELLS)}")

    def execute(self, args: Namespace, output: Output) -> CommandOutcome:
        commands = load_all_commands()
        # The options come from argparse: a separate list would become outdated.
        options = {name: [*_long_options(command), *_snapshot_names(command)] for name, command in commands.items()}
        if args.shell == "fish":
            output.write_text("\n".join(_fish_lines(commands, options)))
            return CommandOutcome.DONE
        cases = "\n".join(BASH_CASE % (name, " ".join(words)) for name, words in options.items())
        blanks = {"commands": " ".join(options), "cases": cases, "releases": " ".join(release_names())}
        script = BASH_SCRIPT.read_text(encoding="utf-8") % blanks
        output.write_text((ZSH_PREFIX if args.shell == "zsh" else "") + script.rstrip())
        return CommandOutcome.DONE


def list_candidates(words: Sequence[str], commands: Mapping[str, Command]) -> list[str]:
    """The completions of the last word; none where only a file fits."""
    *before, word = words or [""]
    if not before:
        candidates = list(commands)
    elif before[-1] == "--release":
        candidates = list(release_names())
    elif before[0] in commands:
        candidates = [*_long_options(commands[before[0]]), *_snapshot_names(commands[before[0]])]
    else:
        candidates = []
    return [candidate for candidate in candidates if candidate.startswith(word)]


def _parser_of(command: Command) -> ArgumentParser:
    parser = ArgumentParser()
    command.add_arguments(parser)
    return parser


def _long_options(command: Command) -> Iterator[str]:
    for action in _parser_of(command)._actions:
        yield from (option for option in action.option_strings if option.startswith("--"))


def _snapshot_names(command: Command) -> Iterator[str]:
    """The bundled snapshots, where a command takes one."""
    if any("SNAPSHOT" in str(action.metavar) for action in _parser_of(command)._actions if not action.option_strings):
        yield from (snapshot.name for snapshot in list_bundled())


def _fish_lines(commands: Mapping[str, Command], options: Mapping[str, list[str]]) -> Iterator[str]:
    for name, command in commands.items():
        help_text = command.HELP.replace("'", "")
        yield FISH_COMMAND % (name, help_text)
        for word in options[name]:
            row = FISH_OPTION if word.startswith("--") else FISH_WORD
            yield row % (name, word.removeprefix("--"))


KUBECTL_DIRECTIVE = ":0"
"""Cobra's ShellCompDirectiveDefault: the shell adds file names."""


def complete_for_kubectl(argv: Sequence[str] | None = None) -> int:
    """Entry point of `kubectl_complete-vcdebug`: writes one candidate per line, then the directive."""
    commands = load_all_commands()
    words = list(sys.argv[1:] if argv is None else argv)
    Output().write_text("\n".join([*list_candidates(words, commands), KUBECTL_DIRECTIVE]))
    return 0
