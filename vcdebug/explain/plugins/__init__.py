"""Plugins about which something is said beyond their answers; a module is imported when somebody asks."""

from vcdebug.explain.plugin import PluginWords
from vcdebug.framework.registry import resolve

PLUGINS: dict[str, str] = {
    "binpack": "vcdebug.explain.plugins.binpack:WORDS",
    "capacity": "vcdebug.explain.plugins.capacity:WORDS",
    "cdp": "vcdebug.explain.plugins.cdp:WORDS",
    "conformance": "vcdebug.explain.plugins.conformance:WORDS",
    "deviceshare": "vcdebug.explain.plugins.deviceshare:WORDS",
    "drf": "vcdebug.explain.plugins.drf:WORDS",
    "extender": "vcdebug.explain.plugins.extender:WORDS",
    "gang": "vcdebug.explain.plugins.gang:WORDS",
    "network-topology-aware": "vcdebug.explain.plugins.network_topology_aware:WORDS",
    "nodegroup": "vcdebug.explain.plugins.nodegroup:WORDS",
    "nodeorder": "vcdebug.explain.plugins.nodeorder:WORDS",
    "numa-aware": "vcdebug.explain.plugins.numa_aware:WORDS",
    "overcommit": "vcdebug.explain.plugins.overcommit:WORDS",
    "pdb": "vcdebug.explain.plugins.pdb:WORDS",
    "predicates": "vcdebug.explain.plugins.predicates:WORDS",
    "priority": "vcdebug.explain.plugins.priority:WORDS",
    "proportion": "vcdebug.explain.plugins.proportion:WORDS",
    "rescheduling": "vcdebug.explain.plugins.rescheduling:WORDS",
    "resource-strategy-fit": "vcdebug.explain.plugins.resource_strategy_fit:WORDS",
    "resourcequota": "vcdebug.explain.plugins.resourcequota:WORDS",
    "sla": "vcdebug.explain.plugins.sla:WORDS",
    "task-topology": "vcdebug.explain.plugins.task_topology:WORDS",
    "tdm": "vcdebug.explain.plugins.tdm:WORDS",
    "usage": "vcdebug.explain.plugins.usage:WORDS",
}
"""Names in a configuration → words, imported on first use."""

NOTHING = PluginWords()


def words(plugin: str) -> PluginWords:
    """What is said about a plugin; nothing about one that only answers."""
    found: PluginWords = resolve(PLUGINS[plugin]) if plugin in PLUGINS else NOTHING
    return found
