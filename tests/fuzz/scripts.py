"""Valid and odd lines of the files beside a snapshot: commands, edits, expectations, logs."""

from __future__ import annotations

import json
from random import Random
from typing import Final

from tests.fuzz.damage_structure import NUMBERS, QUANTITIES, TEXTS, random_value
from tests.fuzz.seeds import Seed
from tests.hostile import HOSTILE
from vcdebug.comparison.logs.message import MESSAGE_BY_KEY
from vcdebug.debugger.breakpoints import BREAKPOINT_KINDS, HOOK_NAMES
from vcdebug.debugger.commands import list_verbs
from vcdebug.debugger.fields import FIELD_NAMES
from vcdebug.explain.questions import QUESTIONS

SIGNS: Final = ("==", "!=", "<", "<=", ">", ">=", "in", "matches", "not in", "contains", "=")
PATTERNS: Final = ('"^(a+)+$"', '"("', '".*"', '"^ml/"', '"[[:alpha:]]{1,1000}"', '"(?P<a>x)"', '"\\\\p{L}"')
FIGURES: Final = (
    "node {} idle cpu",
    "queue {} allocated",
    "job {} ready",
    "task {} status",
    "plugin {} x",
    "{}",
    "node {} idle",
)
NOT_SCRIPTED: Final = ("save", "report", "odds", "recapture", "open", "quit")
"""Commands that write files under any name, or need a cluster or a screen."""


def script_lines(sound: Seed, lot: Random) -> list[str]:
    """Commands of the debugger, nearly all of them valid, because the first error ends a script."""
    names = [*sound.names_of("Pod", "PodGroup", "Queue", "Node"), "absent"]
    jobs = [*sound.names_of("PodGroup"), "absent"]
    verbs = [verb.names[0] for verb in list_verbs() if verb.names[0] not in NOT_SCRIPTED]
    lines = []
    for _ in range(lot.randrange(1, 7)):
        name = lot.choice(names)
        lines.append(
            lot.choice(
                (
                    lot.choice(verbs),
                    f"{lot.choice(verbs)} {lot.choice((name, '1', '2', '-1', 'all', '99999999999', *TEXTS))}",
                    f"{lot.choice(('break', 'find'))} {_breakpoint(name, lot)}",
                    f"{lot.choice(('break', 'find'))} {_breakpoint(name, lot)}",
                    f"watch {lot.choice((lot.choice(FIGURES).format(name), _condition(name, lot, 0)))}",
                    f"set {lot.choice(edit_lines(sound, lot))}",
                    f"ask {lot.choice(QUESTIONS).name} {name}",
                    f"why {lot.choice((name, lot.choice(FIGURES).format(name)))}",
                    f"{lot.choice(('about', 'back-about'))} {lot.choice(('job', 'task', 'node', 'queue'))} {name}",
                    f"{lot.choice(('explain', 'fits', 'jobs'))} {lot.choice(jobs)}",
                    f"{lot.choice(('pods', 'nodes', 'queues', 'goto', 'log'))} {lot.choice((name, '3', '+5'))}",
                    *("continue", "step", "next", "last-change", f"bookmark {HOSTILE}", "advance 2 10s"),
                )
            )
        )
    return lines


def _breakpoint(name: str, lot: Random) -> str:
    words = lot.choice(
        ("", "", lot.choice(HOOK_NAMES), lot.choice(FIGURES).format(name), "reject", "all", "any", "end")
    )
    condition = f"if {_condition(name, lot, 0)}" if lot.random() < 0.7 else ""
    ends = lot.choice(("", "", "once", "hits == 2", "hits % 3", "log {plugin} {x} {", "disabled"))
    return " ".join(filter(None, (lot.choice(list(BREAKPOINT_KINDS)), words, condition, ends)))


