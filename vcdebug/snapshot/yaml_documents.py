"""YAML as Kubernetes reads it: timestamps stay text, keys are text, and the expansion of aliases is limited."""

import json
import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, Final

import yaml

from vcdebug.errors import VcdebugError, closest_name_hint

MAX_DEPTH = 100
"""Maximum nesting depth of a document."""
MAX_EXPANSION = 20
"""Maximum size of a document with expanded aliases, as a multiple of its own size."""
EXPANSION_FREE_NODES = 100_000

SAFE_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
SAFE_DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
"""libyaml if PyYAML has it: go-yaml is a translation of it, so that both refuse the same, and it is eight times as
fast."""
_NOT_BRACKETS = bytes(byte for byte in range(256) if byte not in b"[]{}")
_STEPS = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_MAYBE_DEEP = re.compile(r"^[ \-?:\t]{100}", re.MULTILINE)


TellRepeated = Callable[[str, int], None]
"""Called with a repeated key and the line of the repetition."""


class DocumentError(ValueError):
    """Raised for a document that cannot be read; the message says why and where."""


class _KubernetesLoader(SAFE_LOADER):  # type: ignore[misc]
    """PyYAML's safe loader with Kubernetes' implicit types: null, bool, int, float, else text."""

    yaml_implicit_resolvers: dict[str, Any] = {}
    report_repeated: TellRepeated | None = None

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """The value of a node. Depth and aliases are limited: PyYAML's queue of unfinished ones is not needed."""
        make = _MAKERS.get((type(node), node.tag))
        return super().construct_object(node, deep) if make is None else make(self, node)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """A mapping with text keys, as in JSON; of a repeated key the last value counts, as in Go."""
        if self.report_repeated is not None:
            self._report_repeated_keys(node)
        if any(key.tag == "tag:yaml.org,2002:merge" for key, _ in node.value):
            self.flatten_mapping(node)
        return {self._key_text(key): self.construct_object(value, deep=deep) for key, value in node.value}

    def _report_repeated_keys(self, node: yaml.MappingNode) -> None:
        """Report repeated keys; called before `<<` is merged, since own keys may override merged ones."""
        assert self.report_repeated is not None
        if len({key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)}) == len(node.value):
            return
        known_keys: dict[str, None] = {}
        for key, _ in node.value:
            text = self._key_text(key)
            if text in known_keys:
                self.report_repeated(text, key.start_mark.line + 1)
            known_keys[text] = None

    def _key_text(self, node: yaml.Node) -> str:
        if isinstance(node, yaml.ScalarNode):
            return str(node.value)
        raise DocumentError(f"{_position_text(node)}a key is not text")


_MAKERS: Final[dict[tuple[type[yaml.Node], str], Callable[[_KubernetesLoader, Any], Any]]] = {
    (yaml.ScalarNode, "tag:yaml.org,2002:str"): lambda _, node: node.value,
    (yaml.MappingNode, "tag:yaml.org,2002:map"): _KubernetesLoader.construct_mapping,
    (yaml.SequenceNode, "tag:yaml.org,2002:seq"): lambda loader, node: list(map(loader.construct_object, node.value)),
}
"""(form, tag) of a node → what makes its value; other nodes are PyYAML's."""


class WordSet:
    """A set of words with a pattern's `match`; compiling a pattern at every start would take longer."""

    def __init__(self, *words: str) -> None:
        self._words = frozenset(words)

    def match(self, text: str) -> bool:
        """Whether the text is one of them."""
        return text in self._words


BOOLEANS: Final = tuple(
    form for word in ("yes", "no", "true", "false", "on", "off") for form in (word, word.capitalize(), word.upper())
)
NULLS: Final = WordSet("~", "null", "Null", "NULL", "")
MERGE: Final = WordSet("<<")


def _add_resolver(tag: str, pattern: str, first: str) -> None:
    _KubernetesLoader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(f"^(?:{pattern})$"), list(first))


