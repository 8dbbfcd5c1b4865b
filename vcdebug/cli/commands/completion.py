"""`vcdebug completion`: completion scripts for shells, and kubectl's completion of `kubectl vcdebug`."""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from vcdebug.cli.commands import Command, CommandOutcome, load_all_commands
from vcdebug.cli.commands.ask import QUESTION_NAMES
from vcdebug.cli.output import Output
from vcdebug.errors import VcdebugError
from vcdebug.framework.registry import resolve_reference
from vcdebug.releases.release import release_names
from vcdebug.snapshot.sources import list_bundled

# The program lists the words: a script with lists of its own would become outdated, and knows no snapshot. It runs once
# per place of a command line, since reading a large snapshot at every Tab would take seconds. Jobs and pods have a
# slash: where they fit, file names do not.
BASH_SCRIPT: Final = """_vcdebug() {
  local word="${COMP_WORDS[COMP_CWORD]}" begin=""
  [[ "$word" != -* ]] || begin="-"
  local before="${COMP_WORDS[COMP_CWORD-1]}" place="$HISTCMD $begin ${COMP_WORDS[*]:0:$COMP_CWORD}"
  if [ "$place" != "$_vcdebug_place" ]; then
    _vcdebug_place="$place"
    _vcdebug_words="$("${COMP_WORDS[0]}" completion bash -- "${COMP_WORDS[@]:1:COMP_CWORD-1}" "$begin" 2>/dev/null)"
    [ "$before" != --context ] || _vcdebug_words="$(kubectl config get-contexts -o name 2>/dev/null)"
  fi
  COMPREPLY=($(compgen -W "$_vcdebug_words" -- "$word")
    $([[ "$COMP_CWORD" -eq 1 || "$word" == -* || "$_vcdebug_words" == */* ]] || compgen -f -- "$word"))
}
complete -o filenames -o default -F _vcdebug vcdebug kubectl-vcdebug"""
# Not by zsh's bashcompinit, which ignores the beginning of a word with a slash and forgets the words.
ZSH_SCRIPT: Final = """(( $+functions[compdef] )) || { autoload -U compinit && compinit -i; }
_vcdebug() {
  local begin="" before="${(Q)words[CURRENT-1]}" place
  [[ "$PREFIX" != -* ]] || begin="-"
  place="$HISTCMD $begin ${words[1,CURRENT-1]}"
  if [[ "$place" != "$_vcdebug_place" ]]; then
    _vcdebug_place="$place"
    _vcdebug_words=(${(f)"$("${(Q)words[1]}" completion zsh -- "${(@Q)words[2,CURRENT-1]}" "$begin" 2>/dev/null)"})
    [[ "$before" != --context ]] || _vcdebug_words=(${(f)"$(kubectl config get-contexts -o name 2>/dev/null)"})
  fi
  compadd -a _vcdebug_words
  [[ CURRENT -eq 2 || -n "$begin" || -n "${(M)_vcdebug_words:#*/*}" ]] || _files
}
compdef _vcdebug vcdebug kubectl-vcdebug"""
FISH_WORDS: Final = "vcdebug completion fish -- (commandline -opc)[2..] (commandline -ct) 2>/dev/null"
SCRIPTS: Final = {
    "bash": BASH_SCRIPT,
    "zsh": ZSH_SCRIPT,
    "fish": f"""function __vcdebug_words
  set -l words ({FISH_WORDS})
  printf '%s\\n' $words
  string match -q '*/*' -- $words; or __fish_complete_path (commandline -ct)
end
complete -c vcdebug -n __fish_use_subcommand -f -a '({FISH_WORDS})'
complete -c vcdebug -n 'not __fish_use_subcommand' -f -a '(__vcdebug_words)'""",
}


class CompletionCommand(Command):
    """Prints a script for a shell, which completes files itself; with words after it, their completions."""

    HELP = "Print a shell completion script (bash, zsh, fish)"
    EXAMPLES = ("completion bash", "completion zsh", "completion fish")

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("shell", metavar="SHELL", choices=SCRIPTS, help=f"one of {', '.join(SCRIPTS)}")
        parser.add_argument(
            "words", metavar="WORD", nargs="*", help="print what completes the last word, for the script"
        )

    def execute(self, args: Namespace, output: Output) -> CommandOutcome:
        words = args.words
        output.write_text("\n".join(list_candidates(words, load_all_commands())) if words else SCRIPTS[args.shell])
        return CommandOutcome.DONE


def list_candidates(words: Sequence[str], commands: Mapping[str, Command]) -> list[str]:
    """The completions of the last word; none where only a file fits."""
    *before, word = words or [""]
    if not before:
        candidates: Iterable[str] = commands
    elif before[-1] == "--release":
        candidates = release_names()
    elif before[0] in commands:
        candidates = _argument_words(commands[before[0]], before[1:], word)
    else:
        candidates = []
    return [candidate for candidate in candidates if candidate.startswith(word)]


def _argument_words(command: Command, before: Sequence[str], word: str) -> Iterator[str]:
    """What the command takes after these words: options where the word begins with a dash, else choices and names."""
    parser = ArgumentParser()
    command.add_arguments(parser)
    for action in parser._actions:
        if word.startswith("-"):
            yield from (option for option in action.option_strings if option.startswith("--"))
        elif not action.option_strings or {*before[-1:]} & {*action.option_strings}:
            yield from map(str, action.choices or ())
            # Names of all arguments that are not there yet: which place a word has depends on the options before.
            find_names = NAMES_BY_ARGUMENT.get(str(action.metavar))
            names = [*find_names(before)] if find_names else []
            yield from () if {*names} & {*before} else names


def _job_names(before: Sequence[str]) -> Iterable[str]:
    """The jobs and pods of the snapshot that is named before, by the names that `explain` prints."""
    for word in before:
        # Imported only where a snapshot is named: a Tab takes half the time without them.
        from vcdebug.cli.snapshots import read_snapshot
        from vcdebug.snapshot.job_names import job_names
        from vcdebug.snapshot.manifest import key_of

        try:
            snapshot = read_snapshot(word)
        except VcdebugError:
            continue
        names = job_names(snapshot)
        yield from (names.name_of(key_of(group)) for group in snapshot.objects_of("PodGroup"))
        yield from map(key_of, snapshot.objects_of("Pod"))


NAMES_BY_ARGUMENT: Final[Mapping[str, Callable[[Sequence[str]], Iterable[str]]]] = {
    "SNAPSHOT": lambda _: (snapshot.name for snapshot in list_bundled()),
    "QUESTION": lambda _: QUESTION_NAMES,
    "LESSON": lambda _: (lesson.name for lesson in resolve_reference("vcdebug.debugger.lesson:list_lessons")()),
    "JOB_OR_POD": _job_names,
    "SUBJECT": _job_names,
    "WHAT": _job_names,
}
"""Argument -> the names that it takes after these words."""
KUBECTL_DIRECTIVE = ":0"
"""Cobra's ShellCompDirectiveDefault: the shell adds file names."""


def complete_for_kubectl(argv: Sequence[str] | None = None) -> int:
    """Entry point of `kubectl_complete-vcdebug`: writes one candidate per line, then the directive."""
    commands = load_all_commands()
    words = list(sys.argv[1:] if argv is None else argv)
    Output().write_text("\n".join([*list_candidates(words, commands), KUBECTL_DIRECTIVE]))
    return 0
