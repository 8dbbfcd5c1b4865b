"""From the bytes of files to objects by kind: documents, Lists, settings, and Problems for everything else."""

import codecs
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from vcdebug.amount_text import count_noun
from vcdebug.errors import SnapshotError
from vcdebug.snapshot import file_forms
from vcdebug.snapshot.archive import SourceFile
from vcdebug.snapshot.file_access import read_file
from vcdebug.snapshot.json_documents import JsonError, ObjectText, OpenList, ReadSoFar, json_documents
from vcdebug.snapshot.kinds import KIND_BY_NAME, find_kind
from vcdebug.snapshot.manifest import WorkloadFacts, facts_by_name, metadata_of, object_in, owners_of, workload_key
from vcdebug.snapshot.problems import OBJECTS_MISSING, REST_IGNORED, UNREAD_API, ProblemReport
from vcdebug.snapshot.schema import slim_manifest
from vcdebug.snapshot.settings import DEVICE_CONFIG_FILE as DEVICE_FILE
from vcdebug.snapshot.settings import has_mark, is_running_scheduler
from vcdebug.snapshot.shapes import ObjectIntake, describe_value
from vcdebug.snapshot.snapshot import Manifest
from vcdebug.snapshot.yaml_documents import MAX_DEPTH, DocumentError, TellRepeated, yaml_documents

if TYPE_CHECKING:
    from vcdebug.snapshot.json_objects import ObjectReader


META_FILE = "meta.json"
USAGE_FILE = "usage.json"
EXTENDER_FILE = "extender.json"
SETTINGS_FILES = (META_FILE, USAGE_FILE, EXTENDER_FILE)

_LEFT_OUT = "object ignored"
_NOT_AN_OBJECT = "ignored"
_LAST_COUNTS = "the last value is used, as Go does; kubectl apply would reject the object"
_ONLY_EXISTING = "only existing pods and PodGroups are used, not those that its controller would create"
_UNREAD_EFFECTS = {
    "Job": f"{_ONLY_EXISTING} (see vcdebug submit)",
    "CronJob": _ONLY_EXISTING,
    "DaemonSet": "only its existing pods are used",
}
_UNREAD_EFFECT = "the scheduler does not read this kind"
_OWNED = ("Pod", "PodGroup", "ReplicaSet", "StatefulSet")


UNREAD_KIND = "of an unsupported kind"


