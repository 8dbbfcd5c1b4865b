"""The ClusterRole that a capture needs: what it reads, and nothing else."""

from __future__ import annotations

from vcdebug.grouping import by_key
from vcdebug.snapshot.device_config import NAME as DEVICES
from vcdebug.snapshot.kinds import KINDS

NAME = "vcdebug-capture"
HEAD = f"""# What `vcdebug capture` reads; it never writes. Bind it to whoever captures:
#   kubectl create clusterrolebinding {NAME} --clusterrole={NAME} --user=NAME
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {NAME}
rules:
"""
CONFIG_MAPS = """- apiGroups: [""]
  resources: ["configmaps"]
  resourceNames: ["{name}", "{devices}"]
  verbs: ["get"]
"""


EVENTS = """- apiGroups: [""]
  resources: ["events"]
  verbs: ["list"]
"""


def cluster_role(config_map: str, *, events: bool = False) -> str:
    """The role as YAML; of ConfigMaps it may get the scheduler's and that of virtual GPUs by name, and list none."""
    groups = by_key((kind.group, kind.plural) for kind in KINDS if kind.name != "ConfigMap")
    rules = "".join(_rule(group, plurals) for group, plurals in groups.items())
    return HEAD + rules + CONFIG_MAPS.format(name=config_map, devices=DEVICES) + (EVENTS if events else "")


def _rule(group: str, plurals: list[str]) -> str:
    resources = ", ".join(f'"{plural}"' for plural in plurals)
    return f'- apiGroups: ["{group}"]\n  resources: [{resources}]\n  verbs: ["list"]\n'
