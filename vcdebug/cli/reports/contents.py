"""The report of `vcdebug inspect`: objects, problems, missing kinds, and the configuration in force."""

from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import asdict

from vcdebug.amount_text import count_noun, verb_for
from vcdebug.explain.answer import Explanation
from vcdebug.framework.conf import PluginOption, SchedulerConf
from vcdebug.grouping import group_by_key
from vcdebug.recording.effects import cycle_effects
from vcdebug.recording.input_problems import input_problems
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import replay_cycle
from vcdebug.recording.session_closing import crash_report
from vcdebug.snapshot import provenance
from vcdebug.snapshot.device_config import read_vgpu_names
from vcdebug.snapshot.kinds import KINDS
from vcdebug.snapshot.object_checks import completeness_problems
from vcdebug.snapshot.problems import DOUBTED_FAULTS, Problem
from vcdebug.snapshot.provenance import Provenance
from vcdebug.snapshot.settings import RELEASE_FIELDS
from vcdebug.snapshot.snapshot import Snapshot
from vcdebug.views.conf import value_text
from vcdebug.views.document import Block, make_listing, make_paragraph


class Inspection(Struct, frozen=True):
    """The contents and problems of a snapshot."""

    snapshot: Snapshot
    conf: SchedulerConf
    problems: tuple[Problem, ...]
    persistence: str
    pending_jobs: int
    """The number of jobs that have Pending pods after the cycle."""


def inspect_snapshot(snapshot: Snapshot) -> Inspection:
    """Replay the snapshot and collect its problems; a panic of the scheduler is the first of them."""
    recording = replay_cycle(snapshot)
    panic = [Problem("", "", "", "; ".join(lines), "")] if (lines := crash_report(recording)) else []
    problems = (*panic, *completeness_problems(snapshot), *input_problems(recording))
    pending = len([job for job in cycle_effects(recording).jobs if job.pending])
    return Inspection(snapshot, recording.conf, problems, recording.session.persistence.setting_text, pending)


def inspection_document(inspection: Inspection) -> dict[str, object]:
    """The JSON document of an inspection."""
    snapshot, conf = inspection.snapshot, inspection.conf
    return {
        "snapshot": snapshot.name,
        "description": snapshot.description,
        "now": snapshot.now.isoformat(),
        **({"capture": provenance.provenance_document(snapshot.provenance)} if snapshot.provenance is not None else {}),
        "release": snapshot.release.build_document(),
        "objects": dict(_object_counts(snapshot)),
        "missing": [{"kind": name, "falsifies": text} for name, text in _missing_kinds(snapshot)],
        "problems": [{**asdict(problem), "line": problem.format_line()} for problem in inspection.problems],
        "configuration": {
            "builtIn": conf.built_in,
            "actions": list(conf.actions),
            "tiers": [[_option_document(option) for option in tier] for tier in conf.tiers],
            "actionArguments": {
                name: {str(k): v for k, v in arguments.items()} for name, arguments in conf.action_arguments.items()
            },
        },
        "persistence": inspection.persistence,
        "flags": snapshot.flags.changed_values(),
    }


def _option_document(option: PluginOption) -> dict[str, object]:
    arguments = {str(key): value for key, value in option.arguments.items()}
    return {"name": option.name, "switches": dict(option.switches), "arguments": arguments}


def _object_counts(snapshot: Snapshot) -> Iterator[tuple[str, int]]:
    for name in sorted(snapshot.objects):
        if snapshot.objects[name]:
            yield name, len(snapshot.objects[name])


