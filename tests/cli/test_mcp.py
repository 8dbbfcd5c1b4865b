"""`mcp`: the debugger driven by an agent, through the client of the MCP library."""

from __future__ import annotations

import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from tests.cli.transcripts import call
from tests.recorded import ROOT
from vcdebug.amount_text import count_noun
from vcdebug.cli.commands import mcp as command

if TYPE_CHECKING:
    from mcp import Client

BLOCKED = "preempt-blocked-by-gang"
JOB = "research/llm-finetune"
STEPS: tuple[tuple[str, dict[str, object], str], ...] = (
    ("explain", {"job": JOB}, "gang"),
    ("ask", {"question": "holders", "subject": JOB}, "research/"),
    ("find", {"breakpoint": "gang.preemptableFn"}, "7 events"),
    ("step", {"move": "continue", "stop_at": "gang.preemptableFn"}, "event 103"),
    ("read", {"what": "where"}, "gang.preemptableFn"),
    ("read", {"what": "count(candidates)"}, "2"),
    ("read", {"what": "node gpu-a100-01 idle cpu"}, "72"),
    ("step", {}, "event 104"),
    ("step", {"move": "next"}, "event 105"),
    ("step", {"move": "out"}, "event"),
    ("step", {"move": "back-out"}, "event"),
    ("step", {"move": "103"}, "protects bert-pretrain-worker-0"),
    ("step", {"move": "back-step"}, "event 102"),
    ("step", {"move": "back-continue", "stop_at": "statement discard"}, "event"),
    ("read", {"what": "panel equation"}, "Equation"),
    ("read", {"what": "queues research"}, "research"),
    ("read", {"what": "nodes gpu-a100-01"}, "gpu-a100-01"),
    ("what_if", {"edits": ["conf:plugins.gang.enablePreemptable=false"], "explain": JOB}, "changed"),
    ("read", {"what": "overview"}, "Pending"),
    ("explain", {}, JOB),
)


class Agent:
    def __init__(self, client: Client) -> None:
        self.client = client

    async def ask(self, tool: str, **arguments: object) -> str:
        """Call a tool and return its text, with "Error: " before the text of a failed call."""
        found = await self.client.call_tool(tool, arguments)
        (content,) = found.content
        assert content.type == "text"
        return f"Error: {content.text}" if found.is_error else content.text


def client_of_server() -> Client:
    """A client in this process. Each worker collects this file, but not each runs it: the library takes a second."""
    from mcp import Client

    return Client(command.build_server())


@asynccontextmanager
async def opened() -> AsyncIterator[Agent]:
    """An agent, connected in this process, that has opened the snapshot."""
    async with client_of_server() as client:
        found = Agent(client)
        await found.ask("open_snapshot", snapshot=BLOCKED)
        yield found


async def test_a_session_of_twenty_steps_over_standard_input_and_output() -> None:
    from mcp import Client, StdioServerParameters

    server = StdioServerParameters(command=sys.executable, args=["-m", "vcdebug", "mcp"], env={"PYTHONPATH": str(ROOT)})
    async with Client(server) as client:
        agent = Agent(client)
        assert "166 events" in await agent.ask("open_snapshot", snapshot=BLOCKED)
        assert 20 == len(STEPS)
        for tool, arguments, words in STEPS:
            answer = await agent.ask(tool, **arguments)
            assert words in answer, (tool, arguments)
            assert not answer.startswith("Error"), (tool, arguments)


async def test_every_tool_only_reads_and_is_in_the_skill_file() -> None:
    async with opened() as agent:
        tools = (await agent.client.list_tools()).tools
    assert [True] * len(tools) == [tool.annotations is not None and tool.annotations.read_only_hint for tool in tools]
    page = (ROOT / "docs" / "agents.md").read_text(encoding="utf-8")
    assert {tool.name for tool in tools} == set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE))


async def test_the_first_line_is_the_sentence_of_explain() -> None:
    _, out, _ = call(["explain", BLOCKED, JOB])
    async with opened() as agent:
        assert out.splitlines()[0] == (await agent.ask("explain", job=JOB)).splitlines()[0]


async def test_fixes_are_tried_ones() -> None:
    async with opened() as agent:
        answer = await agent.ask("fixes", job=JOB)
    assert answer.startswith("Fixes that work on this snapshot")
    assert "--budget" not in answer


async def test_a_what_if_leaves_the_snapshot_as_it_was() -> None:
    async with opened() as agent:
        before = await agent.ask("explain", job=JOB)
        await agent.ask("what_if", edits=["conf:plugins.gang.enablePreemptable=false"])
        await agent.ask("what_if", edits=["queue/research:spec.weight=1", "nonsense"])
        assert before == await agent.ask("explain", job=JOB)


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("explain", {"job": "nobody/none"}, "nobody/none"),
        ("step", {"move": "save x"}, "no move"),
        ("read", {"what": "save x"}, "no field"),
        ("read", {"what": "report x.md"}, "no field"),
        ("what_if", {"edits": ["@/etc/passwd"]}, "cannot come from a file"),
        ("what_if", {"edits": ["nonsense"]}, "nonsense"),
        ("find", {"breakpoint": "nonsense"}, "no kind of breakpoint"),
        ("open_snapshot", {"snapshot": "nowhere"}, "nowhere"),
    ],
)
async def test_impossible_requests_are_refused_in_one_line(tool: str, arguments: dict[str, object], words: str) -> None:
    async with opened() as agent:
        answer = await agent.ask(tool, **arguments)
    assert answer.startswith("Error")
    assert words in answer
    assert 1 == len(answer.splitlines())


async def test_tools_are_refused_before_a_snapshot_is_open() -> None:
    async with client_of_server() as client:
        assert "open_snapshot opens one" in await Agent(client).ask("explain")


def test_a_long_answer_ends_with_how_much_is_left_out() -> None:
    text = "\n".join(f"line {number}" for number in range(10_000))
    cut = command.cut_text(text)
    assert len(cut) < command.MAX_CHARACTERS + 100
    *kept, last = cut.splitlines()
    assert f"… {count_noun(10_000 - len(kept), 'more line')}" == last.partition(":")[0]
    assert "short" == command.cut_text("short")


def test_without_the_extra_it_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp.server", None)
    code, _, err = call(["mcp"])
    assert (1, "vcdebug: the extra mcp is not installed; run in vcdebug's clone: pip install '.[mcp]'\n") == (code, err)
