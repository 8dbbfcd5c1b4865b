"""Names of actions, plugins and hooks stand as text in their homes only; elsewhere code reads a constant or a fact."""

import ast
from collections.abc import Iterator

from tests.architecture.source_tree import PACKAGE, Source, sources
from vcdebug.actions import ACTIONS
from vcdebug.framework.hooks import HOOKS
from vcdebug.plugins import PLUGINS

CEILING = 402
"""How many are left. Lower it with each one that goes; never raise it."""

HOMES = (
    "releases/",  # what changed upstream
    "logs/messages.py",  # upstream's log lines
    "actions/__init__.py",
    "plugins/__init__.py",
    "explain/plugins/__init__.py",
    "framework/hooks.py",
)
"""Files and folders whose subject the names are."""

OTHER_MEANINGS = {
    "priority": ("", "a field of pods, jobs and queues"),
    "capacity": ("kube|model|snapshot|verify|debugger/figures.py", "a field of nodes, volumes and devices"),
    "usage": ("framework/past.py", "a part of a snapshot"),
    "extender": ("cli|framework/past.py", "an option of the command line and a part of a snapshot"),
    "binpack": ("model/devices", "a policy of devices"),
    "predicates": ("views/headline.py", "the title of a row"),
    "Allocatable": ("model/gofields.py", "a field of upstream's NodeInfo"),
    "Preemptable": ("model/gofields.py", "a field of upstream's TaskInfo and JobInfo"),
    "enqueue": ("debugger/breakpoints|views/breaks.py", "a kind of breakpoint"),
}
"""Name → (where, separated by |, it is an ordinary word and which)."""


def known_names() -> list[str]:
    """One-word methods are left out: `predicate` or `reclaimable` are ordinary words and fields."""
    methods = [hook.method for hook in HOOKS if "_" in hook.method]
    return [*ACTIONS, *PLUGINS, *(hook.upstream for hook in HOOKS), *methods]


def is_home(path: str, name: str) -> bool:
    """Whether the file may spell the name: a home of all names, or the plugin's or action's own module."""
    if path.startswith(HOMES):
        return True
    own = name.replace("-", "_")
    modules = [f"{room}/{own}" for room in ("actions", "plugins", "explain/plugins")]
    if any(path == f"{module}.py" or path.startswith(f"{module}/") for module in modules):
        return True
    where, _ = OTHER_MEANINGS.get(name, (None, ""))
    return where is not None and any(path.startswith(start) for start in where.split("|"))


def names_as_text(source: Source, names: list[str]) -> Iterator[str]:
    path = source.path.relative_to(PACKAGE).as_posix()
    for node in source.nodes:
        if isinstance(node, ast.Constant) and node.value in names and not is_home(path, node.value):
            yield f"{source.where(node)} {node.value}"


def test_the_names_that_stand_as_text_outside_their_homes_become_fewer() -> None:
    names = known_names()
    found = [each for source in sources() for each in names_as_text(source, names)]
    print(f"{len(found)} names stand as text outside their homes:", *found, sep="\n")
    assert len(found) <= CEILING


def test_a_name_in_the_wrong_file_is_seen() -> None:
    tree = ast.parse('if plugin == "gang" and point == "JobValid" and kind == "priority":\n    pass')
    elsewhere = Source(PACKAGE / "views" / "bad.py", [], tree)
    at_home = Source(PACKAGE / "plugins" / "gang.py", [], tree)
    assert ["vcdebug/views/bad.py:1 gang", "vcdebug/views/bad.py:1 JobValid"] == [
        *names_as_text(elsewhere, known_names())
    ]
    assert ["vcdebug/plugins/gang.py:1 JobValid"] == [*names_as_text(at_home, known_names())]
