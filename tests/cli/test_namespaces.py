"""-n NAMESPACE, as kubectl takes it: of one namespace only, and the namespace of a name without one."""

import json

import pytest

from tests.cli.transcripts import call

SNAPSHOT = "preempt-blocked-by-gang"


def printed(*words: str) -> str:
    return call([*words])[1]


def test_run_reports_what_happened_in_one_namespace() -> None:
    text = printed("run", SNAPSHOT, "-n", "platform")
    assert "platform/feature-etl-mapper-0" in text
    assert "research/" not in text.partition("scheduler quirks")[0]
    assert "Why, with fixes" not in text
    assert f"Why, with fixes: vcdebug explain {SNAPSHOT} -n research" in printed("run", SNAPSHOT, "-n", "research")


def test_the_document_of_a_namespace_has_the_entries_of_the_whole_document_that_are_in_it() -> None:
    whole, part = (json.loads(printed("run", SNAPSHOT, "--json", *options)) for options in ((), ("-n", "research")))
    named = {"bound": "task", "pipelined": "task", "held": "task", "evicted": "task", "jobs": "job", "writes": "object"}
    for key, name in named.items():
        assert [entry for entry in whole[key] if entry[name].startswith("research/")] == part[key]
    assert whole["actions"] == part["actions"]


@pytest.mark.parametrize(
    ("words", "same"),
    [
        (("why", SNAPSHOT, "llm-finetune", "at", "60"), ("why", SNAPSHOT, "research/llm-finetune", "at", "60")),
        (("why", SNAPSHOT, "job", "llm-finetune", "ready"), ("why", SNAPSHOT, "job", "research/llm-finetune", "ready")),
        (("why", SNAPSHOT, "node", "cpu-01", "idle"), ("why", SNAPSHOT, "node", "cpu-01", "idle")),
        (("why", SNAPSHOT, "120"), ("why", SNAPSHOT, "120")),
        (("report", SNAPSHOT, "--job", "llm-finetune"), ("report", SNAPSHOT, "--job", "research/llm-finetune")),
        (("report", SNAPSHOT), ("report", SNAPSHOT, "--job", "research/llm-finetune")),
    ],
)
def test_a_name_is_looked_up_in_the_namespace(words: tuple[str, ...], same: tuple[str, ...]) -> None:
    assert printed(*same) == printed(*words, "-n", "research")


@pytest.mark.parametrize("command", ["run", "explain"])
def test_a_namespace_without_jobs_is_an_error_that_names_the_closest(command: str) -> None:
    code, _, err = call([command, SNAPSHOT, "-n", "platfrm"])
    assert (1, "vcdebug: namespace platfrm: no jobs in this namespace; did you mean platform?\n") == (code, err)


def test_a_report_of_a_namespace_needs_a_pending_job() -> None:
    code, _, err = call(["report", SNAPSHOT, "-n", "platform"])
    assert (1, True) == (code, "no Pending jobs in this namespace" in err)