class GatheredObjects:
    """Everything found in a snapshot's files, before it is checked as a whole."""

    def __init__(self, report: ProblemReport) -> None:
        self.report = report
        # Only fields that the replay reads are kept, and equal texts are shared, to hold large clusters in memory.
        self._intake = ObjectIntake()
        self._reader: ObjectReader | None = None
        self._has_scheduler = False
        self.objects: dict[str, list[Manifest]] = {}
        self.files: dict[str, list[str]] = {}
        """The file of each object, in the order of `objects`."""
        self.confs: list[tuple[str, str]] = []
        """Texts of scheduler configuration files: (file, text)."""
        self.settings: dict[str, list[tuple[str, Manifest]]] = {}
        """ConfigMaps and Deployments by kind: (file, manifest)."""
        self.scheduler_pods: list[tuple[str, Manifest]] = []
        """Running pods of Volcano's scheduler as they were read: (file, manifest)."""
        self.meta: tuple[str, Manifest] = ("", {})
        self.usage: tuple[str, Manifest] = ("", {})
        self.extender: tuple[str, Manifest] = ("", {})
        self.device_configs: list[tuple[str, str]] = []
        """Texts of device configurations: (file, text)."""
        self.workloads: dict[str, WorkloadFacts] = {}
        """`namespace/Kind name` → facts from an operator's object about its pods."""
        self._unknown: dict[str, tuple[str, str, list[str]]] = {}
        self._watched: dict[tuple[object, str], Manifest] = {}
        """The last state of each object of a watch, by kind and name."""

    def add_file(self, file: SourceFile, read_so_far: ReadSoFar | None = None) -> None:
        """Read one file; after an error the objects before it are kept."""
        name = file.name
        data, surroundings = file_forms.strip_surroundings(file.data)
        for fault, effect in surroundings:
            self.report.add_problem(fault, effect, file=name)
        try:
            encoding_of(data)
            if words := file_forms.table_words(data):
                raise DocumentError(words)
            if has_bad_bytes(data):
                self.report.add_problem("contains invalid UTF-8", "replaced by U+FFFD", file=name)
            if PurePosixPath(name).name in SETTINGS_FILES:
                self._add_settings(name, data)
            elif PurePosixPath(name).name == DEVICE_FILE:
                self.device_configs.append((name, decode_text(data)))
            elif name.endswith(".conf"):
                self.confs.append((name, decode_text(data)))
            elif file_forms.is_description(data):
                self._add_descriptions(name, decode_text(data))
            else:
                self._add_documents(SourceFile(name, data), read_so_far)
        except DocumentError as error:
            self.report.add_problem(file_forms.template_words(data) or str(error), REST_IGNORED, file=name)
        watched, self._watched = self._watched, {}
        for number, manifest in enumerate(watched.values(), start=1):
            self.add_document(manifest, name, f"watched object {number}")

    def _add_descriptions(self, name: str, text: str) -> None:
        effect = "fields that it does not print are missing: `kubectl get -o json` has all of them"
        self.report.add_problem("is the output of kubectl describe", effect, file=name)
        for number, manifest in enumerate(file_forms.described_objects(text), start=1):
            self.add_document(manifest, name, f"object {number}")

    def _add_settings(self, name: str, data: bytes) -> None:
        for document in read_documents(data):
            if not isinstance(document, dict):
                self.report.add_problem(f"is {describe_value(document)}, not a mapping", "ignored", file=name)
            elif PurePosixPath(name).name == META_FILE:
                self.meta = (name, document)
            elif PurePosixPath(name).name == EXTENDER_FILE:
                self.extender = (name, document)
            else:
                self.usage = (name, document)

    def _add_documents(self, file: SourceFile, read_so_far: ReadSoFar | None) -> None:
        report = partial(self._note_repeated, file.name)
        self._has_scheduler = has_mark(file.data)
        damage = partial(self._note_mended, file.name)
        documents = read_documents(file.data, read_so_far, unread=True, report_repeated=report, report_mended=damage)
        for number, raw in enumerate(documents, start=1):
            document = self._read_object_text(raw, {}, file.name)
            if isinstance(document, OpenList):
                self._add_open_list(document, file.name, number)
                continue
            if isinstance(document, dict) and "kind" not in document and ("tiers" in document or "actions" in document):
                self.confs.append((file.name, decode_text(file.data)))
                return
            self.add_document(document, file.name, f"document {number}")

    def _note_repeated(self, file: str, key: str, line: int) -> None:
        self.report.add_problem(f"line {line}: duplicate key", _LAST_COUNTS, file=file, object=f"key {key}")

    def _note_mended(self, file: str, fault: str) -> None:
        self.report.add_problem(fault, "read as YAML, which allows it", file=file)

    def _add_open_list(self, document: OpenList, file: str, number: int) -> None:
        """Add the items of an array or List that is too large to be held at once."""
        if document.kind:
            self._add_each(document.items, document.kind.removesuffix("List"), document.api_version, file)
            return
        for place, item in enumerate(document.items, start=1):
            self.add_document(item, file, f"document {number} element {place}")

    def add_document(self, document: Any, file: str, place: str) -> None:
        """Add an object, a list of objects, or a Kubernetes List."""
        if isinstance(document, list):
            for number, item in enumerate(document, start=1):
                self.add_document(item, file, f"{place} element {number}")
        elif isinstance(document, dict):
            self._add_mapping(document, file, place)
        elif document is not None:
            self.report.add_problem("contains a document that is not an object", _NOT_AN_OBJECT, file=file)

    def _add_mapping(self, document: Manifest, file: str, place: str) -> None:
        kind = document.get("kind")
        if not isinstance(kind, str) or not kind:
            self._add_without_kind(document, file)
        elif kind.endswith("List") and ("items" in document or kind == "List"):
            self._add_items(document, kind.removesuffix("List"), file)
        elif kind == "Status":
            message = describe_value(document.get("message") or "no message")
            self.report.add_problem(f"contains an API server error: {message}", OBJECTS_MISSING, file=file)
        else:
            self.add_object(document, file, place)

    def _add_without_kind(self, document: Manifest, file: str) -> None:
        """Add the objects in an event of a watch, or in the lists of another tool's export."""
        if event := file_forms.watched_object(document):
            event_type, manifest = event
            key = (manifest.get("kind"), object_name(manifest))
            self._watched.pop(key, None)
            if event_type in ("ADDED", "MODIFIED"):
                self._watched[key] = manifest
            return
        lists = list(file_forms.listed_objects(document))
        if not lists:
            fault = file_forms.foreign_words(document) or "contains a document without kind"
            self.report.add_problem(fault, _NOT_AN_OBJECT, file=file)
        for items, kind, api_version in lists:
            self._add_each(items, kind, api_version, file)

    def _add_items(self, document: Manifest, kind: str, file: str) -> None:
        """Add a List's items; an item of a typed list such as PodList gets kind and apiVersion from the list."""
        items = document.get("items")
        if items is None:
            return
        if not isinstance(items, list):
            self.report.add_problem(f"is {describe_value(items)}, not a list", _NOT_AN_OBJECT, file=file, field="items")
            return
        self._add_each(items, kind, document.get("apiVersion"), file)

    def _add_each(self, items: Iterable[Any], kind: str, api_version: Any, file: str) -> None:
        defaults = {"kind": kind, "apiVersion": api_version} if kind else {}
        for number, raw in enumerate(items, start=1):
            item = self._read_object_text(raw, defaults, file)
            if item is None:
                continue
            if defaults and isinstance(item, dict) and "kind" not in item:
                item = {**defaults, **item}
            self.add_document(item, file, f"item {number}")

    def _read_object_text(self, item: Any, defaults: Manifest, file: str) -> Any:
        """Add the object of an ObjectText and return None; return other items unchanged, and doubtful texts parsed."""
        if not isinstance(item, ObjectText):
            return item
        # Slim objects lack the fields that identify a scheduler's pod: such pods are parsed completely.
        if self._has_scheduler and has_mark(bytes(item.text)):
            return item.parse_object()
        if self._reader is None:
            from vcdebug.snapshot.json_objects import ObjectReader

            self._reader = ObjectReader(self._intake)
        manifest = self._reader.read_object(item.text, defaults)
        if manifest is None or not object_name(manifest):
            return item.parse_object()
        self._keep_object(manifest["kind"], manifest, file)
        return None

    def add_object(self, manifest: Manifest, file: str, place: str) -> None:
        """Add one object, type-checked; an object without a name or of an unknown kind becomes a Problem."""
        kind = manifest["kind"]
        api_version = manifest.get("apiVersion")
        if renewed := file_forms.renewed_version(str(api_version)):
            fault = f"is of API {api_version}, {UNREAD_API}"
            self.report.add_problem(fault, f"read as {renewed}", file=file, object=kind)
            api_version, manifest = renewed, {**manifest, "apiVersion": renewed}
        row = find_kind(kind, api_version if isinstance(api_version, str) else "")
        if row is None:
            facts = facts_by_name([manifest])
            self.workloads |= facts
            if not facts:
                self._count_unknown(manifest, file)
            return
        if row.settings:
            self.settings.setdefault(kind, []).append((file, manifest))
            return
        name = object_name(manifest)
        if not name:
            fault = (
                "is missing" if _raw_name(manifest) is None else f"is {describe_value(_raw_name(manifest))}, not a name"
            )
            self.report.add_problem(fault, _LEFT_OUT, file=file, object=f"{kind} {place}", field="metadata.name")
            return
        if kind == "Pod" and is_running_scheduler(manifest):
            self.scheduler_pods.append((file, manifest))
        slim = slim_manifest(kind, manifest, file, f"{kind} {name}", self.report, self._intake)
        self._keep_object(kind, slim, file)

    def _keep_object(self, kind: str, manifest: Manifest, file: str) -> None:
        self.objects.setdefault(kind, []).append(manifest)
        self.files.setdefault(kind, []).append(file)

    def _count_unknown(self, manifest: Manifest, file: str) -> None:
        kind = manifest["kind"]
        kind_text = kind if kind not in KIND_BY_NAME else f"{kind} ({manifest.get('apiVersion')})"
        kind_text = kind_text if len(kind_text) < 80 and kind_text.isprintable() else repr(kind_text[:80])
        _, _, keys = self._unknown.setdefault(kind_text, (kind, file, []))
        metadata = object_in(manifest.get("metadata"))
        keys.append(workload_key(metadata.get("namespace"), kind, metadata.get("name")))

    def note_unknown_kinds(self, also: Mapping[str, Sequence[Manifest]] | None = None) -> None:
        """Add one Problem for each kind that the replay does not read; `also` are further objects by kind.

        Owners of objects that are read lack nothing: a batch Job with its pods, a LeaderWorkerSet.
        """
        further = {kind: (kind, self.files[kind][0], len(manifests)) for kind, manifests in (also or {}).items()}
        owned = (each for kind in _OWNED for each in self.objects.get(kind, ())) if self._unknown else ()
        owners = {
            workload_key(metadata_of(each).get("namespace"), owner.get("kind"), owner.get("name"))
            for each in owned
            for owner in owners_of(each)
        }
        unknown = {
            text: (kind, file, len([key for key in keys if key not in owners]))
            for text, (kind, file, keys) in self._unknown.items()
        }
        for kind_text, (kind, file, count) in {**unknown, **further}.items():
            if count:
                effect = _UNREAD_EFFECTS.get(kind, _UNREAD_EFFECT)
                fault = f"{count_noun(count, 'object')} {UNREAD_KIND}"
                self.report.add_problem(fault, effect, file=file, object=kind_text)


