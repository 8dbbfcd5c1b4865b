"""Errors and problems for missing permissions and kinds, and the ClusterRole that a capture needs."""

from collections.abc import Callable

from vcdebug.capture.api_client import RETRIED_STATUSES, Api, ApiRefusal, NoAnswer
from vcdebug.errors import CaptureError, VcdebugError
from vcdebug.grouping import group_by_key
from vcdebug.snapshot.device_config import DEVICE_CONFIG_NAME
from vcdebug.snapshot.kinds import KINDS, WORKLOAD_KINDS, ResourceKind
from vcdebug.snapshot.manifest import object_list
from vcdebug.snapshot.problems import Problem

FORBIDDEN = 403
NOT_FOUND = 404
PROBLEM_FILE = "capture"
"""The `file` of a capture's problems."""
AWAITED_EFFECT = (
    "Volcano's scheduler does not start a cycle without it (unless a feature gate disables it), so this "
    "cycle may never happen here; install Volcano's CRDs"
)
UNUSED_EFFECT = "this cluster's scheduler runs without it, and so does the replay"


def can_i(kind: ResourceKind, context_flag: str = "", namespace: str = "") -> str:
    """The kubectl command that checks whether a kind may be listed, in all namespaces or in one."""
    scope = f" --namespace {namespace}" if namespace else " --all-namespaces"
    return f"kubectl {context_flag}auth can-i {kind.needed_permission}{scope if kind.namespaced else ''}"


def required_failed(api: Api, kind: ResourceKind, refusal: ApiRefusal, namespace: str = "") -> VcdebugError:
    """The error for a required kind that could not be listed."""
    if refusal.status == FORBIDDEN:
        return _forbidden_error(api, kind, refusal, namespace)
    if refusal.status == NOT_FOUND:
        hint = "is Volcano installed?" if kind.group else "is this a Kubernetes API server?"
        missing = f"this cluster does not serve {kind.kubectl_resource} {kind.version}"
        return CaptureError(missing, hint=hint, where=api.server)
    # A busy server says nothing about permissions: who follows a cluster asks again later.
    failure = NoAnswer if refusal.status in RETRIED_STATUSES else CaptureError
    return failure(f"cannot list {kind.kubectl_resource}: {refusal}", where=api.server)


def _forbidden_error(api: Api, kind: ResourceKind, refusal: ApiRefusal, namespace: str) -> CaptureError:
    """The error with the refused permission and all other missing ones that the server reports."""
    missing = [] if namespace else _further_missing_kinds(api, kind)
    scope = f" in namespace {namespace}" if namespace else " in all namespaces"
    message = (
        f'missing permission: verb "list", resource "{kind.plural}", API group "{kind.group}"'
        f"{scope if kind.namespaced else ''} ({refusal.message})"
    )
    also = f"; also missing: {', '.join(other.needed_permission for other in missing)}" if missing else ""
    hint = f"check: {can_i(kind, api.context_flag, namespace)}"
    advice = "" if namespace else "; with the rights of one namespace: --namespace NAME"
    return CaptureError(message + also, hint=hint + advice, where=api.server)


def namespace_problem(hidden: list[ResourceKind], namespace: str) -> Problem:
    """One problem for all kinds that the permissions of a namespace do not cover."""
    names = ", ".join(kind.kubectl_resource for kind in hidden)
    effect = "what they decide is unknown, such as which node fits"
    return Problem(PROBLEM_FILE, f"namespace {namespace}", "", f"its rights do not show {names}", effect)


def _further_missing_kinds(api: Api, refused: ResourceKind) -> list[ResourceKind]:
    missing = []
    for kind in KINDS:
        if kind is refused:
            continue
        allowed = api.is_allowed(kind.needed_permission.partition(" ")[0], kind)
        # If the server does not answer one review, it answers none.
        if allowed is None:
            break
        if not allowed:
            missing.append(kind)
    return missing


def optional_skipped(kind: ResourceKind, refusal: ApiRefusal, groups: dict[str, list[str]]) -> Problem:
    """The problem for an optional kind that could not be listed; it stays in the snapshot, so it names no cluster."""
    if refusal.status == NOT_FOUND:
        return _absent_problem(kind, groups)
    refused = f'missing permission "{kind.needed_permission}" (check: {can_i(kind)})'
    fault = refused if refusal.status == FORBIDDEN else f"cannot be listed: {refusal}"
    return Problem(PROBLEM_FILE, kind.kubectl_resource, "", fault, _missing_effect(kind))


