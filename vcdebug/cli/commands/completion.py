"""`vcdebug completion`: what a shell needs to complete commands and options."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence

from vcdebug.cli.commands.base import Command, Outcome
from vcdebug.cli.output import Output
from vcdebug.releases.release import names
from vcdebug.snapshot.bundled import bundled

SHELLS = ("bash", "zsh", "fish")
BASH = """_vcdebug() {
  local word="${COMP_WORDS[COMP_CWORD]}" words
  if [ "$COMP_CWORD" -eq 1 ]; then
    words="%(commands)s"
  else
    case "${COMP_WORDS[1]}" in
%(cases)s
    esac
  fi
  case "${COMP_WORDS[COMP_CWORD-1]}" in
    --release) words="%(releases)s" ;;
    --context) words="$(kubectl config get-contexts -o name 2>/dev/null)" ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$word") $([[ "$COMP_CWORD" -eq 1 || "$word" == -* ]] || compgen -f -- "$word"))
}
complete -o filenames -o default -F _vcdebug vcdebug kubectl-vcdebug
"""
CASE = '      %s) words="%s" ;;'
ZSH = "autoload -U +X bashcompinit && bashcompinit\n"
FISH_COMMAND = "complete -c vcdebug -n __fish_use_subcommand -a %s -d '%s'"
FISH_WORD = "complete -c vcdebug -n '__fish_seen_subcommand_from %s' -a %s"
FISH_OPTION = "complete -c vcdebug -n '__fish_seen_subcommand_from %s' -l %s"


class Completion(Command):
    """Prints a script that the shell reads; files are completed by the shell itself."""

    HELP = 'print a completion script: eval "$(vcdebug completion bash)", or zsh; vcdebug completion fish | source'

    def configure(self, parser: ArgumentParser) -> None:
        parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help=f"one of {', '.join(SHELLS)}")

    def execute(self, args: Namespace, output: Output) -> Outcome:
        from vcdebug.cli.commands import every_command

        commands = every_command()
        options = {name: [*_options(command), *_snapshots(command)] for name, command in commands.items()}
        if args.shell == "fish":
            output.text("\n".join(_fish(commands, options)))
            return Outcome.DONE
        cases = "\n".join(CASE % (name, " ".join(words)) for name, words in options.items())
        script = BASH % {"commands": " ".join(options), "cases": cases, "releases": " ".join(names())}
        output.text((ZSH if args.shell == "zsh" else "") + script.rstrip())
        return Outcome.DONE


def candidates(words: Sequence[str], commands: Mapping[str, Command]) -> list[str]:
    """What may stand for the last of the words; nothing where only a file may."""
    *before, word = words or [""]
    if not before:
        found = list(commands)
    elif before[-1] == "--release":
        found = list(names())
    elif before[0] in commands:
        found = [*_options(commands[before[0]]), *_snapshots(commands[before[0]])]
    else:
        found = []
    return [one for one in found if one.startswith(word)]


def _parser_of(command: Command) -> ArgumentParser:
    parser = ArgumentParser()
    command.configure(parser)
    return parser


def _options(command: Command) -> Iterator[str]:
    """Every long option of a command."""
    for action in _parser_of(command)._actions:
        yield from (option for option in action.option_strings if option.startswith("--"))


def _snapshots(command: Command) -> Iterator[str]:
    """The bundled snapshots, where a command takes one."""
    if any("SNAPSHOT" in str(action.metavar) for action in _parser_of(command)._actions if not action.option_strings):
        yield from (one.name for one in bundled())


def _fish(commands: Mapping[str, Command], options: Mapping[str, list[str]]) -> Iterator[str]:
    for name, command in commands.items():
        said = command.HELP.replace("'", "")
        yield FISH_COMMAND % (name, said)
        for word in options[name]:
            row = FISH_OPTION if word.startswith("--") else FISH_WORD
            yield row % (name, word.removeprefix("--"))
