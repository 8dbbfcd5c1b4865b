"""A rerun of a cycle asks the plugins again; their answers agree with the recording."""

from pathlib import Path

from tests.explain.refusals import Refusals
from tests.explain.sums import Sums
from tests.recorded import each_case, recorded
from vcdebug.framework.record import Event
from vcdebug.framework.session import Session
from vcdebug.model.names import Seq
from vcdebug.recording.replay import observe_rerun


@each_case
def test_each_refusal_and_each_part_of_a_score_are_what_the_figures_say(case: Path) -> None:
    recording = recorded(case)
    refusals, sums = Refusals(recording), Sums()

    def look(session: Session, seq: Seq, event: Event) -> None:
        refusals.look(session, seq, event)
        sums.look(session, seq, event)

    observe_rerun(recording, look)
    assert ([], []) == (refusals.wrong[:1], sums.wrong[:1])
