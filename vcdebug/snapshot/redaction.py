"""Redaction: a copy of a snapshot that replays the same decisions and reveals no names.

Fields that the schema does not name are dropped. Texts get pseudonyms, numbers in them too, unless the scheduler itself
knows them or reads a number there. All times are moved by the same span, so that ages stay.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from typing import Any

import yaml
from msgspec import Struct
from msgspec.structs import asdict, replace

from vcdebug.linear_pattern import PatternError, compile_pattern
from vcdebug.releases.release import Release
from vcdebug.snapshot import device_config
from vcdebug.snapshot.cycle_inputs import NAMED_FIELDS, ChanceSettings, ClaimReservation, SchedulerProcess
from vcdebug.snapshot.go_yaml import edited_document
from vcdebug.snapshot.manifest import (
    GROUP_ANNOTATION,
    WorkloadFacts,
    metadata_of,
    name_of,
    spec_of,
    split_workload_key,
    workload_key,
)
from vcdebug.snapshot.problems import Problem
from vcdebug.snapshot.provenance import Provenance
from vcdebug.snapshot.redact_words import Pseudonyms, holds_numbers, is_read_annotation
from vcdebug.snapshot.schema import SHAPES
from vcdebug.snapshot.shapes import Shape
from vcdebug.snapshot.snapshot import DEFAULT_NOW, Manifest, Snapshot
from vcdebug.snapshot.yaml_documents import SAFE_DUMPER

REDACTED_NAME = "redacted"
VERSION = re.compile(r"v?\d{1,4}\.\d{1,4}(\.\d{1,4})?", re.ASCII)
PUBLIC_VERSION = re.compile(rf"master|({VERSION.pattern})(-(alpha|beta|rc)(\.\d+)?)?", re.ASCII)
"""Versions that upstream has published."""
QUOTED_ANSWER = re.compile(r"(the server answered \d+): .*", re.DOTALL)

PseudonymMap = dict[str, dict[str, str]]
"""(kind, `label` or `value`) → original text → pseudonym."""


class Redaction(Struct, frozen=True):
    """A redacted snapshot with its mapping and counts for a report."""

    snapshot: Snapshot
    mapping: PseudonymMap
    replaced_count: int
    """Number of distinct texts that were replaced."""
    kept_count: int
    """Number of distinct texts that were kept."""
    dropped_counts: tuple[tuple[str, int], ...]
    """Fields that were dropped, with counts."""
    names: Pseudonyms
    """Pseudonyms for further texts, such as an answer about the original snapshot."""


def redact_snapshot(snapshot: Snapshot) -> Snapshot:
    """The snapshot with pseudonyms."""
    return make_redaction(snapshot).snapshot


def make_redaction(snapshot: Snapshot) -> Redaction:
    """The snapshot with pseudonyms, the mapping, and counts."""
    # Both passes use one function: the second one can only replace words that the first one has collected.
    names = Pseudonyms(_clock_shift(snapshot), max(map(len, snapshot.objects.values()), default=0))
    rewritten = _rewrite_snapshot(snapshot, ManifestRewriter(names, collecting=True))
    for name in _indexed_names(rewritten):
        names.keep_index(name)
    for value in _compared_values(rewritten):
        names.keep_integer(value)
    names.choose_pseudonyms()
    rewriter = ManifestRewriter(names)
    written = _rewrite_snapshot(snapshot, rewriter)
    every = {text: new for texts in rewriter.texts.values() for text, new in texts.items()}
    mapping = {
        part: {text: new for text, new in sorted(texts.items()) if text != new}
        for part, texts in sorted(rewriter.texts.items())
    }
    replaced = len([text for text, new in every.items() if text != new])
    return Redaction(
        written,
        {part: texts for part, texts in mapping.items() if texts},
        replaced,
        len(every) - replaced,
        tuple(sorted(rewriter.dropped_counts.items())),
        names,
    )


def _indexed_names(snapshot: Snapshot) -> Iterator[str]:
    """Names of pods that belong to jobs: the scheduler compares the index at the end of the name."""
    for pod in snapshot.objects_of("Pod"):
        metadata = metadata_of(pod)
        if GROUP_ANNOTATION in (metadata.get("annotations") or {}):
            yield str(metadata.get("name") or "")


def _compared_values(snapshot: Snapshot) -> Iterator[str]:
    """Values of labels and taints that the scheduler reads as integers: for Gt and Lt, and to order sub jobs."""
    keys = {
        key: None
        for group in snapshot.objects_of("PodGroup")
        for policy in spec_of(group).get("subGroupPolicy") or ()
        for key in policy.get("matchLabelKeys") or ()
    }
    mappings = [mapping for manifests in snapshot.objects.values() for mapping in _iter_mappings(manifests)]
    keys |= {mapping.get("key"): None for mapping in mappings if mapping.get("operator") in ("Gt", "Lt")}
    for mapping in mappings if keys else ():
        values = [mapping.get(key) for key in keys]
        if mapping.get("key") in keys:
            values += [mapping.get("value"), *(mapping.get("values") or ())]
        yield from (value for value in values if isinstance(value, str))


def _iter_mappings(value: Any) -> Iterator[Manifest]:
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    for item in value if isinstance(value, list) else ():
        yield from _iter_mappings(item)


def _clock_shift(snapshot: Snapshot) -> timedelta:
    """Span from the snapshot's clock to the default clock in seconds; in whole days if revocable zones have hours."""
    shift = DEFAULT_NOW - snapshot.now.replace(microsecond=0)
    return timedelta(shift.days) if "revocable-zone" in (snapshot.scheduler_conf or "") else shift


