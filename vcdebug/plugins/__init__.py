"""The plugins that a scheduler configuration may name; a module is imported when a configuration names it."""

from vcdebug.framework.registry import OtherForms
from vcdebug.releases import nodes
from vcdebug.releases.change import Change
from vcdebug.releases.scheduling import NTA_NODE_SCORE_ONLY, TOPOLOGY_ABSENT

BINPACK, CAPACITY, CONFORMANCE, DEVICESHARE = "binpack", "capacity", "conformance", "deviceshare"
DRF, EXTENDER, GANG, NETWORK_TOPOLOGY_AWARE = "drf", "extender", "gang", "network-topology-aware"
NODEGROUP, NODEORDER, NUMA_AWARE, OVERCOMMIT, PDB = "nodegroup", "nodeorder", "numa-aware", "overcommit", "pdb"
PREDICATES, PRIORITY, PROPORTION, SLA, TDM, USAGE = "predicates", "priority", "proportion", "sla", "tdm", "usage"
TASK_TOPOLOGY, RESCHEDULING = "task-topology", "rescheduling"
RESOURCE_STRATEGY_FIT, RESOURCEQUOTA = "resource-strategy-fit", "resourcequota"
"""Names of plugins to which rules outside this package refer."""

PLUGINS: dict[str, str] = {
    "binpack": "vcdebug.plugins.binpack:Binpack",
    "capacity": "vcdebug.plugins.capacity:Capacity",
    "cdp": "vcdebug.plugins.cdp:Cdp",
    "conformance": "vcdebug.plugins.conformance:Conformance",
    "deviceshare": "vcdebug.plugins.deviceshare:Deviceshare",
    "drf": "vcdebug.plugins.drf:Drf",
    "extender": "vcdebug.plugins.extender:Extender",
    "gang": "vcdebug.plugins.gang:Gang",
    "network-topology-aware": "vcdebug.plugins.network_topology_aware:NetworkTopologyAware",
    "nodegroup": "vcdebug.plugins.nodegroup:NodeGroup",
    "nodeorder": "vcdebug.plugins.nodeorder:NodeOrder",
    "numa-aware": "vcdebug.plugins.numa_aware:NumaAware",
    "overcommit": "vcdebug.plugins.overcommit:Overcommit",
    "pdb": "vcdebug.plugins.pdb:Pdb",
    "predicates": "vcdebug.plugins.predicates:Predicates",
    "priority": "vcdebug.plugins.priority:Priority",
    "proportion": "vcdebug.plugins.proportion:Proportion",
    "rescheduling": "vcdebug.plugins.rescheduling:Rescheduling",
    "resource-strategy-fit": "vcdebug.plugins.resource_strategy_fit:ResourceStrategyFit",
    "resourcequota": "vcdebug.plugins.resourcequota:ResourceQuota",
    "sla": "vcdebug.plugins.sla:Sla",
    "task-topology": "vcdebug.plugins.task_topology:TaskTopology",
    "tdm": "vcdebug.plugins.tdm:Tdm",
    "usage": "vcdebug.plugins.usage:Usage",
}

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
