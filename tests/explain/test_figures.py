"""Figures of equations: numbers in the engine's units for programs, text in the dimension's unit for people."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.builders import amounts, cluster, conf_of, node, pod, pod_group, queue
from tests.recorded import BUNDLED, GOLDEN, bundled, golden
from tests.stepped_reruns import stepped_reruns
from vcdebug.debugger.figures import QUEUE, Figure
from vcdebug.explain.decisions.dry_runs import NodeCheck, checks_of_node, filter_checks
from vcdebug.explain.decisions.equations import equation_at
from vcdebug.explain.equation import Equation, equation_json, format_figures
from vcdebug.framework.record import HookEvent, PopEvent, PredicateEvent
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.snapshot import Manifest
from vcdebug.views.cell_figures import equation_figure
from vcdebug.views.equation import equation_table
from vcdebug.views.table import format_table

AMOUNT = re.compile(r"^[0-9.]+([EPTGMK]i?| cpu| GB)?$")
GROUP = "volcano.sh/nodegroup-name"
GPU = "nvidia.com/gpu"


def first_equation_of(recording: Recording, point: str, plugin: str) -> tuple[int, Equation]:
    """The event number of a plugin's first answer with an equation, and the equation."""
    for seq in recording.index.seqs_at_point(point):
        event = recording.event_at(seq)
        found = equation_at(recording, seq) if isinstance(event, HookEvent) and event.plugin == plugin else None
        if found is not None and found.terms:
            return seq, found
    raise AssertionError(f"{plugin} is not asked for {point}")


def figures_for_programs(found: Equation) -> list[Any]:
    document: Any = equation_json(found)
    return [term["figures"] for term in document["terms"]]


def words(found: Equation) -> list[str]:
    return [format_figures(found, term) for term in found.terms]


def test_what_a_queue_holds_beyond_its_share_is_a_number_shown_in_its_own_unit() -> None:
    recording = bundled("reclaim-across-queues")
    seq, found = first_equation_of(recording, "Reclaimable", "proportion")
    nlp = ["team-nlp", "nvidia.com/gpu"]
    assert [[*nlp, 20000.0, 16000.0], [*nlp, 18000.0, 16000.0]] == figures_for_programs(found)
    assert [
        "queue team-nlp, dimension nvidia.com/gpu, allocated 20, deserved 16",
        "queue team-nlp, dimension nvidia.com/gpu, allocated 18, deserved 16",
    ] == words(found)
    shown = equation_table(found)
    assert ["20", "16"] == [cell.text for cell in shown.rows[0].cells[4:6]]
    deserved = Figure(QUEUE, "team-nlp", "deserved", "nvidia.com/gpu", "proportion")
    assert deserved == equation_figure(recording, seq, found, shown.rows[0], 5)


def test_what_capacity_compares_of_a_queue_is_a_number_shown_in_its_own_unit() -> None:
    recording = golden("capacity-0002")
    _, found = first_equation_of(recording, "Reclaimable", "capacity")
    first = figures_for_programs(found)[0]
    assert "memory" == first[1]
    assert all(isinstance(figure, float) and figure == int(figure) for figure in first[2:])
    held, deserved = (figure / (1 << 30) for figure in first[2:4])
    assert f"dimension memory, held {held:g}Gi, deserved {deserved:g}Gi" in words(found)[0]


def test_what_idle_nodes_may_still_take_is_numbers_by_dimension() -> None:
    _, found = first_equation_of(bundled("shuffle-clears-nodes"), "VictimTasks", "rescheduling")
    rooms = [figures[2] for figures in figures_for_programs(found) if figures[2] is not None]
    assert ["cpu", "memory"] == list(rooms[0])
    assert 20800.0 == rooms[0]["cpu"]
    assert "room left 20.8 cpu, 79.4Gi memory" in " ".join(words(found))
    assert "cpu 20.8, mem 79.4Gi" in format_table(equation_table(found))


def refused_by(plugin: str, *objects: Manifest | list[Manifest], arguments: str = "") -> Equation:
    """The equation by which a plugin refuses the only pod on the only node."""
    conf = conf_of(f"predicates {plugin}") + arguments
    recording = replay_cycle(cluster(*objects, conf=conf))
    seq = recording.index.seqs_of_type(PredicateEvent)[0]
    return next(
        check.equation for check in checks_of_node(recording, seq, "n1") if check.plugin == plugin and check.is_refused
    )


def test_a_limit_of_a_group_of_nodes_is_three_numbers() -> None:
    affinity = {"nodeGroupAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": ["g1"]}}
    limited = queue(
        "q", annotations={"volcano.sh/nodegroup-resource-limits": '{"g1": {"cpu": "1500m"}}'}, affinity=affinity
    )
    found = refused_by(
        "nodegroup",
        node("n1", cpu="8", labels={GROUP: "g1"}),
        limited,
        pod_group("j", queue="q"),
        pod("j-0", "j", requests=amounts("2")),
    )
    assert [None, None, 1500.0, 0.0, 2000.0] == figures_for_programs(found)[-1]
    assert "limit 1.5, used 0, request 2" == words(found)[-1]


def test_what_stays_beside_a_scarce_resource_is_numbers_by_dimension() -> None:
    arguments = (
        f"    arguments:\n      proportional: {{enable: true, resources: {GPU}, resourceProportion: "
        f"{{{GPU}.cpu: 4, {GPU}.memory: 0}}}}\n"
    )
    found = refused_by(
        "resource-strategy-fit",
        node("n1", cpu="9", memory="8Gi", gpu="2"),
        queue("q"),
        pod_group("j", queue="q"),
        pod("j-0", "j", requests=amounts("2")),
        arguments=arguments,
    )
    idle, keeps, left = figures_for_programs(found)[0]
    assert (2000.0, 4000.0, 7000.0) == (idle, keeps["cpu"], left["cpu"])
    assert "idle 2, each keeps 4 cpu, would be left 7 cpu" in words(found)[0]


def every_equation(recording: Recording) -> Iterator[Equation]:
    for seq in range(1, len(recording) + 1):
        if isinstance(recording.event_at(seq), PopEvent):
            continue
        found = equation_at(recording, seq)
        if found is not None:
            yield found
        yield from (check.equation for check in _checks(recording, seq))


def _checks(recording: Recording, seq: int) -> Iterator[NodeCheck]:
    """The checks of a filter's answer, or of the first node that a search refused."""
    yield from filter_checks(recording, seq) or ()
    event = recording.event_at(seq)
    if isinstance(event, PredicateEvent) and len(event.failed):
        yield from checks_of_node(recording, seq, recording.node_names[int(event.failed[0])])


@pytest.mark.parametrize("name", [*BUNDLED, *GOLDEN])
def test_no_amount_is_text_for_programs(name: str) -> None:
    recording = bundled(name) if name in BUNDLED else golden(name)
    with stepped_reruns(recording):
        texts = [
            (found.title, head, figure)
            for found in every_equation(recording)
            for term in found.terms
            for head, figure in zip(found.columns, term.figures, strict=False)
            if isinstance(figure, str) and AMOUNT.match(figure)
        ]
    assert [] == texts