def _rewrite_snapshot(snapshot: Snapshot, rewriter: ManifestRewriter) -> Snapshot:
    """The snapshot with every text passed through the rewriter."""
    objects = {
        kind: [rewriter.rewrite_manifest(kind, SHAPES[kind], manifest, snapshot.objects) for manifest in manifests]
        for kind, manifests in snapshot.objects.items()
    }
    conf = snapshot.scheduler_conf
    return replace(
        snapshot,
        name=REDACTED_NAME,
        origin="",
        description="",
        objects=objects,
        now=snapshot.now + rewriter.clock_shift,
        scheduler_conf=None if conf is None else redact_conf(conf, rewriter.rewrite_numbers),
        flags=replace(
            rewrite_document(snapshot.flags, rewriter.rewrite_value), release=_rewrite_release(snapshot.flags.release)
        ),
        answers=tuple(
            answer._replace(value=rewriter.rewrite_numbers(answer.value), text="") for answer in snapshot.answers
        ),
        usage={
            rewriter.rewrite_value(node): rewrite_document(measured, rewriter.rewrite_numbers)
            for node, measured in snapshot.usage.items()
        },
        extender=rewrite_document(snapshot.extender, rewriter.rewrite_value),
        device_config=_rewrite_device_config(snapshot.device_config, rewriter),
        process=_rewrite_process(snapshot.process, rewriter),
        bound=rewrite_document(snapshot.bound, rewriter.rewrite_value),
        workloads=_rewrite_workloads(snapshot.workloads, rewriter),
        problems=[_rewrite_problem(problem, rewriter) for problem in snapshot.problems],
        provenance=_rewrite_provenance(snapshot.provenance, rewriter),
        chance=_rewrite_chance(snapshot.chance, rewriter),
    )


def _rewrite_workloads(workloads: Mapping[str, WorkloadFacts], rewriter: ManifestRewriter) -> dict[str, WorkloadFacts]:
    """Names, queue and state of operators' objects; roles are dropped, since pseudonyms would match no pod."""
    value, renamed = rewriter.rewrite_value, {}
    for key, facts in workloads.items():
        namespace, kind, name = split_workload_key(key)
        queue = value(facts.queue) if facts.queue else ""
        owners = tuple(value(each) for each in facts.owners)
        renamed[workload_key(value(namespace), value(kind), value(name))] = WorkloadFacts(
            queue, facts.suspended, owners=owners, ended=facts.ended
        )
    return renamed