def _condition(name: str, lot: Random, depth: int) -> str:
    """A random expression, mostly with matching types."""
    if depth < 4 and lot.random() < 0.4:
        inner = _condition(name, lot, depth + 1)
        other = _condition(name, lot, depth + 1)
        return lot.choice(
            (f"not {inner}", f"({inner})", f"{inner} and {other}", f"{inner} or {other}", "(" * 300 + inner)
        )
    values = (
        f'"{name}"',
        "1",
        "0",
        "-1",
        "1.5",
        "true",
        "null",
        "permit",
        '["a", 1]',
        '"16Gi"',
        *PATTERNS,
        "1e999",
        "'a'",
    )
    field = lot.choice(FIELD_NAMES)
    return f"{lot.choice((field, field, f'count({field})', 'odd'))} {lot.choice(SIGNS)} {lot.choice((*values, field))}"


def edit_lines(sound: Seed, lot: Random) -> list[str]:
    """Edits in the form of --set."""
    targets = [
        f"{each['kind']}/{name}" for each in sound.objects()[:40] for name in sound.names_of(str(each["kind"]))[:2]
    ]
    paths = ("spec.weight", "spec.minMember", "spec.containers[0].resources.requests.cpu", "status.allocatable.cpu")
    odd = (
        "metadata.labels.a",
        "spec",
        "spec.taints[9]",
        "a[0].b",
        "[",
        ".",
        "spec..a",
        'metadata.annotations["a.b/c"]',
    )
    lines = []
    for _ in range(lot.randrange(1, 5)):
        value = lot.choice(
            (str(lot.choice(NUMBERS))[:60], str(lot.choice(QUANTITIES)), json.dumps(random_value(lot))[:300], "{")
        )
        target = lot.choice((*targets, *targets, "Queue/none", "Odd/a", "conf", "flag", "chance", "replay", "answer"))
        setting = lot.choice(
            ("actions", "tie_seed", "now", "tiers[0].plugins[0].name", "schedulerName", "1", "persistence")
        )
        path = lot.choice((*paths, *odd)) if "/" in target else setting
        lines.append(
            lot.choice((f"{target}:{path}={value}", f"{target}:{path}={value}", f"{target}:{path}-", f"{target}:-"))
        )
    return lines


def expect_text(sound: Seed, lot: Random) -> str:
    """A file of expectations."""
    jobs, pods = [*sound.names_of("PodGroup"), "none"], [*sound.names_of("Pod"), "none"]
    case = {
        "snapshot": "snapshot" if lot.random() < 0.9 else random_value(lot),
        "jobs": {lot.choice(jobs): {lot.choice(("placed", "cause", "pods", "nodes")): lot.choice((True, 1, [], "a"))}},
        "pods": {lot.choice(pods): {lot.choice(("placed", "evicted", "node")): lot.choice((False, "none", ["a"]))}},
        "evictions": 0,
        lot.choice(("set", "conf", "release", "waiting", "odd")): random_value(lot),
    }
    if lot.random() < 0.4:
        case[lot.choice(list(case))] = random_value(lot)
    try:
        return json.dumps([case], indent=1)
    except ValueError:  # an integer beyond Python's limit of digits
        return "[]"


def log_lines(sound: Seed, lot: Random) -> list[str]:
    """Lines of a scheduler's log; messages that contain names get names of the snapshot."""
    names = [*sound.names_of("Pod", "PodGroup", "Queue", "Node"), "absent", HOSTILE, ""]
    lines = []
    messages = list(MESSAGE_BY_KEY.values())
    for number in range(lot.randrange(1, 60)):
        message = lot.choice(messages)
        text = message.text
        while "{" in text:
            before, _, rest = text.partition("{")
            text = (
                before + lot.choice((lot.choice(names), "1", "-5", "9" * 30)).replace("{", "") + rest.partition("}")[2]
            )
        severity = lot.choice("IIIWEFX")
        lines.append(f"{severity}1121 12:27:40.{number:06d}    9346 {message.file}:{lot.choice((1, 0, 10**9))}] {text}")
    if lot.random() < 0.6:
        lines[:0] = ["I1121 12:27:39.000000    9346 scheduler.go:1] Start scheduling ..."]
    return lines
