"""The types of every field that the engine reads, per kind; what does not fit is taken out of our own copy."""

from __future__ import annotations

from collections.abc import Mapping

from vcdebug.snapshot.report import Report
from vcdebug.snapshot.shapes import (
    BOOL,
    DROP,
    INT,
    INT_OR_TEXT,
    LONG,
    QUANTITIES,
    QUANTITY,
    TEXT,
    TEXT_MAP,
    TEXTS,
    TIME,
    Intake,
    ListOf,
    MapOf,
    MisfitError,
    Shape,
    Struct,
    alike,
    struct,
    structs,
)
from vcdebug.snapshot.snapshot import Manifest

_METADATA = struct(
    **dict.fromkeys(("name", "namespace", "uid", "resourceVersion", "generateName"), TEXT),
    labels=TEXT_MAP,
    annotations=TEXT_MAP,
    creationTimestamp=TIME,
    deletionTimestamp=TIME,
    deletionGracePeriodSeconds=LONG,
    ownerReferences=structs(apiVersion=TEXT, kind=TEXT, name=TEXT, uid=TEXT, controller=BOOL),
)


def _kind(**fields: Shape) -> Struct:
    return struct(kind=TEXT, apiVersion=TEXT, metadata=_METADATA, **fields)


_REQUIREMENTS = structs(key=TEXT, operator=TEXT, values=TEXTS)
_LABEL_SELECTOR = struct(matchLabels=TEXT_MAP, matchExpressions=_REQUIREMENTS)
_NODE_TERM = struct(matchExpressions=_REQUIREMENTS, matchFields=_REQUIREMENTS)
_NODE_SELECTOR = struct(nodeSelectorTerms=ListOf(_NODE_TERM))
_POD_TERM = struct(
    labelSelector=_LABEL_SELECTOR,
    namespaceSelector=_LABEL_SELECTOR,
    namespaces=TEXTS,
    topologyKey=TEXT,
    matchLabelKeys=TEXTS,
    mismatchLabelKeys=TEXTS,
)
_POD_AFFINITY = alike(
    requiredDuringSchedulingIgnoredDuringExecution=ListOf(_POD_TERM),
    preferredDuringSchedulingIgnoredDuringExecution=structs(weight=INT, podAffinityTerm=_POD_TERM),
)
_AFFINITY = alike(
    nodeAffinity=struct(
        requiredDuringSchedulingIgnoredDuringExecution=_NODE_SELECTOR,
        preferredDuringSchedulingIgnoredDuringExecution=structs(weight=INT, preference=_NODE_TERM),
    ),
    podAffinity=_POD_AFFINITY,
    podAntiAffinity=_POD_AFFINITY,
)
_SPREAD = structs(
    maxSkew=INT,
    topologyKey=TEXT,
    whenUnsatisfiable=TEXT,
    labelSelector=_LABEL_SELECTOR,
    minDomains=INT,
    nodeAffinityPolicy=TEXT,
    nodeTaintsPolicy=TEXT,
    matchLabelKeys=TEXTS,
)
_RESOURCES = struct(requests=QUANTITIES, limits=QUANTITIES, claims=structs(name=TEXT, request=TEXT))
_CONTAINERS = structs(
    name=TEXT,
    image=TEXT,
    restartPolicy=TEXT,
    resources=_RESOURCES,
    ports=structs(containerPort=INT, hostPort=INT, protocol=TEXT, hostIP=TEXT, name=TEXT),
)
_IN_TREE_VOLUMES = {
    "gcePersistentDisk": struct(pdName=TEXT, readOnly=BOOL),
    "awsElasticBlockStore": struct(volumeID=TEXT, readOnly=BOOL),
    "azureDisk": struct(diskName=TEXT, diskURI=TEXT, readOnly=BOOL),
    "cinder": struct(volumeID=TEXT, readOnly=BOOL),
    "portworxVolume": struct(volumeID=TEXT, readOnly=BOOL),
    "iscsi": struct(iqn=TEXT, targetPortal=TEXT, lun=INT, readOnly=BOOL),
    "rbd": struct(monitors=TEXTS, image=TEXT, pool=TEXT, readOnly=BOOL),
}
_VOLUMES = structs(
    **_IN_TREE_VOLUMES,
    name=TEXT,
    persistentVolumeClaim=struct(claimName=TEXT, readOnly=BOOL),
    ephemeral=struct(volumeClaimTemplate=struct()),
    image=struct(reference=TEXT),
)
_POD_SPEC = struct(
    **dict.fromkeys(("nodeName", "schedulerName", "priorityClassName", "preemptionPolicy", "restartPolicy"), TEXT),
    priority=INT,
    containers=_CONTAINERS,
    initContainers=_CONTAINERS,
    resources=_RESOURCES,
    overhead=QUANTITIES,
    nodeSelector=TEXT_MAP,
    affinity=_AFFINITY,
    tolerations=structs(key=TEXT, operator=TEXT, value=TEXT, effect=TEXT, tolerationSeconds=LONG),
    topologySpreadConstraints=_SPREAD,
    volumes=_VOLUMES,
    schedulingGates=structs(name=TEXT),
    hostNetwork=BOOL,
    terminationGracePeriodSeconds=LONG,
    resourceClaims=structs(name=TEXT, resourceClaimName=TEXT, resourceClaimTemplateName=TEXT),
)
_CONTAINER_STATUSES = structs(name=TEXT, resources=_RESOURCES, allocatedResources=QUANTITIES)
_CONDITIONS = structs(
    type=TEXT, status=TEXT, reason=TEXT, message=TEXT, lastTransitionTime=TIME, lastHeartbeatTime=TIME
)
_POD = _kind(
    spec=_POD_SPEC,
    status=alike(
        phase=TEXT,
        nominatedNodeName=TEXT,
        startTime=TIME,
        conditions=_CONDITIONS,
        containerStatuses=_CONTAINER_STATUSES,
        initContainerStatuses=_CONTAINER_STATUSES,
        resourceClaimStatuses=structs(name=TEXT, resourceClaimName=TEXT),
    ),
)
_NODE = _kind(
    spec=struct(
        unschedulable=BOOL,
        taints=structs(key=TEXT, value=TEXT, effect=TEXT, timeAdded=TIME),
    ),
    status=struct(
        allocatable=QUANTITIES,
        capacity=QUANTITIES,
        conditions=_CONDITIONS,
        images=structs(names=TEXTS, sizeBytes=LONG),
        volumesInUse=TEXTS,
    ),
)
_TOPOLOGY = struct(mode=TEXT, highestTierAllowed=INT, highestTierName=TEXT)
_POD_GROUP = _kind(
    spec=struct(
        minMember=INT,
        minTaskMember=MapOf(INT),
        minResources=QUANTITIES,
        queue=TEXT,
        priorityClassName=TEXT,
        networkTopology=_TOPOLOGY,
        subGroupPolicy=structs(
            name=TEXT,
            subGroupSize=INT,
            minSubGroups=INT,
            labelSelector=_LABEL_SELECTOR,
            matchLabelKeys=TEXTS,
            networkTopology=_TOPOLOGY,
        ),
    ),
    status=struct(
        phase=TEXT,
        running=INT,
        succeeded=INT,
        failed=INT,
        conditions=structs(
            type=TEXT, status=TEXT, reason=TEXT, message=TEXT, transitionID=TEXT, lastTransitionTime=TIME
        ),
    ),
)
_NODE_GROUPS = struct(
    requiredDuringSchedulingIgnoredDuringExecution=TEXTS,
    preferredDuringSchedulingIgnoredDuringExecution=TEXTS,
)
_QUEUE = _kind(
    spec=struct(
        weight=INT,
        priority=INT,
        parent=TEXT,
        reclaimable=BOOL,
        dequeueStrategy=TEXT,
        capability=QUANTITIES,
        deserved=QUANTITIES,
        guarantee=struct(resource=QUANTITIES),
        affinity=struct(nodeGroupAffinity=_NODE_GROUPS, nodeGroupAntiAffinity=_NODE_GROUPS),
    ),
    status=struct(state=TEXT, allocated=QUANTITIES, reservation=struct(nodes=TEXTS, resource=QUANTITIES)),
)
_PERSISTENT_VOLUME = _kind(
    spec=struct(
        **_IN_TREE_VOLUMES,
        capacity=QUANTITIES,
        accessModes=TEXTS,
        storageClassName=TEXT,
        volumeMode=TEXT,
        volumeAttributesClassName=TEXT,
        claimRef=struct(namespace=TEXT, name=TEXT, uid=TEXT),
        nodeAffinity=struct(required=_NODE_SELECTOR),
        csi=struct(driver=TEXT, volumeHandle=TEXT),
    ),
    status=struct(phase=TEXT),
)
_PERSISTENT_VOLUME_CLAIM = _kind(
    spec=struct(
        accessModes=TEXTS,
        resources=_RESOURCES,
        storageClassName=TEXT,
        volumeName=TEXT,
        volumeMode=TEXT,
        volumeAttributesClassName=TEXT,
        selector=_LABEL_SELECTOR,
    ),
    status=struct(phase=TEXT),
)
_STORAGE_CLASS = _kind(
    provisioner=TEXT,
    parameters=TEXT_MAP,
    volumeBindingMode=TEXT,
    reclaimPolicy=TEXT,
    allowVolumeExpansion=BOOL,
    allowedTopologies=structs(matchLabelExpressions=structs(key=TEXT, values=TEXTS)),
)
_HYPER_NODE = _kind(
    spec=struct(
        tier=INT,
        tierName=TEXT,
        members=structs(
            type=TEXT,
            selector=struct(exactMatch=struct(name=TEXT), regexMatch=struct(pattern=TEXT), labelMatch=_LABEL_SELECTOR),
        ),
    )
)
_NUMATOPOLOGY = _kind(
    spec=struct(
        policies=TEXT_MAP,
        resReserved=TEXT_MAP,
        numares=MapOf(struct(allocatable=TEXT, capacity=INT)),
        cpuDetail=MapOf(struct(numa=INT, socket=INT, core=INT)),
        podAllocations=structs(uid=TEXT, name=TEXT, namespace=TEXT),
    )
)
_DISRUPTION_BUDGET = _kind(
    spec=struct(minAvailable=INT_OR_TEXT, maxUnavailable=INT_OR_TEXT, selector=_LABEL_SELECTOR),
    status=struct(
        **dict.fromkeys(("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"), INT),
        disruptedPods=MapOf(TIME),
    ),
)
_CSI_NODE = _kind(
    spec=struct(drivers=structs(name=TEXT, nodeID=TEXT, topologyKeys=TEXTS, allocatable=struct(count=INT)))
)

