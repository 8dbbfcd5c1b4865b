"""Draw mutants with a seed, run the tests that cover each mutant's line, and report undetected mutants.

python -m tests.mutants [--size N] [--seed N] [--budget SECONDS] [--part 1/2] [--folders NAMES] [--again] [--report]

Everything happens in a copy of the checkout under .mutants/, beside the map of covered lines and results.jsonl. A run
that was stopped goes on where it stopped; --again runs those anew that survived. --size 500 after --size 100 adds 400.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.mutants.mutations import Mutant, count_by_kind, sample_mutants, scope_files
from tests.mutants.reach import KEPT, ROOT, Chosen, Reach, covering_tests, pytest_arguments, read_reach, run_forked

RESULTS = KEPT / "results.jsonl"
EQUIVALENT = ROOT / "tests" / "mutants" / "equivalent.tsv"
SEED = 20261125
FIRST_BATCH = 2.0
"""Seconds of tests in a mutant's first process; each further process gets three times as many."""
CAUGHT, SURVIVED = "caught", "survived"
TYPE_CHECK = "mypy"
PRELOADED = ("hypothesis", "numpy", "pytest_asyncio", "rich.console", "textual.app", "xdist", "yaml")
"""Third-party packages to import before the fork, since every child needs them."""


class FirstFailure:
    """A pytest plugin that runs the chosen tests in order and records the first failure."""

    def __init__(self, chosen: list[Chosen], note: Path) -> None:
        self._order = {each.file: place for place, each in enumerate(chosen)}
        self._tests = {each.file: None if each.tests is None else frozenset(each.tests) for each in chosen}
        self._note = note

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        kept = [item for item in items if self._is_chosen(item)]
        items[:] = sorted(kept, key=lambda item: self._order[item.nodeid.split("::")[0]])

    def _is_chosen(self, item: pytest.Item) -> bool:
        names = self._tests[item.nodeid.split("::")[0]]
        return item.get_closest_marker("corpus") is None if names is None else item.nodeid in names

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._note.write_text(report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._note.write_text(f"import of {report.nodeid}")


def copy_tree(tree: Path) -> None:
    """Copy all files that git tracks or would add, and link the environment."""
    shutil.rmtree(tree, ignore_errors=True)
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    for name in listed.stdout.decode().split("\0"):
        if name and (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tree / name)
    if not (tree / ".venv").exists():
        (tree / ".venv").symlink_to((ROOT / ".venv").resolve())


def batches_of(chosen: list[Chosen], budget: float) -> Iterator[list[Chosen]]:
    """Split the tests into batches, small ones first, until the budget is used up."""
    size, used, total, batch = FIRST_BATCH, 0.0, 0.0, list[Chosen]()
    for each in chosen:
        if batch and used + each.seconds > size:
            yield batch
            batch, used, size = [], 0.0, size * 3
        if total + each.seconds > budget:
            continue
        batch.append(each)
        used, total = used + each.seconds, total + each.seconds
    if batch:
        yield batch


def judge_mutant(tree: Path, mutant: Mutant, chosen: list[Chosen], budget: float) -> dict[str, object]:
    """The result of one mutant, which is in the copy only during its tests."""
    file, note = tree / mutant.path, tree.parent / f"{tree.name}.failure"
    original, times = file.read_bytes(), file.stat()
    start = time.monotonic()
    outcome, by, ran = SURVIVED, "", 0.0
    try:
        file.write_bytes(mutant.applied_to(original))
        for batch in batches_of(chosen, budget):
            note.unlink(missing_ok=True)
            seconds = sum(each.seconds for each in batch)
            status = run_forked(tree, partial(_run_batch, batch, note), cpu=30 + 6 * seconds, wall=180 + 60 * seconds)
            if status not in (0, 5):
                outcome, by = CAUGHT, note.read_text() if note.is_file() else f"ended with status {status}"
                break
            ran += seconds
        if outcome == SURVIVED and not has_valid_types(tree):
            outcome, by = CAUGHT, TYPE_CHECK
    finally:
        # Restoring the file time keeps the compiled module valid.
        file.write_bytes(original)
        os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    left = sum(each.seconds for each in chosen) - ran if outcome == SURVIVED else 0.0
    took = round(time.monotonic() - start, 1)
    return {
        "key": mutant.key,
        "outcome": outcome,
        "by": by,
        "left": round(left, 1),
        "took": took,
        "shown": mutant.shown,
    }


def has_valid_types(tree: Path) -> bool:
    """Whether mypy accepts the copy, as `make test` checks in tests/tools."""
    command = [sys.executable, "-m", "mypy", "vcdebug"]
    return subprocess.run(command, cwd=tree, capture_output=True, check=False).returncode == 0


def _run_batch(batch: list[Chosen], note: Path) -> int:
    sys.dont_write_bytecode = True
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    sink = os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, 1)
    os.dup2(sink, 2)
    arguments = [*pytest_arguments(each.file for each in batch), "-x"]
    return int(pytest.main(arguments, plugins=[FirstFailure(batch, note)]))


