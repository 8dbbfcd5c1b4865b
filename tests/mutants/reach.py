"""Maps tests to the lines that they run: each test file runs once, in its own process, under coverage.py."""

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
"""Folder of a run's files: the copy of the tree, the map, the results."""
LEFT_OUT = ("architecture/", "bench/", "browser/", "live/", "mutants/", "tools/", "tui/test_hangup.py")
"""Tests that check the source text or other processes only, and cannot detect mutants."""
WHOLE_CORPUS = "tests/golden/"
"""Tests here include those of archived recordings; elsewhere such tests are left out."""
WHOLE_FILE = 3.0
"""Seconds up to which a test file runs completely, since tests may depend on replays of earlier ones."""


class Reached(NamedTuple):
    """A test's seconds, and the lines of the scope that it runs."""

    seconds: float
    lines: dict[str, list[int]]


Reach = dict[str, dict[str, Reached]]
"""Tests by file and name; lines that run on import belong to the empty name."""


class Chosen(NamedTuple):
    """The tests of one file that cover a line."""

    file: str
    tests: list[str] | None
    """Names of the tests; None for the whole file."""
    seconds: float


class LineWatch:
    """A pytest plugin that records the lines of each passing test."""

    def __init__(self, tree: Path, scope: Iterable[str]) -> None:
        # imported only here, since a run of mutants does not need coverage
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
        """The recorded lines of each passed test."""
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
    """The test files for mutants, in the order of the folders, by default of all folders."""
    files = sorted(path.relative_to(tree / "tests").as_posix() for path in tree.glob("tests/**/test_*.py"))
    files = [file for file in files if not file.startswith(LEFT_OUT)]
    if folders:
        files = [file for folder in folders for file in files if file.startswith(f"{folder}/")]
    return [f"tests/{file}" for file in files]


def pytest_arguments(files: Iterable[str]) -> list[str]:
    """The pytest arguments for quiet runs without cache files."""
    return [*files, "-q", "--no-header", "--disable-warnings", "--tb=no", "-p", "no:cacheprovider"]


def read_reach(tree: Path, scope: list[str], folders: list[str]) -> Reach:
    """The map of the tests of some folders or all; unchanged files are not run again."""
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
    """Whether the map's sources are unchanged."""
    return path.is_file() and all(
        digests.get(name) == each for name, each in json.loads(path.read_text())["sources"].items()
    )


def digest_of(path: Path) -> str:
    """A digest of a file's content."""
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
    """The tests that run a line: those named like the source file first, then the fastest."""
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
    """Run an action in a child process that sees only the tree; returns the exit status, negative for a signal."""
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
    """Drop this checkout's modules, and limit the time of mutants that never end."""
    for name in [name for name in sys.modules if name.split(".")[0] in ("tests", "vcdebug")]:
        del sys.modules[name]
    sys.path[0] = str(tree)
    os.chdir(tree)
    gc.freeze()
    os.setsid()
    # A shell may start this process with signals ignored (background, nohup), but some tests need them.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    used = time.process_time()
    resource.setrlimit(resource.RLIMIT_CPU, (int(used + cpu) + 1, int(used + cpu) + 5))
    resource.setrlimit(resource.RLIMIT_AS, (12 << 30, 12 << 30))
    signal.alarm(int(wall))
