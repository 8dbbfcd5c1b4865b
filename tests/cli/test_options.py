"""Options that are written as --help lists them."""

from argparse import ArgumentParser
from datetime import timedelta

from vcdebug.cli.arguments import add_options, add_shared_options, read_options
from vcdebug.cli.commands import load_all_commands

ROWS = """
    SNAPSHOT           what to open
    -o, --output FILE  where to write
    --most N           how many,
                       at most
    --fresh            begin again
    """


def test_indented_line_continues_an_option() -> None:
    assert ("--most N", "how many, at most") in read_options(ROWS)


def test_a_row_without_a_word_for_a_value_is_a_switch() -> None:
    parser = ArgumentParser()
    add_options(parser, ROWS, {"--most": {"type": int, "default": 3}})
    args = parser.parse_args(["here", "-o", "there", "--fresh"])
    assert ("here", "there", 3, True) == (args.snapshot, args.output, args.most, args.fresh)


def test_a_scope_stands_before_the_help_of_shared_options() -> None:
    parser = ArgumentParser(prog="x")
    add_shared_options(parser, "--set", scope="second run only: ")
    assert "second run only: change the input" in " ".join(parser.format_help().split())


def test_every_option_for_a_time_takes_the_same_durations() -> None:
    """A capture's timeout, the interval between cycles and a pod's run time are written alike."""
    taken = []
    for name, command in load_all_commands().items():
        parser = ArgumentParser()
        command.add_arguments(parser)
        timed = [action for action in parser._actions if str(action.metavar).endswith("TIME")]
        taken += [(name, action.dest, action.type) for action in timed if callable(action.type)]
    for read, seconds in (("1m30s", 90.0), ("90", 90.0), ("1.5s", 1.5)):
        values = [(name, option, kind(read)) for name, option, kind in taken]
        expected = (seconds, timedelta(seconds=seconds), ("", timedelta(seconds=seconds)))
        assert [] == [value for value in values if value[2] not in expected]
    assert {"timeout", "every", "run_time", "follow", "wait", "duration"} == {option for _, option, _ in taken}