def optional_failed(kind: ResourceKind, failure: VcdebugError) -> Problem:
    """The problem for an optional kind whose requests all broke off."""
    return Problem(PROBLEM_FILE, kind.kubectl_resource, "", failure.message, _missing_effect(kind))


def _missing_effect(kind: ResourceKind) -> str:
    return f"the replay can be wrong about {kind.if_missing}" if kind.is_read else kind.if_missing.partition("; ")[2]


def _absent_problem(kind: ResourceKind, groups: dict[str, list[str]]) -> Problem:
    versions = groups.get(kind.group, [])
    if versions and kind.version not in versions:
        fault = f"the cluster serves {kind.group} in version {', '.join(versions)} only, not {kind.version}"
        return Problem(PROBLEM_FILE, kind.kubectl_resource, "", fault, _missing_effect(kind))
    absent = f"API group {kind.group}" if kind.group and not versions else "this resource"
    effect = AWAITED_EFFECT if kind.is_awaited else UNUSED_EFFECT
    return Problem(PROBLEM_FILE, kind.kubectl_resource, "", f"the cluster does not serve {absent}", effect)


def served_groups(api: Api) -> dict[str, list[str]]:
    """API group -> versions; empty if discovery fails."""
    try:
        groups = api.get_object("/apis").get("groups")
    except ApiRefusal:
        return {}
    return {
        str(group.get("name")): [str(version.get("version")) for version in object_list(group.get("versions"))]
        for group in object_list(groups)
    }


NAMESPACE_ROLE_HEAD = """# What `vcdebug capture --namespace {namespace}` reads; it never writes. Bind it to the user:
#   kubectl -n {namespace} create rolebinding {name} --role={name} --user=NAME
# Nodes, queues and priority classes belong to no namespace: what they decide stays unknown.
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {name}
  namespace: {namespace}
rules:
"""
ROLE_NAME = "vcdebug-capture"
ROLE_HEAD = f"""# What `vcdebug capture` reads; it never writes. Bind it to the user that captures:
#   kubectl create clusterrolebinding {ROLE_NAME} --clusterrole={ROLE_NAME} --user=NAME
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {ROLE_NAME}
rules:
"""
# ConfigMaps may hold secrets of other teams: the role names the two that decide instead of listing all.
CONFIG_MAPS_RULE = """- apiGroups: [""]
  resources: ["configmaps"]
  resourceNames: ["{name}", "{devices}"]
  verbs: ["get", "list"]  # list: of an earlier state, one by its name
"""
WATCH_RULE = """- apiGroups: ["", "scheduling.volcano.sh"]
  resources: ["pods", "podgroups"]
  verbs: ["watch"]  # followed by verify and --until, which list them again and again without this right
"""


def namespace_role(namespace: str) -> str:
    """The Role as YAML: list every kind that a namespace holds and that is not the scheduler's."""
    rules = _list_rules(lambda kind: kind.namespaced and not kind.settings)
    return NAMESPACE_ROLE_HEAD.format(namespace=namespace, name=ROLE_NAME) + rules + WATCH_RULE


def cluster_role(config_map: str) -> str:
    """The ClusterRole as YAML: list every kind, but only get `config_map` and the vGPU ConfigMap by name."""
    rules = _list_rules(lambda kind: kind.name != "ConfigMap")
    return ROLE_HEAD + rules + WATCH_RULE + CONFIG_MAPS_RULE.format(name=config_map, devices=DEVICE_CONFIG_NAME)


def _list_rules(is_listed: Callable[[ResourceKind], bool]) -> str:
    groups = group_by_key((kind.group, kind.plural) for kind in (*KINDS, *WORKLOAD_KINDS) if is_listed(kind))
    listed = ((group, ", ".join(f'"{plural}"' for plural in plurals)) for group, plurals in groups.items())
    return "".join(
        f'- apiGroups: ["{group}"]\n  resources: [{resources}]\n  verbs: ["list"]\n' for group, resources in listed
    )