def object_name(manifest: Manifest) -> str:
    """`namespace/name`, or the name of a cluster-wide object; empty for an invalid name."""
    metadata = manifest.get("metadata")
    if not isinstance(metadata, dict):
        return ""
    name, namespace = metadata.get("name"), metadata.get("namespace")
    if not isinstance(name, str) or not name or len(name) > 253 or not name.isprintable():
        return ""
    return f"{namespace}/{name}" if isinstance(namespace, str) and namespace else name


def _raw_name(manifest: Manifest) -> Any:
    metadata = manifest.get("metadata")
    return metadata.get("name") if isinstance(metadata, dict) else None


Arrivals = Mapping[int, Mapping[str, Sequence[Manifest]]]
"""Number of a cycle → manifests by kind that are added before it."""

FIRST_CYCLE = 2
_FORM = 'expected {"2": [manifest, ...], "3": [...]}: a cycle from 2 on, and the objects to add before it'


def read_arrivals(path: Path) -> Arrivals:
    """The manifests of a file that maps cycles to objects; raises SnapshotError for any Problem in it."""
    try:
        documents = list(read_documents(read_file(path)))
    except DocumentError as error:
        raise SnapshotError(str(error), _FORM, str(path)) from error
    if len(documents) != 1 or not isinstance(documents[0], dict):
        raise SnapshotError("is not a mapping of cycles to objects", _FORM, str(path))
    return {_parse_cycle(key, path): _read_arriving(value, path) for key, value in documents[0].items()}


