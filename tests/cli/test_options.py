"""Options that are written as --help lists them."""

from argparse import ArgumentParser

from vcdebug.cli.arguments import add_options, add_shared_options, read_options

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
