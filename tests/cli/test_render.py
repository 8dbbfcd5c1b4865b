"""Blocks are plain and unwrapped on a pipe; on a terminal they are coloured and wrapped between words."""

import io
import json
import os
import re
import tracemalloc

import pytest

from vcdebug.cli.output import Output
from vcdebug.cli.render import write_blocks
from vcdebug.views.document import make_listing, make_paragraph

WORDS = " ".join(f"word{number}" for number in range(40))
BLOCKS = (
    make_paragraph("title", "title"),
    make_paragraph(WORDS, "bad", 2),
    make_paragraph(""),
    make_listing(("name", "count#"), (("a", "10"), ("long", "7")), 2),
)
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(stream: io.StringIO) -> str:
    write_blocks(BLOCKS, Output(stream, io.StringIO()))
    return stream.getvalue()


def test_a_pipe_gets_plain_lines() -> None:
    expected = f"title\n  {WORDS}\n\n  name  count\n  a        10\n  long      7\n"
    assert expected == shown(io.StringIO())


def test_a_terminal_gets_colours_and_lines_that_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"COLUMNS": "60", "TERM": "xterm-256color"}.items():
        monkeypatch.setenv(name, value)
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    text = shown(Terminal())
    plain = _COLOUR.sub("", text)
    assert text != plain
    assert max(map(len, plain.splitlines())) <= 60
    assert WORDS.split() == [word for word in plain.split() if word.startswith("word")]
    assert "  a        10" in plain.splitlines()


def test_characters_that_the_stream_cannot_encode_are_escaped() -> None:
    data = io.BytesIO()
    stream = io.TextIOWrapper(data, encoding="ascii")
    output = Output(stream, io.StringIO())
    output.write_text("✓ done")
    output.flush()
    assert b"\\u2713 done\n" == data.getvalue()


@pytest.mark.parametrize(
    ("width", "expected"),
    [
        (
            60,
            [
                "  default/job-1  No node has room for it, and nobody may be",
                "                 evicted for it, so it waits.",
            ],
        ),
        (
            46,
            [
                "  default/job-1",
                "      No node has room for it, and nobody may",
                "      be evicted for it, so it waits.",
            ],
        ),
    ],
)
def test_sentences_of_a_table_wrap_below_themselves_or_below_the_row(
    width: int, expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("TERM", "xterm-256color")
    sentence = "No node has room for it, and nobody may be evicted for it, so it waits."
    out = Terminal()
    write_blocks(
        [make_listing(("job", "why"), (("default/job-1", sentence),), 2, prose=True)], Output(out, io.StringIO())
    )
    assert ["  job            why", *expected] == _COLOUR.sub("", out.getvalue()).splitlines()


@pytest.mark.parametrize(
    ("width", "expected"),
    [
        (40, ["  job            outcome  pending  min", "  default/job-1  pending        2    3"]),
        (
            34,
            [
                "  job            outcome  pending",
                "  default/job-1  pending        2",
                "  1 column hidden, the terminal is",
                "  too narrow: min",
            ],
        ),
        (8, ["  job", "  default/job-1"]),
    ],
)
def test_the_last_columns_are_hidden_on_a_narrow_terminal_and_a_line_names_them(
    width: int, expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("TERM", "xterm-256color")
    table = make_listing(("job", "outcome", "pending#", "min#"), (("default/job-1", "pending", "2", "3"),), 2)
    out, pipe = Terminal(), io.StringIO()
    write_blocks([table], Output(out, io.StringIO()))
    assert expected == [line.rstrip() for line in _COLOUR.sub("", out.getvalue()).splitlines()][: len(expected)]
    write_blocks([table], Output(pipe, io.StringIO()))
    assert "  default/job-1  pending        2    3" == pipe.getvalue().splitlines()[-1]


def test_writing_a_long_json_document_takes_little_more_memory_than_its_text() -> None:
    document = {"rows": [{"number": number, "factor": 0.5} for number in range(30_000)]}
    stream = io.TextIOWrapper(io.FileIO(os.devnull, "w"), encoding="ascii")
    tracemalloc.start()
    Output(stream, io.StringIO()).write_json(document)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # All tokens at once take ten times the text.
    assert peak < 3 * len(json.dumps(document, indent=2))
