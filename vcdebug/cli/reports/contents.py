"""The report of `vcdebug inspect`: what a snapshot holds, what is wrong or missing, what configuration is in force."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass

from vcdebug.cli.reports.input import release_document, release_line
from vcdebug.framework.conf import PluginOption, SchedulerConf
from vcdebug.grouping import by_key
from vcdebug.snapshot import provenance
from vcdebug.snapshot.completeness import completeness_problems
from vcdebug.snapshot.device_config import vgpu_names
from vcdebug.snapshot.kinds import KINDS
from vcdebug.snapshot.problem import Problem
from vcdebug.snapshot.provenance import Provenance
from vcdebug.snapshot.snapshot import Flags, Snapshot
from vcdebug.trace.conf import parse_conf
from vcdebug.trace.input_problems import input_problems
from vcdebug.trace.recording import Recording
from vcdebug.trace.replay import opened
from vcdebug.views.conf import changed_flags
from vcdebug.views.document import Block, listing, paragraph


@dataclass(frozen=True, slots=True)
class Inspection:
    """What there is to say about a snapshot before it is replayed."""

    snapshot: Snapshot
    conf: SchedulerConf
    problems: tuple[Problem, ...]
    persistence: str


def inspect(snapshot: Snapshot) -> Inspection:
    """Look at the objects, the configuration, and what its plugins miss, without running the cycle."""
    conf = parse_conf(snapshot.scheduler_conf, snapshot.release)
    session = opened(snapshot, conf)
    found = (*completeness_problems(snapshot), *input_problems(Recording(snapshot, conf, session)))
    return Inspection(snapshot, conf, found, session.persistence.text)


def document(inspection: Inspection) -> dict[str, object]:
    """For programs."""
    snapshot, conf = inspection.snapshot, inspection.conf
    return {
        "snapshot": snapshot.name,
        "description": snapshot.description,
        "now": snapshot.now.isoformat(),
        **({"capture": provenance.document(snapshot.provenance)} if snapshot.provenance is not None else {}),
        "release": release_document(snapshot.release),
        "objects": dict(_counts(snapshot)),
        "missing": [{"kind": name, "falsifies": text} for name, text in _missing(snapshot)],
        "problems": [{**asdict(problem), "line": problem.line()} for problem in inspection.problems],
        "configuration": {
            "builtIn": conf.built_in,
            "actions": list(conf.actions),
            "tiers": [[_option_document(option) for option in tier] for tier in conf.tiers],
            "actionArguments": {
                name: {str(k): v for k, v in arguments.items()} for name, arguments in conf.action_arguments.items()
            },
        },
        "persistence": inspection.persistence,
        "flags": _changed_flags(snapshot.flags),
    }


def _option_document(option: PluginOption) -> dict[str, object]:
    arguments = {str(key): value for key, value in option.arguments.items()}
    return {"name": option.name, "switches": dict(option.switches), "arguments": arguments}


def _counts(snapshot: Snapshot) -> Iterator[tuple[str, int]]:
    for name in sorted(snapshot.objects):
        if snapshot.objects[name]:
            yield name, len(snapshot.objects[name])


def _missing(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    """Kinds without objects, unless a capture has looked and found none."""
    looked = snapshot.provenance.resource_versions if snapshot.provenance is not None else {}
    for kind in KINDS:
        if not kind.settings and not snapshot.of(kind.name) and kind.name not in looked:
            yield kind.name, kind.falsifies


def _missing_by_effect(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    kinds = by_key((effect, name) for name, effect in _missing(snapshot))
    yield from ((effect, ", ".join(names)) for effect, names in kinds.items())


def _changed_flags(flags: Flags) -> dict[str, object]:
    return {name: _plain(value) for name, value in changed_flags(flags).items()}


def _plain(value: object) -> object:
    if isinstance(value, tuple):
        return list(value)
    return dict(value) if isinstance(value, dict) else value


def blocks(inspection: Inspection) -> Iterator[Block]:
    """For people."""
    snapshot, conf = inspection.snapshot, inspection.conf
    yield paragraph(
        f"{snapshot.name or 'snapshot'}: {snapshot.description}" if snapshot.description else snapshot.name, "title"
    )
    yield paragraph(f"clock {snapshot.now.isoformat()}")
    if snapshot.provenance is not None:
        yield from _provenance(snapshot.provenance)
    yield paragraph(release_line(snapshot.release))
    yield paragraph("")
    yield listing(("kind", "objects#"), tuple((name, str(number)) for name, number in _counts(snapshot)))
    yield paragraph("")
    yield from _configuration(conf)
    yield paragraph(inspection.persistence)
    yield paragraph("")
    changed = _changed_flags(snapshot.flags)
    if changed:
        yield paragraph("scheduler flags that are not the default", "title")
        yield listing(("flag", "value"), tuple((name, str(value)) for name, value in changed.items()), 2)
        yield paragraph("")
    if snapshot.device_config is not None:
        yield paragraph(f"virtual GPUs are asked for as {', '.join(filter(None, vgpu_names(snapshot.device_config)))}")
        yield paragraph("")
    yield paragraph("not in the snapshot: what a replay cannot know if the cluster has them", "title")
    yield listing(("falsifies", "kinds"), tuple(_missing_by_effect(snapshot)), 2)
    yield paragraph("")
    if not inspection.problems:
        yield paragraph("no problems", "good")
        return
    yield paragraph(f"problems: {len(inspection.problems)}", "bad")
    yield from (paragraph(problem.line(), indent=2) for problem in inspection.problems)


def _provenance(found: Provenance) -> Iterator[Block]:
    """Which cluster it was, who looked, and whether all of it is of one moment."""
    place = found.server or "a cluster"
    who = f" as {found.user}" if found.user else ""
    reach = f", {found.access}" if found.access else ""
    yield paragraph(f"read from {place}{who}{reach}")
    if found.consistent:
        version = next(iter(found.resource_versions.values()), "")
        same = len(dict.fromkeys(found.resource_versions.values())) == 1
        state = f"resource version {version}" if same else "nothing changed between two readings"
        yield paragraph(f"captured as of one moment, {state}{_took(found)}")
    else:
        changed = ", ".join(found.changed) or "objects"
        yield paragraph(f"read at different moments: {changed} changed meanwhile{_took(found)}", "bad")
    if len(found.schedulers) > 1:
        yield paragraph(f"scheduler {found.schedulers[0]}; others in the cluster: {', '.join(found.schedulers[1:])}")


def _took(found: Provenance) -> str:
    if found.started is None or found.finished is None:
        return ""
    return f", in {(found.finished - found.started).total_seconds():.0f} s"


def _configuration(conf: SchedulerConf) -> Iterator[Block]:
    source = "the built-in configuration" if conf.built_in else "the configuration"
    yield paragraph(f"{source} in force", "title")
    yield paragraph(f"actions: {', '.join(conf.actions)}", indent=2)
    rows = [
        (str(number), option.name, _switches(option), _arguments(option))
        for number, tier in enumerate(conf.tiers, start=1)
        for option in tier
    ]
    if rows:
        yield listing(("tier#", "plugin", "switches that are set", "arguments"), tuple(rows), 2)
    for name, arguments in conf.action_arguments.items():
        text = ", ".join(f"{key}: {value}" for key, value in arguments.items())
        yield paragraph(f"arguments of {name}: {text or 'none'}", indent=2)
    yield paragraph("")


def _switches(option: PluginOption) -> str:
    stated = (f"{name}: {str(value).lower()}" for name, value in sorted(option.switches.items()))
    return ", ".join(stated) or "-"


def _arguments(option: PluginOption) -> str:
    return ", ".join(f"{key}: {value}" for key, value in option.arguments.items()) or "-"
