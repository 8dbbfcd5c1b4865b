"""The code blocks of the documents, and the commands in them that need more than this machine."""

import re
import shlex
from collections.abc import Iterator
from typing import NamedTuple

from tests.architecture.source_tree import ROOT

DOCUMENTS = [
    *("README.md", "CONTRIBUTING.md"),
    *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md")),
]
LANGUAGES = ("console", "debugger", "json", "lua", "sql", "text", "yaml")
"""Languages of code blocks: shell and debugger commands, data, output, and syntax."""
OUTSIDE = {
    r"vcdebug (open|serve|dap|mcp|learn \w)": "draws on a terminal or in a browser",
    r"vcdebug (capture|verify|watch|check)\b(?!.* --rbac)": "asks a cluster, or a scheduler's program or log",
    r"--extender-url\b": "asks a webhook",
    r"tcp://": "needs a Dask cluster",
}
"""Commands that are not run, only their options are checked; with the reason."""
OTHER_PROGRAMS = {
    "make": "the target must exist",
    **dict.fromkeys(("pip", "pipx", "uv"), "installs into an environment"),
    **dict.fromkeys(("dask", "kubectl"), "needs a cluster"),
    "mkdir": "a program of the system",
}
_FENCE = re.compile(r"^```(.*)\n((?:(?!```).*\n)*)```$", re.MULTILINE)


class Block(NamedTuple):
    """A fenced code block: its language and its content."""

    language: str
    text: str


class Documented(NamedTuple):
    """A command of a console block, and its documented output."""

    line: str
    printed: tuple[str, ...]

    @property
    def words(self) -> list[str]:
        """The words as a shell splits them, without the comment; kubectl's plugin is replaced by vcdebug."""
        return shlex.split(self.line.removeprefix("kubectl ") if "kubectl vcdebug" in self.line else self.line, True)

    @property
    def needs_only_files(self) -> bool:
        """Whether the command needs nothing but local files."""
        return not any(re.search(pattern, self.line) for pattern in OUTSIDE)


def blocks(document: str) -> list[Block]:
    """All fenced code blocks of a document; its path is relative to the root of the checkout."""
    text = (ROOT / document).read_text(encoding="utf-8")
    return [Block(info.partition(" ")[0], body) for info, body in _FENCE.findall(text)]


def commands(document: str) -> Iterator[Documented]:
    """The commands of the console blocks, in order."""
    for block in blocks(document):
        if block.language == "console":
            for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
                line, *printed = part.splitlines()
                yield Documented(line, tuple(one for one in printed if one))