def _rewrite_chance(chance: ChanceSettings, rewriter: ManifestRewriter) -> ChanceSettings:
    value = rewriter.rewrite_value
    fields: dict[str, Any] = {
        name: {value(owner): ";".join(map(value, texts.split(";"))) for owner, texts in getattr(chance, name).items()}
        for name in NAMED_FIELDS
        if name != "searches"
    }
    # Searches are ranges of node indexes, which contain no names.
    return replace(chance, searches={value(pod): text for pod, text in chance.searches.items()}, **fields)


def _rewrite_device_config(text: str | None, rewriter: ManifestRewriter) -> str | None:
    """The parts of a device configuration that decide, with pseudonyms; None for an unreadable one."""
    if text is None or not device_config.is_readable(text):
        return None
    names = device_config.VgpuNames(
        *(rewriter.rewrite_value(name) if name else "" for name in device_config.read_vgpu_names(text))
    )
    return device_config.dump_vgpu_config(
        names, _rewrite_mig_settings(device_config.read_mig_settings(text), rewriter)
    ) + device_config.dump_renamed_npus(text, rewriter.rewrite_value)


def _rewrite_mig_settings(settings: device_config.MigSettings, rewriter: ManifestRewriter) -> device_config.MigSettings:
    kinds = [
        device_config.KnownCards(tuple([rewriter.rewrite_numbers(model) for model in kind.models]), kind.geometries)
        for kind in settings.cards
    ]
    return replace(settings, cards=tuple(kinds))


def _rewrite_release(release: Release) -> Release:
    """The release with the same rules; the name of a private build becomes `VERSION-fork`."""
    version, *switches = release.stated_name.split(",")
    if not PUBLIC_VERSION.fullmatch(version) and (match := VERSION.match(version)):
        version = f"{match[0]}-fork"
    elif not PUBLIC_VERSION.fullmatch(version):
        version, switches = str(release.name) if version else "", []
    return Release(release.name, release.older_forms, ",".join([version, *switches]))


def _rewrite_process(process: SchedulerProcess, rewriter: ManifestRewriter) -> SchedulerProcess:
    value, numbers = rewriter.rewrite_value, rewriter.rewrite_numbers
    hyper_nodes = rewrite_document(process.hyper_nodes, value)
    reserved = tuple(
        replace(row, node=value(row.node), pod=value(row.pod), uid=value(row.uid), cpus=numbers(row.cpus))
        for row in process.reserved_cpus
    )
    claims = tuple(_rewrite_reservation(row, value) for row in process.reserved_claims)
    times = {name: getattr(process, name) for name in ("started", "last_rescheduling", "last_eviction")}
    return replace(
        process,
        hyper_nodes=hyper_nodes,
        reserved_cpus=reserved,
        reserved_claims=claims,
        **{name: time + rewriter.clock_shift for name, time in times.items() if time is not None},
    )


def _rewrite_reservation(row: ClaimReservation, value: RewriteText) -> ClaimReservation:
    texts = [{key: value(text) for key, text in entry.items() if isinstance(text, str)} for entry in row.devices or ()]
    devices = [{**entry, **renamed} for entry, renamed in zip(row.devices or (), texts, strict=True)]
    return ClaimReservation(
        value(row.claim), value(row.pod), value(row.node), None if row.devices is None else tuple(devices)
    )


def _rewrite_problem(problem: Problem, rewriter: ManifestRewriter) -> Problem:
    """A Problem with pseudonyms and without the server's own text."""
    sentence = rewriter.sentence
    return Problem(
        sentence(problem.file),
        sentence(problem.object),
        sentence(problem.field),
        sentence(QUOTED_ANSWER.sub(r"\1", problem.what)),
        sentence(problem.effect),
    )