_CEL_SELECTORS = structs(cel=struct(expression=TEXT))
_TAINT_PARTS = ("key", "value", "effect")
_DEVICE_REQUEST: dict[str, Shape] = {
    **dict.fromkeys(("deviceClassName", "allocationMode"), TEXT),
    "count": LONG,
    "capacity": struct(requests=QUANTITIES),
    "selectors": _CEL_SELECTORS,
    "tolerations": structs(operator=TEXT, **dict.fromkeys(_TAINT_PARTS, TEXT)),
}
_DEVICE_REQUESTS = structs(
    **_DEVICE_REQUEST,
    name=TEXT,
    exactly=struct(**_DEVICE_REQUEST, adminAccess=BOOL),
    firstAvailable=structs(**_DEVICE_REQUEST, name=TEXT),
)
_DEVICE_RESULTS = structs(
    **dict.fromkeys(("request", "driver", "pool", "device", "shareID"), TEXT),
    adminAccess=BOOL,
    consumedCapacity=QUANTITIES,
)
_RESOURCE_CLAIM = _kind(
    spec=struct(
        devices=struct(
            requests=_DEVICE_REQUESTS,
            constraints=structs(requests=TEXTS, matchAttribute=TEXT, distinctAttribute=TEXT),
        )
    ),
    status=struct(
        allocation=struct(nodeSelector=_NODE_SELECTOR, devices=struct(results=_DEVICE_RESULTS)),
        reservedFor=structs(apiGroup=TEXT, resource=TEXT, name=TEXT, uid=TEXT),
    ),
)
_COUNTERS = MapOf(struct(value=QUANTITY))
_RANGE = struct(**dict.fromkeys(("min", "max", "step"), QUANTITY))
_DEVICE_PLACE: dict[str, Shape] = {"nodeName": TEXT, "nodeSelector": _NODE_SELECTOR, "allNodes": BOOL}
_DEVICES = structs(
    **_DEVICE_PLACE,
    name=TEXT,
    attributes=MapOf(struct(int=LONG, bool=BOOL, string=TEXT, version=TEXT)),
    capacity=MapOf(
        struct(value=QUANTITY, requestPolicy=struct(default=QUANTITY, validValues=ListOf(QUANTITY), validRange=_RANGE))
    ),
    consumesCounters=structs(counterSet=TEXT, counters=_COUNTERS),
    taints=structs(**dict.fromkeys(_TAINT_PARTS, TEXT)),
    bindingConditions=TEXTS,
    **dict.fromkeys(("bindsToNode", "allowMultipleAllocations"), BOOL),
)
_RESOURCE_SLICE = _kind(
    spec=struct(
        **_DEVICE_PLACE,
        driver=TEXT,
        pool=struct(name=TEXT, generation=LONG, resourceSliceCount=LONG),
        perDeviceNodeSelection=BOOL,
        sharedCounters=structs(name=TEXT, counters=_COUNTERS),
        devices=_DEVICES,
    )
)
_DEVICE_TAINT_RULE = _kind(
    spec=struct(
        deviceSelector=struct(**dict.fromkeys(("driver", "pool", "device"), TEXT)),
        taint=struct(**dict.fromkeys(_TAINT_PARTS, TEXT)),
    )
)