def _missing_kinds(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    """(kind, effect) of kinds without objects, except those that the capture listed and found empty."""
    # A capture lists empty kinds with a resource version: those are known to be empty.
    looked = snapshot.provenance.resource_versions if snapshot.provenance is not None else {}
    for kind in KINDS:
        if kind.is_read and not kind.settings and not snapshot.objects_of(kind.name) and kind.name not in looked:
            yield kind.name, kind.if_missing


def inspection_blocks(inspection: Inspection) -> Iterator[Block]:
    """The text report."""
    snapshot, conf = inspection.snapshot, inspection.conf
    yield make_paragraph(
        f"{snapshot.name or 'snapshot'}: {snapshot.description}" if snapshot.description else snapshot.name, "title"
    )
    yield make_paragraph(f"clock {snapshot.now.isoformat()}")
    if snapshot.provenance is not None:
        yield from _provenance_blocks(snapshot.provenance)
    yield make_paragraph(snapshot.release.describe_trust())
    yield make_paragraph("")
    yield make_listing(("kind", "objects#"), tuple((name, str(number)) for name, number in _object_counts(snapshot)))
    yield make_paragraph("")
    yield from _configuration_blocks(conf)
    yield make_paragraph(inspection.persistence)
    yield make_paragraph("")
    yield from _flag_blocks(snapshot)
    if snapshot.device_config is not None:
        yield make_paragraph(f"vGPU resource names: {', '.join(filter(None, read_vgpu_names(snapshot.device_config)))}")
        yield make_paragraph("")
    yield from _missing_kind_blocks(snapshot)
    yield from _problem_blocks(inspection.problems)
    if count := inspection.pending_jobs:
        yield make_paragraph(
            f"{count_noun(count, 'job')} {verb_for(count, 'has')} Pending pods: vcdebug explain says why"
        )


def _flag_blocks(snapshot: Snapshot) -> Iterator[Block]:
    if changed := snapshot.flags.changed_values():
        yield make_paragraph("scheduler flags with non-default values", "title")
        yield make_listing(("flag", "value"), tuple((name, value_text(value)) for name, value in changed.items()), 2)
        yield make_paragraph("")


def _missing_kind_blocks(snapshot: Snapshot) -> Iterator[Block]:
    yield make_paragraph("not in the snapshot (can change the result if the cluster has them)", "title")
    missing = group_by_key((effect, name) for name, effect in _missing_kinds(snapshot))
    yield make_listing(
        ("can change", "kinds"), tuple((effect, ", ".join(names)) for effect, names in missing.items()), 2
    )
    yield make_paragraph("")


def _problem_blocks(problems: Sequence[Problem]) -> Iterator[Block]:
    if problems:
        yield make_paragraph(f"input problems: {len(problems)}", "bad")
        yield from (make_paragraph(problem.format_line(), indent=2) for problem in problems)
    else:
        yield make_paragraph("no input problems", "good")


def _provenance_blocks(provenance: Provenance) -> Iterator[Block]:
    """The cluster, the user of the capture, and whether all objects are of one moment."""
    place = provenance.server or "a cluster"
    user = f" as {provenance.user}" if provenance.user else ""
    reach = f", {provenance.access}" if provenance.access else ""
    yield make_paragraph(f"captured from {place}{user}{reach}")
    if provenance.consistent:
        version = next(iter(provenance.resource_versions.values()), "")
        same = len(dict.fromkeys(provenance.resource_versions.values())) == 1
        state = f"resource version {version}" if same else "no changes between two reads"
        yield make_paragraph(f"consistent capture ({state}){_capture_duration(provenance)}")
    else:
        changed = ", ".join(provenance.changed) or "objects"
        yield make_paragraph(
            f"inconsistent capture: {changed} changed while it was read{_capture_duration(provenance)}", "bad"
        )
    scheduler, *others = provenance.schedulers or ("",)
    if others:
        yield make_paragraph(f"scheduler {scheduler}; also in the cluster: {', '.join(others)}")


def _capture_duration(provenance: Provenance) -> str:
    if provenance.started is None or provenance.finished is None:
        return ""
    return f", in {(provenance.finished - provenance.started).total_seconds():.0f} s"


def _configuration_blocks(conf: SchedulerConf) -> Iterator[Block]:
    source = " (built-in)" if conf.built_in else ""
    yield make_paragraph(f"effective configuration{source}", "title")
    yield make_paragraph(f"actions: {', '.join(conf.actions)}", indent=2)
    rows = [
        (str(number), option.name, _switch_text(option), arguments or "-")
        for number, tier in enumerate(conf.tiers, start=1)
        for option in tier
        for arguments in (", ".join(f"{key}: {value}" for key, value in option.arguments.items()),)
    ]
    if rows:
        yield make_listing(("tier#", "plugin", "switches", "arguments"), tuple(rows), 2)
    for name, arguments in conf.action_arguments.items():
        text = ", ".join(f"{key}: {value}" for key, value in arguments.items())
        yield make_paragraph(f"arguments of {name}: {text or 'none'}", indent=2)
    yield make_paragraph("")


def _switch_text(option: PluginOption) -> str:
    switches = (f"{name}: {str(value).lower()}" for name, value in sorted(option.switches.items()))
    return ", ".join(switches) or "-"


# A part of other reports.


MAX_PROBLEMS_SHOWN = 2


def input_problem_lines(recording: Recording, explanation: Explanation | None = None) -> Iterator[Block]:
    """Problems of the input, which may change the answer: each one if they are few, else their number.

    Those that the explanation states are left out: of its facts and, in the line about the release, of the release.
    """
    problems = list(input_problems(recording))
    if explanation is not None:
        fields = RELEASE_FIELDS if explanation.release.stated_name else ()
        stated = [*explanation.dominant.stated_problems, *(one for one in problems if one.what in DOUBTED_FAULTS)]
        problems = [problem for problem in problems if problem.field not in fields and problem not in stated]
    if len(problems) > MAX_PROBLEMS_SHOWN:
        yield make_paragraph(f"{count_noun(len(problems), 'input problem')} (list: vcdebug inspect)", "bad")
    else:
        yield from (make_paragraph(f"Input problem: {problem.format_line()}", "bad") for problem in problems)