def read_results() -> dict[str, dict[str, object]]:
    """The last result of each mutant, by key."""
    if not RESULTS.is_file():
        return {}
    rows = [json.loads(line) for line in RESULTS.read_text().splitlines()]
    return {row["key"]: row for row in rows}


def read_equivalent() -> dict[str, str]:
    """The reasons why mutants are equivalent, by their description."""
    lines = [line for line in EQUIVALENT.read_text().splitlines() if line and not line.startswith("#")]
    return dict(line.partition("\t")[::2] for line in lines)


def run_mutants(mutants: list[Mutant], reach: Reach, tree: Path, *, budget: float, again: bool) -> None:
    """Judge the mutants without a result, and with --again the survivors."""
    equivalent = read_equivalent()
    for mutant in mutants:
        known = read_results().get(mutant.key)
        if mutant.shown in equivalent or (known is not None and not (again and known["outcome"] == SURVIVED)):
            continue
        row = judge_mutant(tree, mutant, covering_tests(reach, mutant.path, mutant.line), budget)
        with RESULTS.open("a") as file:
            file.write(json.dumps(row) + "\n")
        print(row["outcome"], f"{row['took']} s", row["shown"], row["by"], flush=True)


def print_report(mutants: list[Mutant]) -> None:
    """Print the figures of the sample, and each survivor."""
    results, equivalent = read_results(), read_equivalent()
    same = len([mutant for mutant in mutants if mutant.shown in equivalent])
    rows = [results[mutant.key] for mutant in mutants if mutant.key in results and mutant.shown not in equivalent]
    survivors = [row for row in rows if row["outcome"] == SURVIVED]
    print(f"{len(mutants)} drawn: {count_by_kind(mutants)}")
    judged, caught = len(rows) + same, len(rows) - len(survivors)
    print(f"{judged} judged: {caught} caught, {same} equivalent, {len(survivors)} survived")
    for row in survivors:
        print(f"survived ({row['left']} s of covering tests beyond the budget): {row['shown']}  {row['key']}")


def main() -> None:
    """Read the arguments, run, report."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.mutants", description=__doc__.split("\n")[0] if __doc__ else None
    )
    parser.add_argument("--size", type=int, default=500, help="mutants in the sample")
    parser.add_argument("--seed", type=int, default=SEED, help="of the sample")
    parser.add_argument("--budget", type=float, default=60, help="seconds of covering tests for one mutant")
    parser.add_argument("--part", default="1/1", help="which part of the sample, such as 2/3")
    parser.add_argument("--folders", default="", help="look only at tests of these folders, separated by commas")
    parser.add_argument("--again", action="store_true", help="run those again that survived")
    parser.add_argument("--report", action="store_true", help="run nothing")
    options = parser.parse_args()
    mutants = sample_mutants(ROOT, options.size, options.seed)
    if not options.report:
        part, parts = map(int, options.part.split("/"))
        KEPT.mkdir(exist_ok=True)
        for name in PRELOADED:
            importlib.import_module(name)
        tree = KEPT / f"tree{part}"
        copy_tree(tree)
        reach = read_reach(tree, scope_files(ROOT), [name for name in options.folders.split(",") if name])
        run_mutants(mutants[part - 1 :: parts], reach, tree, budget=options.budget, again=options.again)
    print_report(mutants)


if __name__ == "__main__":
    main()
