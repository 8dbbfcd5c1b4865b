"""The hooks that plugins registered, and the switches that enable them."""

from tests.builders import cluster, conf_of, node
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import replay_cycle
from vcdebug.recording.session_steps import event_handlers, iter_registrations
from vcdebug.views.pieces import text_of
from vcdebug.views.votes import tiers_table


def opened(**switches: object) -> Recording:
    return replay_cycle(cluster(node("n1"), conf=conf_of("gang", "drf proportion", arguments={"gang": switches})))


def states(recording: Recording) -> dict[str, str]:
    return {f"{each.plugin} {each.hook}": each.state for each in iter_registrations(recording)}


def test_a_switch_is_on_off_or_left_to_its_default() -> None:
    found = states(opened(enablePreemptable=False, enableJobReady=True))
    assert ("off", "on", "on by default", "no switch") == (
        found["gang Preemptable"],
        found["gang JobReady"],
        found["gang JobPipelined"],
        found["gang JobValid"],
    )


def test_a_misspelt_switch_stands_at_the_hook_that_it_meant() -> None:
    found = [each for each in iter_registrations(opened(enablePreemptible=False)) if each.misspelt_switch]
    assert [("gang", "Preemptable", "on by default")] == [(each.plugin, each.hook, each.state) for each in found]
    row = next(row for row in tiers_table(opened(enablePreemptible=False)).rows if row.key == "1 gang Preemptable")
    assert "enablePreemptible is not a switch" in row.cells[4].text


def test_plugins_that_are_told_of_operations_are_named() -> None:
    assert {"drf", "proportion"} == dict(event_handlers(opened())).keys()


def test_participating_plugins_are_those_that_the_session_calls() -> None:
    recording = opened(enablePreemptable=False)
    tiers_asked = [tier for found in recording.session.plugin_calls.values() for tier in found]
    asked = [ballot for tier in tiers_asked for ballot in tier]
    listed = [each for each in iter_registrations(recording) if each.takes_part]
    assert len(asked) == len(listed)
    assert f"{len(listed)} take part" in text_of(tiers_table(recording).header[0])