SHAPES: Mapping[str, Struct] = {
    "Node": _NODE,
    "Pod": _POD,
    "PodGroup": _POD_GROUP,
    "Queue": _QUEUE,
    "PriorityClass": _kind(value=INT, globalDefault=BOOL, preemptionPolicy=TEXT),
    "ResourceQuota": _kind(spec=struct(hard=QUANTITIES, scopes=TEXTS), status=struct(hard=QUANTITIES, used=QUANTITIES)),
    "PodDisruptionBudget": _DISRUPTION_BUDGET,
    "HyperNode": _HYPER_NODE,
    "Numatopology": _NUMATOPOLOGY,
    "NodeShard": _kind(
        spec=struct(nodesDesired=TEXTS), status=struct(nodesInUse=TEXTS, nodesToAdd=TEXTS, nodesToRemove=TEXTS)
    ),
    "CSINode": _CSI_NODE,
    "PersistentVolume": _PERSISTENT_VOLUME,
    "PersistentVolumeClaim": _PERSISTENT_VOLUME_CLAIM,
    "StorageClass": _STORAGE_CLASS,
    "CSIDriver": _kind(spec=struct(storageCapacity=BOOL, attachRequired=BOOL)),
    "CSIStorageCapacity": _kind(
        nodeTopology=_LABEL_SELECTOR, storageClassName=TEXT, capacity=QUANTITY, maximumVolumeSize=QUANTITY
    ),
    "VolumeAttachment": _kind(
        spec=struct(attacher=TEXT, nodeName=TEXT, source=struct(persistentVolumeName=TEXT)),
        status=struct(attached=BOOL),
    ),
    "Service": _kind(spec=struct(selector=TEXT_MAP)),
    "ReplicationController": _kind(spec=struct(selector=TEXT_MAP)),
    "ReplicaSet": _kind(spec=struct(selector=_LABEL_SELECTOR)),
    "StatefulSet": _kind(spec=struct(selector=_LABEL_SELECTOR)),
    "Namespace": _kind(),
    "ResourceClaim": _RESOURCE_CLAIM,
    "ResourceSlice": _RESOURCE_SLICE,
    "DeviceTaintRule": _DEVICE_TAINT_RULE,
    "DeviceClass": _kind(spec=struct(selectors=_CEL_SELECTORS, extendedResourceName=TEXT)),
}
"""The fields read per kind: a row for every kind that a snapshot keeps."""


def check_types(kind: str, manifest: Manifest, file: str, name: str, report: Report) -> Manifest:
    """The manifest, or a copy without its wrongly typed values; each of them becomes a Problem."""
    return manifest if SHAPES[kind].fits(manifest) else _repaired(kind, manifest, file, name, report)


def take_over(kind: str, manifest: Manifest, file: str, name: str, report: Report, intake: Intake) -> Manifest:
    """As check_types, with the fields alone that something reads."""
    shape = SHAPES[kind]
    try:
        taken: Manifest = shape.slim(manifest, intake)
    except MisfitError:
        taken = shape.slim(_repaired(kind, manifest, file, name, report), intake.of_repaired())
    return taken


def _repaired(kind: str, manifest: Manifest, file: str, name: str, report: Report) -> Manifest:
    def complain(field: str, what: str, effect: str) -> None:
        report.add(what, effect, file=file, object=name, field=field)

    repaired = SHAPES[kind].repair(manifest, "", complain)
    return {} if repaired is DROP else repaired
