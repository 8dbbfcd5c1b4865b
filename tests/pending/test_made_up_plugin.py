"""A plugin that explain has no module for is quoted; one with a module is explained by it."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

import numpy as np
import pytest

from tests.builders import cluster, conf_of
from tests.pending.situations import CLASSES, FIRST, PLAIN, SECOND, WANTED, nodes, wanted
from vcdebug.explain.answer import Explanation
from vcdebug.explain.pending.explanation import explain_by_name
from vcdebug.explain.plugins import PluginExplainer
from vcdebug.explain.predicate_reasons import ConstraintFailure
from vcdebug.framework.session import Plugin, Session
from vcdebug.model.fit_errors import UNSCHEDULABLE_AND_UNRESOLVABLE, FitStatus
from vcdebug.model.names import Codes
from vcdebug.model.node_table import NodeRows
from vcdebug.model.task import TaskInfo
from vcdebug.plugins import PLUGINS
from vcdebug.recording.replay import replay_cycle

REASON, FAILURE = "node(s) had no price", "n1 has no label example.com/price"


class Frugal(Plugin):
    """Refuses each node, for want of a price."""

    name = "frugal"

    def on_session_open(self, ssn: Session) -> None:
        self.code = ssn.reasons.code_of((FitStatus(UNSCHEDULABLE_AND_UNRESOLVABLE, REASON, self.name),))

    def predicate(self, _task: TaskInfo, rows: NodeRows) -> Codes:
        return np.full(len(rows), self.code, dtype=np.uint16)


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PLUGINS, "frugal", f"{__name__}:Frugal")


def explain_refusal() -> Explanation:
    conf = conf_of(FIRST, f"{SECOND} frugal", actions=PLAIN)
    return explain_by_name(replay_cycle(cluster([*CLASSES, *nodes("n1"), *wanted()], conf=conf)), WANTED)


def test_the_reason_of_a_plugin_without_explanations_is_quoted() -> None:
    found = explain_refusal()
    assert "predicates-unresolvable" == found.cause_code
    assert REASON in str(found.dominant)


def test_what_the_module_of_a_plugin_says_about_its_refusals_is_a_fact(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("vcdebug.explain.plugins.frugal")
    module.__spec__ = ModuleSpec(module.__name__, None)
    failure = ConstraintFailure(FAILURE, is_temporary=True)
    module.__dict__["EXPLAINER"] = PluginExplainer(failures=lambda _: iter([failure]))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    found = explain_refusal().dominant
    assert f"{FAILURE}." in found.facts
    assert "does not currently fit" in found.sentence
