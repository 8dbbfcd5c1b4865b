"""Why a pod gets no Ascend NPUs: upstream's message is the same for every reason."""

from typing import Any

import pytest

from tests.builders import pod_group
from tests.releases.shown_npus import holding, npus, of_npus, placing
from vcdebug.explain.answer import Explanation
from vcdebug.explain.pending.explanation import explain_by_name
from vcdebug.recording.replay import replay_cycle


def asked(**limits: Any) -> Explanation:
    runs = [pod_group("r"), holding("r-0", memory=21527)]
    return explain_by_name(replay_cycle(placing(npus(), runs, pod_group("j"), of_npus("j-0", **limits))), "default/j")


@pytest.mark.parametrize(
    ("limits", "cause", "words", "advice"),
    [
        ({"number": "1"}, "predicates-mixed", "no ascend device available", ""),
        (
            {"number": "2"},
            "predicates-unresolvable",
            "A pod takes each of its NPUs from another physical card: 2 asked, n1 has 1 card",
            "Request 1 NPU per pod, with more memory or cores of it.",
        ),
        (
            {"number": "2", "memory": "5000"},
            "predicates-unresolvable",
            "A container asks 2 NPUs with partial memory (6144); partial NPUs are allocated only one per container",
            "Request one NPU per container, or all of their memory.",
        ),
    ],
)
def test_explain_names_the_cause_of_an_unplaced_npu_request(
    limits: dict[str, str], cause: str, words: str, advice: str
) -> None:
    found = asked(**limits)
    assert cause == found.cause_code
    assert words in found.full_text
    assert not advice or advice in found.advice_texts