def _parse_cycle(key: Any, path: Path) -> int:
    text = str(key)
    if not text.isdecimal() or int(text) < FIRST_CYCLE:
        raise SnapshotError(f"{text!r} is not a cycle from 2 on", _FORM, str(path))
    return int(text)


def _read_arriving(value: Any, path: Path) -> Mapping[str, Sequence[Manifest]]:
    report = ProblemReport()
    gathered = GatheredObjects(report)
    gathered.add_document(value, path.name, "element")
    gathered.note_unknown_kinds()
    problems = report.all_problems()
    if problems:
        raise SnapshotError(problems[0].format_line(), where=str(path))
    return gathered.objects


def with_arrivals(present: Sequence[Manifest], arriving: Sequence[Manifest]) -> list[Manifest]:
    """The objects of a kind after an arrival: a known name is replaced in place, new ones are appended."""
    newest = {object_name(manifest): manifest for manifest in arriving}
    updated = [newest.pop(object_name(manifest), manifest) for manifest in present]
    return [*updated, *newest.values()]


LARGE_JSON_BYTES = 1 << 20
"""Size in bytes from which a JSON file is read object by object."""
YAML_RETRY_BYTES = 5 << 20
"""A larger file that begins like JSON and is invalid is not tried as YAML, which could take minutes."""

