"""Names of actions, plugins and hooks are string literals in their home files only; other code uses constants."""

import ast
from collections.abc import Iterator

from tests.architecture.source_tree import PACKAGE, Source, sources
from vcdebug.actions import ACTIONS
from vcdebug.framework.hooks import HOOKS
from vcdebug.plugins import PLUGINS

CEILING = 2
"""Number of exceptions left. Lower it when one is removed; never raise it."""

HOMES = (
    "releases/",  # the changes of upstream
    "actions/__init__.py",
    "plugins/__init__.py",
    "explain/plugins/__init__.py",
    "framework/hooks.py",
)
"""Files and folders that may spell any of the names."""

OTHER_MEANINGS: dict[str, tuple[str, ...]] = {
    # a kind of operation
    "allocate": ("framework/record.py", "framework/statement.py", "comparison/logs/log_writer.py"),
    # kubectl's short name of a kind
    "pdb": ("snapshot/kinds.py",),
    # a field of pods, jobs and queues
    "priority": (
        "model/",
        "snapshot/",
        "framework/cycle.py",
        "recording/trace_schema.py",
        "explain/plugins/",
        "explain/questions/holders.py",
        "debugger/figures.py",
        "whatif/fixes/job_fixes.py",
        "views/cell_figures.py",
        "views/edit_suggestions.py",
    ),
    # a field of nodes, volumes and devices
    "capacity": (
        "kube/",
        "model/",
        "snapshot/",
        "conformance/",
        "debugger/figures.py",
        "plugins/rescheduling.py",
        "whatif/fixes/node_fixes.py",
    ),
    # a policy of devices
    "binpack": ("model/devices/",),
    # the title of a row
    "predicates": ("views/headline.py",),
    # fields of upstream's NodeInfo, TaskInfo and JobInfo
    "Allocatable": ("snapshot/file_forms.py",),
    "Preemptable": ("model/go_fields.py",),
    # a kind of breakpoint
    "enqueue": ("debugger/breakpoints/", "views/notebook.py"),
}
"""Files in which a name is an ordinary word, with its meaning."""


def known_names() -> list[str]:
    """The names to look for. One-word methods are left out, since `predicate` or `reclaimable` are ordinary words."""
    methods = [hook.method for hook in HOOKS if "_" in hook.method]
    return [*ACTIONS, *PLUGINS, *(hook.upstream for hook in HOOKS), *methods]


def is_home(path: str, name: str) -> bool:
    """Whether the file may spell the name: a home of all names, or the module of that plugin or action."""
    if path.startswith(HOMES):
        return True
    own = name.replace("-", "_")
    modules = [f"{room}/{own}" for room in ("actions", "plugins", "explain/plugins")]
    if any(path == f"{module}.py" or path.startswith(f"{module}/") for module in modules):
        return True
    return path.startswith(OTHER_MEANINGS.get(name, ()))


def names_as_text(source: Source, names: list[str]) -> Iterator[str]:
    path = source.path.relative_to(PACKAGE).as_posix()
    for node in source.nodes:
        if isinstance(node, ast.Constant) and node.value in names and not is_home(path, node.value):
            yield f"{source.where(node)} {node.value}"


def test_each_other_meaning_occurs() -> None:
    spelt = {
        (node.value, source.path.relative_to(PACKAGE).as_posix())
        for source in sources()
        for node in source.nodes
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in OTHER_MEANINGS
    }
    listed = [(name, path) for name, paths in OTHER_MEANINGS.items() for path in paths]
    unused = [row for row in listed if not any(name == row[0] and path.startswith(row[1]) for name, path in spelt)]
    assert [] == unused


def test_names_as_text_outside_their_homes_do_not_increase() -> None:
    names = known_names()
    found = [each for source in sources() for each in names_as_text(source, names)]
    print(f"{len(found)} names stand as text outside their homes:", *found, sep="\n")
    assert len(found) <= CEILING


def test_a_name_in_the_wrong_file_is_seen() -> None:
    tree = ast.parse('if plugin == "gang" and point == "JobValid" and queue == "capacity":\n    pass')
    found = {
        path: [*names_as_text(Source(PACKAGE / path, [], tree), known_names())]
        for path in ("views/bad.py", "plugins/gang.py", "model/good.py", "framework/hooks.py")
    }
    assert {
        "views/bad.py": [f"vcdebug/views/bad.py:1 {name}" for name in ("gang", "JobValid", "capacity")],
        "plugins/gang.py": [f"vcdebug/plugins/gang.py:1 {name}" for name in ("JobValid", "capacity")],
        "model/good.py": [f"vcdebug/model/good.py:1 {name}" for name in ("gang", "JobValid")],
        "framework/hooks.py": [],
    } == found
