"""A node's Ascend NPUs compared with a pod's request, and their score."""

from tests.builders import pod_group
from tests.releases.shown_npus import holding, npus, of_npus, placing, unused_npu
from vcdebug.explain.decisions.dry_runs import checks_of_node
from vcdebug.explain.decisions.equations import score_parts
from vcdebug.framework.record import PredicateEvent, ScoreEvent
from vcdebug.recording.replay import replay_cycle


def test_refused_node_lists_its_cards_and_their_holders() -> None:
    runs = [pod_group("r"), holding("r-0")]
    found = replay_cycle(placing(npus(), runs, pod_group("j"), of_npus("j-0", memory="12288")))
    (shown,) = [
        check.equation
        for check in checks_of_node(found, found.index.seqs_of_type(PredicateEvent)[0], "n1")
        if check.is_refused
    ]
    assert shown is not None
    assert ("asks for 1 card with 12288 of its memory", "no ascend device available") == (shown.formula, shown.note)
    assert [("n1-a", ("███████░░░░░", 12288, 21527, 0, 1, 4), "its memory is short; held by uid-r-0")] == [
        (term.name, term.figures, term.note) for term in shown.terms
    ]


def test_score_equation_of_npus_names_the_policy() -> None:
    found = replay_cycle(unused_npu())
    seq = found.index.seqs_of_type(ScoreEvent)[0]
    inside = {part.name: part.equation for part in score_parts(found, seq, "n2")}["deviceshare"]
    assert inside is not None
    (term,) = inside.terms
    assert ("Ascend310P", (100.0,), "by the use of the first card of each container") == (
        term.name,
        term.figures,
        term.note,
    )
    assert 100.0 == inside.verdict