_KubernetesLoader.add_implicit_resolver("tag:yaml.org,2002:bool", WordSet(*BOOLEANS), list("yYnNtTfFoO"))
_add_resolver("int", r"[-+]?(?:0b[01_]+|0x[0-9a-fA-F_]+|0[0-7_]*|[1-9][0-9_]*)", "-+0123456789")
_NUMBER = r"[-+]?(?:[0-9][0-9_]*\.?[0-9_]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"
_add_resolver("float", rf"{_NUMBER}|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)", "-+0123456789.")
_KubernetesLoader.add_implicit_resolver("tag:yaml.org,2002:merge", MERGE, ["<"])
_KubernetesLoader.add_implicit_resolver("tag:yaml.org,2002:null", NULLS, ["~", "n", "N", ""])

_KubernetesLoader.add_constructor("tag:yaml.org,2002:timestamp", _KubernetesLoader.construct_yaml_str)
_KubernetesLoader.add_constructor("tag:yaml.org,2002:binary", _KubernetesLoader.construct_yaml_str)
for _tag in ("set", "omap", "pairs"):
    _KubernetesLoader.add_constructor(f"tag:yaml.org,2002:{_tag}", _KubernetesLoader.construct_undefined)


def yaml_documents(
    text: str, read_so_far: Callable[[int], None] | None = None, report_repeated: TellRepeated | None = None
) -> Iterator[Any]:
    """Yield the documents of a YAML stream; raises DocumentError at the first error."""
    refuse_deep(text)
    aliases = "&" in text and "*" in text
    try:
        loader = _KubernetesLoader(text if read_so_far is None else _ObservedText(text, read_so_far))
        loader.report_repeated = report_repeated
        try:
            while loader.check_node():
                node = loader.get_node()
                _refuse_two_kinds(node)
                yield _construct_document(loader, node, aliases=aliases)
        finally:
            loader.dispose()
    except DocumentError:
        raise
    except yaml.YAMLError as error:
        raise DocumentError(_explain_error(error, text)) from error
    except (ValueError, TypeError, OverflowError, RecursionError, AttributeError) as error:
        raise DocumentError(f"is not YAML: {error}") from error


class _ObservedText:
    """A text that a loader reads in pieces, so that progress can be reported."""

    def __init__(self, text: str, read_so_far: Callable[[int], None]) -> None:
        self._text = text
        self._position = 0
        self._read_so_far = read_so_far

    def read(self, size: int) -> str:
        """The next characters; empty at the end."""
        start = self._position
        self._position = min(start + size, len(self._text))
        self._read_so_far(self._position)
        return self._text[start : self._position]


def _refuse_two_kinds(document: yaml.Node) -> None:
    """Raise DocumentError for a document with two kinds: files joined without a line `---`."""
    if not isinstance(document, yaml.MappingNode):
        return
    kinds = [key for key, _ in document.value if key.value == "kind"]
    if len(kinds) > 1:
        raise DocumentError(f"{_position_text(kinds[1])}duplicate key kind in one document (missing --- separator?)")


def may_be_deep(text: str) -> bool:
    """Whether indentation or brackets could nest beyond `MAX_DEPTH`; a quick test that is never wrong in saying no."""
    return bracket_depth(text) > MAX_DEPTH or _MAYBE_DEEP.search(text) is not None


def bracket_depth(text: str) -> int:
    """The nesting depth of brackets, including those inside strings."""
    brackets = text.encode("utf-8", errors="replace").translate(None, _NOT_BRACKETS)
    return max(accumulate(map(_STEPS.__getitem__, brackets)), default=0)


def refuse_deep(text: str) -> None:
    """Raise DocumentError for nesting beyond `MAX_DEPTH`, which libyaml's loader does not limit."""
    if may_be_deep(text):
        _count_levels(text)


