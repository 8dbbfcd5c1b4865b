import doctest
import subprocess
import sys

import pytest

import vcdebug
from tests.architecture.source_tree import ROOT
from tests.recorded import bundled
from vcdebug.debugger.tables import TABLES
from vcdebug.errors import VcdebugError

FIXTURE = "preempt-blocked-by-gang"


def test_the_examples_of_the_page_run() -> None:
    found = doctest.testfile(str(ROOT / "docs" / "api.md"), module_relative=False)
    assert (0, True) == (found.failed, found.attempted > 5)


def test_rows_are_those_of_the_tables() -> None:
    cycle = vcdebug.replay(FIXTURE)
    assert {name: tuple(table.types) for name, table in TABLES.items()} == cycle.tables
    for name, table in TABLES.items():
        rows = [tuple(row.values()) for row in cycle.read_table(name)]
        assert list(table.iter_rows(bundled(FIXTURE))) == rows
    assert (len(bundled(FIXTURE)), list(bundled(FIXTURE).session.jobs)) == (len(cycle), cycle.jobs)


def test_the_votes_have_the_candidates_of_an_action_that_evicts_by_gang() -> None:
    votes = vcdebug.replay("gangpreempt-bundles").read_table("votes")
    evictable = [vote for vote in votes if vote["point"] == "UnifiedEvictable"]
    assert ("gang", "allows") in [(vote["plugin"], vote["answer"]) for vote in evictable]


def test_an_unknown_table_is_named_with_the_close_one() -> None:
    with pytest.raises(VcdebugError, match="no table 'vote'"):
        vcdebug.replay(FIXTURE).read_table("vote")


def test_importing_the_package_imports_nothing_else() -> None:
    script = "import sys, vcdebug; print([name for name in sys.modules if name.startswith(('vcdebug.', 'numpy'))])"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "[]\n" == done.stdout
