"""A search with cached verdicts of all nodes equals one that checks each visited node."""

from random import Random

import numpy as np
from msgspec.structs import replace

from tests.rows import over
from tests.scalar.test_single_rows import moved
from tests.scalar.world import random_session
from vcdebug.framework.hooks import PRE_PREDICATE
from vcdebug.framework.node_verdict_cache import NodeVerdictCache
from vcdebug.framework.placement import QUESTION_OF_JUDGE, NodeJudge, PredicateHelper
from vcdebug.framework.record import PredicateEvent
from vcdebug.framework.session import Session
from vcdebug.model.node_table import NodeRows
from vcdebug.model.task import TaskInfo

SEEDS = range(60)


def known_of(ssn: Session) -> NodeVerdictCache:
    return NodeVerdictCache(ssn.node_table, ssn.reasons, ssn.plugins["predicates"].precomputed_codes)


def searches(ssn: Session, random: Random) -> list[tuple[TaskInfo, NodeRows, NodeJudge]]:
    """One search per Pending task and kind of judge, over all nodes or some."""
    some = ssn.node_table.row_numbers[np.array([random.random() < 0.7 for _ in ssn.nodes], dtype=np.bool_)]
    pending = [task for task in ssn.jobs["default/j"].tasks.values() if ssn.ask_plugins(PRE_PREDICATE, task) is None]
    return [
        (task, random.choice((ssn.all_rows(), NodeRows(ssn.node_table, some))), one)
        for task in pending
        for one in QUESTION_OF_JUDGE
    ]


def found(
    ssn: Session, helper: PredicateHelper, start: int, task: TaskInfo, nodes: NodeRows, judge: NodeJudge
) -> object:
    """The complete result of a search: nodes, errors, next start, and event."""
    ssn.node_search_start = start
    feasible, errors = helper.predicate_nodes(task, nodes, judge)
    event = ssn.record.events[-1] if len(nodes) else None
    said = None
    if isinstance(event, PredicateEvent):
        said = event.considered, event.processed, event.feasible.tolist(), event.failed.tolist(), event.codes.tolist()
    return feasible.rows.tolist(), errors.error_text(), ssn.node_search_start, said


@over(SEEDS)
def test_a_search_over_known_nodes_is_one_that_visits_them(seed: int) -> None:
    random = Random(seed)
    ssn = random_session(seed)
    ssn.flags = replace(ssn.flags, minimum_feasible_nodes=random.choice((2, 100)), percentage_nodes_to_find=1)
    for task in ssn.jobs["default/j"].tasks.values():
        task.task_role = random.choice(("worker", ""))  # errors are cached per role
    verdict_cache = [known_of(ssn), None]
    helpers = [PredicateHelper(ssn, cache_on=seed % 2 == 0) for _ in verdict_cache]
    for _ in range(2):
        for search in searches(ssn, random):
            start, results = random.randrange(20), []
            for helper, ssn.verdict_cache in zip(helpers, verdict_cache, strict=True):
                results.append(found(ssn, helper, start, *search))
            assert results[0] == results[1]
        moved(ssn, random)


def test_some_of_these_searches_know_all_nodes() -> None:
    known = []
    for ssn in map(random_session, SEEDS):
        verdict_cache = known_of(ssn)
        known += [
            verdict_cache.search_codes(task, QUESTION_OF_JUDGE[judge]) is not None
            for task, _, judge in searches(ssn, Random(1))
        ]
    assert 100 < sum(known) < len(known)