def _rewrite_provenance(provenance: Provenance | None, rewriter: ManifestRewriter) -> Provenance | None:
    """A provenance without context, server and user, and with pseudonyms for objects."""
    if provenance is None:
        return None
    return replace(
        provenance,
        context="",
        server="",
        user="",
        namespace=rewriter.rewrite_value(provenance.namespace) if provenance.namespace else "",
        started=provenance.started and provenance.started + rewriter.clock_shift,
        finished=provenance.finished and provenance.finished + rewriter.clock_shift,
        resource_versions={kind: rewriter.rewrite_value(one) for kind, one in provenance.resource_versions.items()},
        changed=tuple(rewriter.sentence(name) for name in provenance.changed),
        schedulers=tuple(rewriter.rewrite_value(name) for name in provenance.schedulers),
        missing=tuple(rewriter.sentence(name) for name in provenance.missing),
    )


SECTIONS = ("actions", "tiers", "configurations", "metrics")
METRICS = ("type", "interval")
"""Kept fields of the section metrics; address and password are dropped."""
REDACTED_ADDRESS = "http://redacted.invalid"
NOT_YAML = "{"
"""Replaces an invalid configuration; the scheduler rejects this text as well."""
_CORE = "tag:yaml.org,2002:"
_TEXT = f"{_CORE}str"


def redact_conf(text: str, rewrite: RewriteText) -> str:
    """The configuration with known sections and pseudonyms, without comments and addresses."""
    # YAML nodes instead of plain data: scalars keep their types, and an argument of another type is refused.
    try:
        root = edited_document(text)
    except (yaml.YAMLError, ValueError):
        return NOT_YAML
    if root is None:
        return ""
    if not all(node.tag.startswith(_CORE) for node in _iter_nodes(root, {})):
        return NOT_YAML
    if isinstance(root, yaml.MappingNode):
        root.value = [(key, value) for key, value in root.value if key.value in SECTIONS]
        for key, value in root.value:
            if key.value == "metrics" and isinstance(value, yaml.MappingNode):
                value.value = [(name, item) for name, item in value.value if name.value in METRICS]
    for node in list(_iter_nodes(root, {})):
        if isinstance(node, yaml.ScalarNode) and node.tag == _TEXT:
            node.value = REDACTED_ADDRESS if "://" in node.value else rewrite(node.value)
    return str(yaml.serialize(root, Dumper=SAFE_DUMPER))


def _iter_nodes(node: yaml.Node, visited: dict[int, None]) -> Iterator[yaml.Node]:
    """Yield each node once, however many aliases refer to it."""
    if id(node) in visited:
        return
    visited[id(node)] = None
    yield node
    if isinstance(node, yaml.CollectionNode):
        for item in node.value:
            for inner in item if isinstance(item, tuple) else (item,):
                yield from _iter_nodes(inner, visited)


LABEL_MAPS = ("labels", "matchLabels", "nodeSelector", "selector", "annotations")
"""Fields whose keys are label keys."""
TEXT_MAPS = (*LABEL_MAPS, "parameters", "policies", "resReserved")
NUMBER_FIELDS = ("minAvailable", "maxUnavailable", "allocatable")
"""Text fields that hold numbers."""
LABEL_KEYS = ("key", "topologyKey", "topologyKeys", "matchLabelKeys", "mismatchLabelKeys")
DROPPED_FIELDS = frozenset({"targetPortal", "transitionID", "expression"})
"""Text fields of the schema that the scheduler does not use; they are dropped."""
ANY_ADDRESS = ("", "0.0.0.0", "::")
NEVER_MATCHES = "^$"

RewriteText = Callable[[str], str]
Objects = Mapping[str, list[Manifest]]