def _count_levels(text: str) -> None:
    """Raise DocumentError for too deep nesting; counts the parser's events, which need no stack."""
    depth = 0
    try:
        for event in yaml.parse(text, Loader=SAFE_LOADER):
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
                if depth > MAX_DEPTH:
                    raise DocumentError(f"{_position_text(event)}nests deeper than {MAX_DEPTH} levels")
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
    except yaml.YAMLError:
        return


def _construct_document(loader: Any, node: yaml.Node, *, aliases: bool) -> Any:
    if not aliases:
        return loader.construct_document(node)
    expanded, _, node_count = _AliasExpansion().measure_node(node)
    if expanded > EXPANSION_FREE_NODES and expanded > MAX_EXPANSION * node_count:
        raise DocumentError(f"{_position_text(node)}its aliases expand to {expanded} values")
    # A round trip through JSON copies values that aliases share: an edit of one place must not change another.
    return json.loads(json.dumps(loader.construct_document(node)))


class _AliasExpansion:
    """Measures the size and depth of a document with all aliases expanded, without expanding them."""

    def __init__(self) -> None:
        self._sizes: dict[int, tuple[int, int]] = {}
        self._open: dict[int, bool] = {}

    def measure_node(self, node: yaml.Node) -> tuple[int, int, int]:
        """(values with aliases expanded, depth, values as written)."""
        size, depth = self._visit_node(node)
        return size, depth, len(self._sizes)

    def _visit_node(self, node: yaml.Node) -> tuple[int, int]:
        key = id(node)
        if key in self._sizes:
            return self._sizes[key]
        if key in self._open:
            raise DocumentError(f"{_position_text(node)}recursive YAML alias")
        self._open[key] = True
        size, depth = 1, 0
        for child in _child_nodes(node):
            child_size, child_depth = self._visit_node(child)
            size += child_size
            depth = max(depth, child_depth)
        del self._open[key]
        if depth >= MAX_DEPTH:
            raise DocumentError(f"{_position_text(node)}nests deeper than {MAX_DEPTH} levels")
        self._sizes[key] = size, depth + 1
        return size, depth + 1


def _child_nodes(node: yaml.Node) -> Iterator[yaml.Node]:
    if isinstance(node, yaml.SequenceNode):
        yield from node.value
    elif isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield key
            yield value


def _position_text(part: yaml.Node | yaml.Event) -> str:
    mark = part.start_mark
    return f"line {mark.line + 1}: " if mark else ""


def _explain_error(error: yaml.YAMLError, text: str) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = str(getattr(error, "problem", None) or error).splitlines()[0]
    if mark and any(line.lstrip(" ").startswith("\t") for line in text.splitlines()[mark.line : mark.line + 1]):
        problem = "it is indented with a tab"
    return f"line {mark.line + 1}: is not YAML: {problem}" if mark else f"is not YAML: {problem}"


FieldKinds = Mapping[str, tuple[type, ...]]
"""Field of a mapping → the types that its value may have."""
_TYPE_WORDS: Final = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
    list: "a list",
    dict: "a mapping",
}


def check_fields(raw: object, kinds: FieldKinds, where: str, needed: Sequence[str] = ()) -> dict[str, Any]:
    """The fields of a mapping, each known and of its type; raises VcdebugError, which names the field, otherwise."""
    if not isinstance(raw, Mapping):
        raise VcdebugError(f"is {raw!r}", f"write a mapping of {', '.join(kinds)}", where)
    for field, value in raw.items():
        if field not in kinds:
            raise VcdebugError(f"unknown field {field}", closest_name_hint(str(field), kinds, ", ".join(kinds)), where)
        types = kinds[field]
        # The exact type: bool is a subclass of int, and `nodes: true` is an error.
        if type(value) not in types:
            words = " or ".join(_TYPE_WORDS[kind] for kind in types)
            raise VcdebugError(f"{field} is {value!r}", f"write {words}", where)
    missing = next((field for field in needed if not raw.get(field)), "")
    if missing:
        raise VcdebugError(f"{missing} is missing", f"write {missing}", where)
    return {str(field): value for field, value in raw.items()}
