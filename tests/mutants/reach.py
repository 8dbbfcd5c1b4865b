"""Which tests run which line: each test file once, in a process of its own, while coverage.py watches the scope."""

from __future__ import annotations

import contextlib
import gc
import hashlib
import json
import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / ".mutants"
"""Everything that a run leaves: the copy of the tree, the map, the results."""
LEFT_OUT = ("architecture/", "bench/", "mutants/", "tools/", "tui/test_hangup.py")
"""Tests that look at the source, not at what it does, or at other processes only."""
WHOLE_CORPUS = "tests/golden/"
"""Here recordings of the archive count, too; elsewhere a test of the archive is left out."""
WHOLE_FILE = 3.0
"""Seconds: a test file that takes no longer is run whole, since a test may look at what an earlier one replayed."""


class Reached(NamedTuple):
    """One test: what it takes, and the lines of the scope that it runs."""

    seconds: float
    lines: dict[str, list[int]]


Reach = dict[str, dict[str, Reached]]
"""Tests by file and name. What ran on import belongs to a test without name."""


class Chosen(NamedTuple):
    """The tests of one file that cover a line."""

    file: str
    tests: list[str] | None
    """Their names; None for all of the file."""
    seconds: float


class LineWatch:
    """A plugin of pytest that notes what each passing test runs."""

    def __init__(self, tree: Path, scope: Iterable[str]) -> None:
        # Only here: a run of mutants does without.
        import coverage

        self._coverage = coverage.Coverage(
            data_file=None, config_file=False, include=[str(tree / path) for path in scope]
        )
        self._tree = tree
        self._seconds: dict[str, float] = {}
        self.failed: list[str] = []
        self._coverage.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterable[None]:
        self._coverage.switch_context(item.nodeid)
        start = time.process_time()
        result = yield
        self._seconds[item.nodeid] = time.process_time() - start
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.append(report.nodeid)

    def reached(self) -> dict[str, Reached]:
        """Of each test that passed."""
        self._coverage.stop()
        data = self._coverage.get_data()
        found = {name: Reached(seconds, {}) for name, seconds in self._seconds.items() if name not in self.failed}
        found[""] = Reached(0.0, {})
        for path in data.measured_files():
            relative = Path(path).relative_to(self._tree).as_posix()
            for line, contexts in data.contexts_by_lineno(path).items():
                for name in contexts:
                    if name in found:
                        found[name].lines.setdefault(relative, []).append(line)
        return found


def find_test_files(tree: Path, folders: list[str]) -> list[str]:
    """The files of tests that a mutant may meet, in the order of the folders; without folders, all."""
    files = sorted(path.relative_to(tree / "tests").as_posix() for path in tree.glob("tests/**/test_*.py"))
    files = [file for file in files if not file.startswith(LEFT_OUT)]
    if folders:
        files = [file for folder in folders for file in files if file.startswith(f"{folder}/")]
    return [f"tests/{file}" for file in files]


def pytest_arguments(files: Iterable[str]) -> list[str]:
    """Arguments that run files of tests quietly and leave nothing behind."""
    return [*files, "-q", "--no-header", "--disable-warnings", "--tb=no", "-p", "no:cacheprovider"]


def read_reach(tree: Path, scope: list[str], folders: list[str]) -> Reach:
    """The map of the tests of some folders, or of all; files that stand as they were watched are not run again."""
    kept = KEPT / "reach"
    kept.mkdir(parents=True, exist_ok=True)
    digests = {path: digest_of(tree / path) for path in scope}
    found: Reach = {}
    for file in find_test_files(tree, folders):
        path = kept / f"{file.replace('/', '.')}.{digest_of(tree / file)}.json"
        if not is_current(path, digests):
            print("watching", file, flush=True)
            run_forked(tree, partial(_watch_file, tree, digests, file, path), cpu=900, wall=1800)
        if path.is_file():
            tests = json.loads(path.read_text())["tests"]
            found[file] = {name: Reached(*each) for name, each in tests.items()}
    return found


def is_current(path: Path, digests: dict[str, str]) -> bool:
    """Whether a map was made of the sources that it names as they are."""
    return path.is_file() and all(
        digests.get(name) == each for name, each in json.loads(path.read_text())["sources"].items()
    )


def digest_of(path: Path) -> str:
    """Tells one content of a file from another."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:12]


def _watch_file(tree: Path, digests: dict[str, str], file: str, path: Path) -> int:
    watch = LineWatch(tree, digests)
    marks = [] if file.startswith(WHOLE_CORPUS) else ["-m", "not corpus"]
    status = int(pytest.main([*pytest_arguments([file]), *marks], plugins=[watch]))
    reached = watch.reached()
    if watch.failed:
        print("fails without any mutant:", *watch.failed, flush=True)
    sources = {name: digests[name] for each in reached.values() for name in each.lines}
    path.write_text(json.dumps({"sources": sources, "tests": reached}))
    return status


def covering_tests(reach: Reach, path: str, line: int) -> list[Chosen]:
    """What runs a line: first the files named like the source file, then the fastest."""
    chosen = []
    for file, tests in reach.items():
        touching = [name for name, each in tests.items() if name and line in each.lines.get(path, ())]
        if not touching and line in tests.get("", Reached(0, {})).lines.get(path, ()):
            touching = [name for name, each in tests.items() if name and path in each.lines]
        if touching:
            whole = sum(each.seconds for each in tests.values())
            if whole <= WHOLE_FILE:
                chosen.append(Chosen(file, None, whole))
            else:
                chosen.append(Chosen(file, touching, sum(tests[name].seconds for name in touching)))
    stem = Path(path).parent.name if path.endswith("__init__.py") else Path(path).stem
    return sorted(chosen, key=lambda each: (stem not in each.file, each.seconds))


def run_forked(tree: Path, action: Callable[[], int], *, cpu: float, wall: float) -> int:
    """The status of an action in a child that sees the tree alone; negative where a signal ended it."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        status = 70
        with contextlib.suppress(BaseException):
            _enter_tree(tree, cpu, wall)
            status = action()
        sys.stdout.flush()
        os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _enter_tree(tree: Path, cpu: float, wall: float) -> None:
    """Forget this checkout's modules, and bound what a mutant that never ends may take."""
    for name in [name for name in sys.modules if name.split(".")[0] in ("tests", "vcdebug")]:
        del sys.modules[name]
    sys.path[0] = str(tree)
    os.chdir(tree)
    gc.freeze()
    os.setsid()
    # A shell may have begun this with signals ignored, in the background or by nohup; some tests wait for them.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    used = time.process_time()
    resource.setrlimit(resource.RLIMIT_CPU, (int(used + cpu) + 1, int(used + cpu) + 5))
    resource.setrlimit(resource.RLIMIT_AS, (12 << 30, 12 << 30))
    signal.alarm(int(wall))