class ManifestRewriter:
    """Passes each text of a manifest through one function, and notes texts and dropped fields."""

    def __init__(self, names: Pseudonyms, *, collecting: bool = False) -> None:
        self._rewrite = names.collect_words if collecting else names.rewrite_text
        self.sentence = names.collect_words if collecting else names.rewrite_sentence
        self.rewrite_numbers = names.collect_numbers if collecting else names.rewrite_numbers
        self.move_time = names.move_time
        self.clock_shift = names.clock_shift
        self.texts: PseudonymMap = {}
        self.dropped_counts: dict[str, int] = {}
        self._kind = ""
        self._objects: Objects = {}

    def rewrite_manifest(self, kind: str, shape: Shape, manifest: Manifest, objects: Objects) -> Manifest:
        """The rewritten copy of one object."""
        self._kind, self._objects = kind, objects
        written: Manifest = shape.rename_texts(manifest, (), self)
        return written

    def rewrite_value(self, text: str) -> str:
        """The replacement of a text that is neither a label key nor an object's name."""
        return self._note_text("value", text)

    def rename_key(self, text: str, path: tuple[str, ...]) -> str:
        """The replacement of a mapping's key."""
        if path[-1:] == ("cpuDetail",):
            return self.rewrite_numbers(text)
        return self._note_text("label" if path and path[-1] in LABEL_MAPS else "value", text)

    def rename_text(self, text: str, path: tuple[str, ...]) -> str | None:
        """The replacement of a field's text; None drops the field."""
        name = path[-1] if path else ""
        if path[-2:-1] and path[-2] in TEXT_MAPS:
            numbers = path[-2] == "resReserved" or (path[-2] != "parameters" and holds_numbers(name))
            return self.rewrite_numbers(text) if numbers else self.rewrite_value(text)
        if name in NUMBER_FIELDS:
            return self.rewrite_numbers(text)
        if path in (("kind",), ("apiVersion",)):
            return self._rewrite(text)
        if name in DROPPED_FIELDS:
            return None
        if name == "message":
            return self.sentence(text)
        if name == "hostIP" and text in ANY_ADDRESS:
            return text
        if name == "pattern":
            return self._rewrite_pattern(text)
        if path == ("metadata", "name"):
            return self._note_text(self._kind, text)
        return self._note_text("label" if name in LABEL_KEYS else "value", text)

    def drops_key(self, field: str, path: tuple[str, ...]) -> bool:
        """Whether the key is an annotation that the scheduler does not read."""
        if path != ("metadata", "annotations") or is_read_annotation(field):
            return False
        self.note_dropped(path, "*")
        return True

    def note_dropped(self, path: tuple[str, ...], field: str) -> None:
        """Count a dropped field."""
        name = ".".join((self._kind, *path, field))
        self.dropped_counts[name] = self.dropped_counts.get(name, 0) + 1

    def _note_text(self, part: str, text: str) -> str:
        new = self.texts.setdefault(part, {})[text] = self._rewrite(text)
        return new

    def _rewrite_pattern(self, text: str) -> str:
        """A pattern that matches the pseudonyms of the same nodes; an invalid pattern is replaced by an invalid one."""
        try:
            matches = compile_pattern(text)
        except PatternError:
            return "("
        # The pattern's own letters may spell names: a list of the matching pseudonyms decides the same.
        names = [name_of(manifest) for kind in ("Node", "HyperNode") for manifest in self._objects.get(kind, ())]
        matching = [self._rewrite(name) for name in names if matches(name)]
        return f"^({'|'.join(re.escape(name) for name in dict.fromkeys(matching))})$" if matching else NEVER_MATCHES


def rewrite_document(value: Any, rewrite: RewriteText) -> Any:
    """The rewritten copy of settings or of a document without a schema, with all texts in it, also keys."""
    if isinstance(value, str):
        return rewrite(value)
    if isinstance(value, Mapping):
        return {rewrite(str(key)): rewrite_document(item, rewrite) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(rewrite_document(item, rewrite) for item in value)
    if isinstance(value, Struct):
        return replace(value, **{name: rewrite_document(field, rewrite) for name, field in asdict(value).items()})
    return value
