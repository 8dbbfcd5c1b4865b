"""The plugins that a scheduler configuration may name; a module is imported when a configuration names it."""

from vcdebug.framework.registry import OtherForms
from vcdebug.grouping import split_pairs
from vcdebug.releases import nodes
from vcdebug.releases.change import Change
from vcdebug.releases.scheduling import NTA_NODE_SCORE_ONLY, TOPOLOGY_ABSENT

BINPACK, CAPACITY, CONFORMANCE, DEVICESHARE = "binpack", "capacity", "conformance", "deviceshare"
DRF, EXTENDER, GANG = "drf", "extender", "gang"
NODEGROUP, NODEORDER, NUMA_AWARE, OVERCOMMIT, PDB = "nodegroup", "nodeorder", "numa-aware", "overcommit", "pdb"
PREDICATES, PRIORITY, PROPORTION, SLA, TDM, USAGE = "predicates", "priority", "proportion", "sla", "tdm", "usage"
TASK_TOPOLOGY, RESCHEDULING = "task-topology", "rescheduling"
RESOURCE_STRATEGY_FIT, RESOURCEQUOTA = "resource-strategy-fit", "resourcequota"
"""Names of plugins to which rules outside this package refer."""

PLUGINS: dict[str, str] = {
    name: f"{__name__}.{name.replace('-', '_')}:{kind}"
    for name, kind in split_pairs("""
        binpack=Binpack capacity=Capacity cdp=Cdp conformance=Conformance deviceshare=Deviceshare drf=Drf
        extender=Extender gang=Gang network-topology-aware=NetworkTopologyAware nodegroup=NodeGroup
        nodeorder=NodeOrder numa-aware=NumaAware overcommit=Overcommit pdb=Pdb predicates=Predicates
        priority=Priority proportion=Proportion rescheduling=Rescheduling resource-strategy-fit=ResourceStrategyFit
        resourcequota=ResourceQuota sla=Sla task-topology=TaskTopology tdm=Tdm usage=Usage
    """).items()
}
"""Name → `module:Class`."""

ANNOTATIONS: dict[str, tuple[str, ...]] = {
    "task-topology": (
        "volcano.sh/task-topology-affinity",
        "volcano.sh/task-topology-anti-affinity",
        "volcano.sh/task-topology-task-order",
    ),
    "sla": ("volcano.sh/sla-waiting-time", "sla-waiting-time"),
    "numa-aware": ("volcano.sh/numa-topology-policy",),
    "cdp": ("volcano.sh/cooldown-time",),
    "tdm": ("volcano.sh/jdb-min-available", "volcano.sh/jdb-max-unavailable"),
}
"""Plugin → the annotations of PodGroups and pods that it alone reads."""

LATER_PLUGINS: dict[str, Change] = {
    "network-topology-aware": TOPOLOGY_ABSENT,
    "resource-strategy-fit": nodes.PROPORTIONAL_PREDICATE,
}
"""Plugin → the change that introduced it; releases with its older form lack the plugin."""

OTHER_FORMS: OtherForms = {
    "network-topology-aware": ((NTA_NODE_SCORE_ONLY, "vcdebug.plugins.network_topology_aware.nodes_only:NodesOnly"),),
    "nodegroup": ((nodes.NODEGROUP_BY_POD_LABEL, "vcdebug.plugins.nodegroup:NodeGroupByPod"),),
    "nodeorder": ((nodes.NODEORDER_TWO_KINDS, "vcdebug.plugins.nodeorder:TwoKinds"),),
    "usage": ((nodes.USAGE_SHADOW_LOAD, "vcdebug.plugins.usage:MeasuredUsage"),),
}
"""Plugins whose older form has its own class: plugin → (change, `module:Class`)."""
