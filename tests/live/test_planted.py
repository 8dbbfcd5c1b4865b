"""Texts of tenants in a live cluster: no control sequence reaches a terminal, no secret and no number a file."""

from __future__ import annotations

import re
import shlex
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hostile import obeyed
from tests.live.cluster import Cluster
from tests.live.planting import JOB, SPACE, WORKLOAD, HostileTexts, PlantedSecrets
from tests.live.running import ScreenSession, run, terminal_output
from tests.own_faults import own_faults_in
from vcdebug.views.panels import PANEL_VIEWS

CONTROLS = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[()][0-9A-Z]|\x1b[78=>M]|\x1b\]22;[a-z-]*\x07|\r")
"""Sequences that rich and Textual write themselves: colours, movements, modes, the shape of the pointer."""
SHOWN = "␛]0;PWNED␇"
GROUPS = 40
PODS = [f"{SPACE}/odd-{row}-0" for row in range(2)]
COMMANDS = (
    *("inspect S", "run S", "explain S", "explain S --verbose", f"explain S {JOB} --prove"),
    *(f"explain S {SPACE}/odd-{row}" for row in (0, 1, 3)),
    *(f"explain S {WORKLOAD}", f"explain S {PODS[1]}", f"why S {SPACE}/odd-1", "why S node n0 idle cpu"),
    *(f"ask refused S {PODS[1]}", f"ask when S {SPACE}/odd-1", "ask next S", f"ask node S {PODS[0]}"),
    *("ask holders S queue/default", "report S", "report S -o report.md", "report S -o report.html", "odds S -n 2"),
    *("export S --to tables --format csv", "export S --to trace.json --format perfetto", "script S SCRIPT"),
    *("diff S A", "redact S -o redacted.tar.gz", "explain S --json", "query S predicate"),
    *("capture -o again.tar.gz", "capture --redact -o anonymous.tar.gz", f"capture --until '{JOB} is there' -o night"),
    *("verify --for 6s --wait 6s", "verify --for 6s --wait 6s --json", "watch --every 1s --keep kept"),
)


@pytest.fixture(scope="module")
def hostile(started: Cluster) -> Iterator[HostileTexts]:
    started.clear()
    texts = HostileTexts()
    texts.plant(started, GROUPS)
    yield texts
    started.clear()
    texts.remove(started)


@pytest.fixture(scope="module")
def folder(started: Cluster, hostile: HostileTexts, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a capture S, and a default one A, and a script that shows every panel."""
    folder = tmp_path_factory.mktemp("planted")
    for name, words in (("S", ["--full"]), ("A", [])):
        code, _, err = run(started, "capture", *words, "-o", str(folder / f"{name}.tar.gz"))
        assert (0, set()) == (code, obeyed(err)), err
    moves = ("goto 40", "where", "log 5", "waiting", "overview", "fits")
    (folder / "script").write_text("\n".join([*(f"panel {name}" for name in PANEL_VIEWS), *moves]))
    return folder


def words_of(command: str, folder: Path) -> list[str]:
    files = {"S": "S.tar.gz", "A": "A.tar.gz", "SCRIPT": "script"}
    return [str(folder / files[word]) if word in files else word for word in shlex.split(command)]


def test_ten_thousand_texts_are_in_the_capture(folder: Path, hostile: HostileTexts) -> None:
    planted = hostile.count
    found = len(set(re.findall(r'PWNED[^"]*y-(\d+)"', text_of(folder / "S.tar.gz"))))
    print(f"{planted} texts written, {found} in the capture; refused: {hostile.refused[:3]}")
    assert found > 10_000


def text_of(file: Path) -> str:
    """All files of a capture, one after the other."""
    with tarfile.open(file) as archive:
        parts = [archive.extractfile(member) for member in archive.getmembers()]
        return "".join(part.read().decode() for part in parts if part is not None)


@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_writes_control_sequences_to_a_terminal(command: str, started: Cluster, folder: Path) -> None:
    if command.startswith("watch"):
        session = ScreenSession(started, *words_of(command, folder), folder=folder)
        session.read_until(lambda: "Pending" in session.drawn, 60)
        session.close()
        text = session.drawn
    else:
        text = terminal_output(started, *words_of(command, folder), folder=folder)
    assert [] == own_faults_in(text)
    assert "Traceback" not in text
    print(command, len(text), text.count(SHOWN))
    assert set() == obeyed(CONTROLS.sub("", text))


def test_no_written_report_holds_control_sequences(folder: Path) -> None:
    written = [file for file in folder.rglob("*") if file.suffix in (".md", ".html", ".csv", ".json")]
    assert written
    for file in written:
        assert set() == obeyed(file.read_text(encoding="utf-8").replace("\r\n", "\n")), file.name


def test_no_panel_and_no_page_draws_control_sequences(started: Cluster, folder: Path) -> None:
    session = ScreenSession(started, "open", str(folder / "S.tar.gz"), "--job", JOB, folder=folder)
    session.read_until(lambda: SPACE in session.drawn, 60)
    pages = ("jobs", f"jobs {JOB}", "nodes n0", "queues", "pods", "pending", "overview", "problems", f"explain {JOB}")
    for command in (*(f"panel {name}" for name in PANEL_VIEWS), *pages):
        assert session.press(f":{command}\r"), command
    session.press("q")
    session.close()
    text = CONTROLS.sub("", session.drawn)
    print(len(text), text.count("PWNED"))
    assert "PWNED" in text
    assert set() == obeyed(text)


def test_secrets_and_numbers_are_in_no_file_that_is_handed_over(cluster: Cluster, tmp_path: Path) -> None:
    planted = PlantedSecrets()
    planted.plant(cluster, 90)
    counts = {}
    for name, words in (("default", ()), ("full", ("--full",)), ("redacted", ("--redact",))):
        file = tmp_path / f"{name}.tar.gz"
        code, _, err = run(cluster, "capture", *words, "-o", str(file))
        assert 0 == code, err
        text = text_of(file)
        counts[name] = tuple(sum(one in text for one in texts) for texts in (planted.secrets, planted.numbers))
    print(len(planted.secrets), "secrets,", len(planted.numbers), "numbers", counts)
    assert (len(planted.secrets), len(planted.numbers)) == counts["full"]
    assert 0 == counts["default"][0]
    assert (0, 0) == counts["redacted"]
    assert len(planted.secrets) > 1000 < len(planted.numbers) + 250
