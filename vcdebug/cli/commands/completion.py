"""`vcdebug completion`: what a shell needs to complete commands and options."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping

from vcdebug.cli.commands.base import Command, Outcome
from vcdebug.cli.output import Output

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
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o default -F _vcdebug vcdebug
"""
CASE = '      %s) words="%s" ;;'
ZSH = "autoload -U +X bashcompinit && bashcompinit\n"
FISH_COMMAND = "complete -c vcdebug -n __fish_use_subcommand -a %s -d '%s'"
FISH_OPTION = "complete -c vcdebug -n '__fish_seen_subcommand_from %s' -l %s"


class Completion(Command):
    """Prints a script that the shell reads; files are completed by the shell itself."""

    NAME = "completion"
    HELP = 'print a completion script: eval "$(vcdebug completion bash)", or zsh; vcdebug completion fish | source'

    def configure(self, parser: ArgumentParser) -> None:
        parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help=f"one of {', '.join(SHELLS)}")

    def execute(self, args: Namespace, output: Output) -> Outcome:
        commands: Mapping[str, Command] = args.commands
        options = {name: list(_options(command)) for name, command in commands.items()}
        if args.shell == "fish":
            output.text("\n".join(_fish(commands, options)))
            return Outcome.DONE
        cases = "\n".join(CASE % (name, " ".join(words)) for name, words in options.items())
        script = BASH % {"commands": " ".join(options), "cases": cases}
        output.text((ZSH if args.shell == "zsh" else "") + script.rstrip())
        return Outcome.DONE


def _options(command: Command) -> Iterator[str]:
    """Every long option of a command."""
    parser = ArgumentParser()
    command.configure(parser)
    for action in parser._actions:
        yield from (option for option in action.option_strings if option.startswith("--"))


def _fish(commands: Mapping[str, Command], options: Mapping[str, list[str]]) -> Iterator[str]:
    for name, command in commands.items():
        said = command.HELP.replace("'", "")
        yield FISH_COMMAND % (name, said)
        for option in options[name]:
            yield FISH_OPTION % (name, option.removeprefix("--"))