_UTF_8 = "utf-8"
_BYTE_ORDER_MARKS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
_LOG_LINE = re.compile(rb"[IWEF]\d{4} \d\d:\d\d:\d\d\.\d{6}\s")
_LEADING_SPACE = re.compile(r"(?:\s|---(?=\s)|,)*")
_FIRST_BYTES = 4096
_MENDED_BY_YAML = re.compile(rb",\s*[}\]]|[{,]\s*'[^'\n]*'\s*:")
"""Faults that JSON refuses and YAML allows: a comma behind the last element, and names in single quotes."""
_CHUNK = 1 << 20
_REPLACED = "\ufffd"


def encoding_of(data: bytes) -> str:
    """UTF-8, or UTF-16 with a byte order mark; raises DocumentError for binary data."""
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return encoding
    if b"\0" in data[:_FIRST_BYTES]:
        raise DocumentError("is binary, not text")
    if _LOG_LINE.match(data):
        raise DocumentError("is a log of the scheduler: `vcdebug check LOG SNAPSHOT` compares it with a replay")
    return _UTF_8


def decode_text(data: bytes) -> str:
    """The text of a file; invalid bytes become U+FFFD, as in the API server."""
    return data.decode(encoding_of(data), errors="replace")


def has_bad_bytes(data: bytes) -> bool:
    """Whether a file has bytes that are invalid in its encoding."""
    # A file that contains U+FFFD itself is not reported: the character looks like a replacement.
    if data.isascii() or _REPLACED.encode() in data:
        return False
    decoder = codecs.getincrementaldecoder(encoding_of(data))(errors="replace")
    chunks = (data[start : start + _CHUNK] for start in range(0, len(data), _CHUNK))
    return any(_REPLACED in decoder.decode(chunk) for chunk in chunks) or _REPLACED in decoder.decode(b"", final=True)


def read_documents(
    data: bytes,
    read_so_far: ReadSoFar | None = None,
    *,
    unread: bool = False,
    report_repeated: TellRepeated | None = None,
    report_mended: Callable[[str], None] = lambda _: None,
) -> Iterator[Any]:
    """Yield the documents of a file, a large list as OpenList; raises DocumentError at the first error.

    `unread`: a large file may yield an ObjectText per object. `report_repeated` is called for repeated keys of YAML,
    `report_mended` for a fault of JSON with which it can be read as YAML.
    """
    if not starts_like_json(data):
        yield from yaml_documents(decode_text(data), read_so_far, report_repeated)
        return
    # Two readers: msgspec for large valid files, and the slower one below, which reports where a file is damaged.
    texts = _object_texts(data, read_so_far) if unread and len(data) >= LARGE_JSON_BYTES else None
    if texts is not None:
        yield from texts
        return
    count = 0
    try:
        for document in json_documents(data, encoding_of(data), read_so_far):
            count += 1
            yield document
    except JsonError as error:
        # The first document was valid JSON, so the rest is damaged JSON and not YAML.
        is_yaml = _looks_like_yaml_flow(data)
        if count or len(data) >= YAML_RETRY_BYTES or not (is_yaml or _MENDED_BY_YAML.search(data)):
            raise
        try:
            documents = list(yaml_documents(decode_text(data), report_repeated=report_repeated))
        except DocumentError as yaml_error:
            raise yaml_error if is_yaml else error from None
        if not is_yaml:
            report_mended(str(error))
        yield from documents
    except RecursionError as error:
        raise DocumentError(f"nests deeper than {MAX_DEPTH} levels") from error


def _object_texts(data: bytes, read_so_far: ReadSoFar | None) -> Iterator[Any] | None:
    from vcdebug.snapshot.json_objects import object_texts  # a start without a large file does not need its parser

    return None if _REPLACED.encode() in data or has_bad_bytes(data) else object_texts(data, read_so_far)


def starts_like_json(data: bytes) -> bool:
    """Whether the first significant character is a bracket."""
    start = 0
    while True:
        text = decode_text(data[: start + _FIRST_BYTES])
        match = _LEADING_SPACE.match(text)
        end = match.end() if match else 0
        if end < len(text) or start + _FIRST_BYTES >= len(data):
            return text[end : end + 1] in ("{", "[")
        start += max(start, _FIRST_BYTES)


def _looks_like_yaml_flow(data: bytes) -> bool:
    """Whether a text that begins with a bracket may be YAML in flow style, such as `{a: b}`."""
    return re.search(r"[{,]\s*[A-Za-z_][\w.-]*\s*:", decode_text(data[:_FIRST_BYTES])) is not None
