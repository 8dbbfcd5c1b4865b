"""docs/where.md: which function of the real scheduler is replayed where; run as a module, it writes the page anew.

It is made of `Upstream: file.Function` in docstrings, and of the names of upstream's functions beside this file.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tests.architecture.source_tree import PACKAGE, ROOT, parse
from vcdebug.framework.hooks import HOOKS

PAGE = ROOT / "docs" / "where.md"
NAMES = Path(__file__).with_name("upstream_functions.txt")
ROOMS = ("actions", "plugins", "framework", "model", "kube", "snapshot", "recording")
FILE = r"(?:actions|framework|plugins|api|cache|util)(?:/[\w-]+)*"
SPEC = "framework/hooks.py"

OUT_OF_SCOPE = {
    "actions/factory": "a registry: vcdebug/actions/__init__.py names the actions",
    "api/cluster_info": "prints a cluster for a log",
    "api/devices/ascend/mindcluster": "NPUs of MindCluster are not replayed; a problem names them in a snapshot",
    "api/devices/config": "reads the cluster's device ConfigMap while the scheduler runs",
    "api/devices/nvidia/vgpu/metrics": "metrics",
    "api/devices/nvidia/vgpu/sharing_factory": "a registry of sharing modes",
    "api/devices/util": "reads and patches a cluster",
    "api/namespace_info": "quotas of namespaces, which no plugin reads",
    "api/node_shard_info": "a shard is the list of its nodes",
    "api/silo_cluster_info": "clusters of clusters, which no action reads",
    "api/test_utils": "upstream's tests",
    "cache": "informers and writes to a cluster; a snapshot takes their place",
    "framework/mock_gen": "upstream's tests",
    "plugins/factory": "a registry: vcdebug/plugins/__init__.py names the plugins",
    "plugins/deviceshare/devices": "NPUs of MindCluster are not replayed; a problem names them in a snapshot",
    "plugins/util/k8s": "the handle through which Kubernetes' plugins are called; vcdebug/kube has their rules",
    "plugins/util/nodelock": "locks nodes of a cluster",
    "util/assert": "panics or logs, by an environment variable",
    "util/test_utils": "upstream's tests",
}
"""Files that hold no decision of a cycle, or none that is replayed, with the reason."""


class Link(NamedTuple):
    """A function of ours and the upstream function that it replays."""

    file: str
    function: str
    module: str
    ours: str


@cache
def upstream() -> dict[str, list[str]]:
    """Upstream's functions by file; a file that is named like its folder stands for the folder."""
    rows = (line.partition(": ") for line in NAMES.read_text(encoding="utf-8").splitlines())
    return {file: names.split() for file, _, names in rows}


def documented(path: Path) -> Iterator[tuple[str, str]]:
    """(name, docstring) of the module, its classes, functions and methods; the module's name is empty."""
    tree = parse(path).tree
    yield "", ast.get_docstring(tree) or ""
    for node in tree.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            yield node.name, ast.get_docstring(node) or ""
        if isinstance(node, ast.ClassDef):
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef):
                    yield f"{node.name}.{inner.name}", ast.get_docstring(inner) or ""


def modules() -> list[Path]:
    """The modules that replay upstream functions."""
    return [path for room in ROOMS for path in sorted((PACKAGE / room).rglob("*.py"))]


def module_name(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix().removesuffix("/__init__.py")


@cache
def links() -> tuple[Link, ...]:
    """The links of all functions that name an upstream function."""
    found = []
    for path in modules():
        for ours, text in documented(path):
            for file, function in re.findall(rf"(?<![\w/])({FILE})\.(?!go\b)(\w+)", text.partition("Upstream:")[2]):
                found.append(Link(file, function, module_name(path), ours))
    return tuple(found)


@cache
def mentions() -> dict[str, list[str]]:
    """Our modules by the upstream file that a docstring in them names."""
    linked: dict[str, list[str]] = {}
    for one in links():
        linked.setdefault(one.module, []).append(one.file)
    found: dict[str, list[str]] = {}
    for path in modules():
        own, module = next(documented(path))[1].partition("Upstream:")[2], module_name(path)
        for file in dict.fromkeys(re.findall(rf"(?<![\w/]){FILE}", own) + linked.get(module, [])):
            found.setdefault(file, []).append(module)
    return found


def reason(file: str) -> str:
    """The reason why a file is out of scope; empty if it is not."""
    return next((why for part, why in OUT_OF_SCOPE.items() if file == part or file.startswith(f"{part}/")), "")


def home(file: str) -> list[str]:
    """Our modules with the rules of a file: those that name the file, else those that name its folder."""
    while file:
        if file in mentions():
            return mentions()[file]
        file = file.rpartition("/")[0]
    return []


def hook_rows(function: str) -> list[str]:
    """The row of the hook table that an extension point's registration and loop have become."""
    name = re.sub(r"^Add|Fns?$|MapFn$", "", function)
    return [f"{SPEC}: row `{hook.upstream}`" for hook in HOOKS if hook.upstream.lower() == name.lower()]


def places(file: str, function: str) -> list[str]:
    """The places that replay a function, as far as our docstrings name it."""
    exact = [one for one in links() if (one.file, one.function) == (file, function)]
    named = [f"{one.module}: `{one.ours}`" if one.ours else one.module for one in exact]
    return named or (hook_rows(function) if file == "framework/session_plugins" else [])


def section(file: str) -> Iterator[str]:
    """The section of the page about one upstream file."""
    yield f"### {file}\n"
    why, found = reason(file), {name: places(file, name) for name in upstream()[file]}
    if any(found.values()):
        yield "| upstream | here |\n|---|---|"
        yield from (f"| `{name}` | {'<br>'.join(where)} |" for name, where in found.items() if where)
        yield ""
    rest = ", ".join(f"`{name}`" for name, where in found.items() if not where)
    if rest and why:
        yield f"Out of scope ({why}): {rest}\n"
    elif rest:
        yield f"Named by no function of their own; what they decide is in {', '.join(home(file))}: {rest}\n"


def back(module: str) -> Iterator[str]:
    """The lines of the page about one of our modules."""
    rows: dict[str, list[str]] = {}
    for one in links():
        if one.module == module:
            rows.setdefault(one.ours or "(the module)", []).append(f"`{one.file}.{one.function}`")
    yield f"### {module}\n\n| here | upstream |\n|---|---|"
    yield from (f"| `{ours}` | {', '.join(names)} |" for ours, names in rows.items())
    yield ""


HEAD = """# Where a rule of Volcano is found here

Made by `make docs` from the docstrings. Names are those of upstream's pkg/scheduler at ed72c7c8: a file without `.go`,
or its folder where both have one name, then the function; a closure that is registered under its name counts as one.
`New`, `Name`, `OnSessionOpen` and their like register things: here `vcdebug/plugins/__init__.py` and
`vcdebug/actions/__init__.py` say what there is, and a plugin's hooks are its methods. Paths begin at `vcdebug/`.
"""


def page() -> str:
    """The page, both ways."""
    lines = [HEAD, "## From upstream to here\n"]
    for file in sorted(upstream()):
        lines += section(file)
    lines.append("## From here to upstream\n")
    for module in dict.fromkeys(one.module for one in links()):
        lines += back(module)
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
