"""Plugins about which something is said beyond their answers; a module is imported when somebody asks."""

from vcdebug.explain.plugin_explainer import PluginExplainer
from vcdebug.framework.registry import resolve_reference

PLUGINS: dict[str, str] = {
    "binpack": "vcdebug.explain.plugins.binpack:EXPLAINER",
    "capacity": "vcdebug.explain.plugins.capacity:EXPLAINER",
    "cdp": "vcdebug.explain.plugins.cdp:EXPLAINER",
    "conformance": "vcdebug.explain.plugins.conformance:EXPLAINER",
    "deviceshare": "vcdebug.explain.plugins.deviceshare:EXPLAINER",
    "drf": "vcdebug.explain.plugins.drf:EXPLAINER",
    "extender": "vcdebug.explain.plugins.extender:EXPLAINER",
    "gang": "vcdebug.explain.plugins.gang:EXPLAINER",
    "network-topology-aware": "vcdebug.explain.plugins.network_topology_aware:EXPLAINER",
    "nodegroup": "vcdebug.explain.plugins.nodegroup:EXPLAINER",
    "nodeorder": "vcdebug.explain.plugins.nodeorder:EXPLAINER",
    "numa-aware": "vcdebug.explain.plugins.numa_aware:EXPLAINER",
    "overcommit": "vcdebug.explain.plugins.overcommit:EXPLAINER",
    "pdb": "vcdebug.explain.plugins.pdb:EXPLAINER",
    "predicates": "vcdebug.explain.plugins.predicates:EXPLAINER",
    "priority": "vcdebug.explain.plugins.priority:EXPLAINER",
    "proportion": "vcdebug.explain.plugins.proportion:EXPLAINER",
    "rescheduling": "vcdebug.explain.plugins.rescheduling:EXPLAINER",
    "resource-strategy-fit": "vcdebug.explain.plugins.resource_strategy_fit:EXPLAINER",
    "resourcequota": "vcdebug.explain.plugins.resourcequota:EXPLAINER",
    "sla": "vcdebug.explain.plugins.sla:EXPLAINER",
    "task-topology": "vcdebug.explain.plugins.task_topology:EXPLAINER",
    "tdm": "vcdebug.explain.plugins.tdm:EXPLAINER",
    "usage": "vcdebug.explain.plugins.usage:EXPLAINER",
}
"""Names in a configuration → words, imported on first use."""

NO_EXPLAINER = PluginExplainer()


def explainer_for(plugin: str) -> PluginExplainer:
    """What is said about a plugin; nothing about one that only answers."""
    found: PluginExplainer = resolve_reference(PLUGINS[plugin]) if plugin in PLUGINS else NO_EXPLAINER
    return found
