"""The type of every field that the engine reads, per kind; values of another type are removed from our copy."""

from collections.abc import Mapping

from vcdebug.snapshot.manifest import GROUP_ANNOTATION
from vcdebug.snapshot.problems import ProblemReport
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
    ListOf,
    MapOf,
    MisfitError,
    ObjectIntake,
    Shape,
    Struct,
    alike_struct,
    struct_of,
    structs_of,
)
from vcdebug.snapshot.snapshot import Manifest

_METADATA = struct_of(
    **dict.fromkeys(("name", "namespace", "uid", "resourceVersion", "generateName"), TEXT),
    labels=TEXT_MAP,
    annotations=TEXT_MAP,
    creationTimestamp=TIME,
    deletionTimestamp=TIME,
    deletionGracePeriodSeconds=LONG,
    ownerReferences=structs_of(apiVersion=TEXT, kind=TEXT, name=TEXT, uid=TEXT, controller=BOOL),
)


def _kind_shape(**fields: Shape) -> Struct:
    return struct_of(kind=TEXT, apiVersion=TEXT, metadata=_METADATA, **fields)


_REQUIREMENTS = structs_of(key=TEXT, operator=TEXT, values=TEXTS)
_LABEL_SELECTOR = struct_of(matchLabels=TEXT_MAP, matchExpressions=_REQUIREMENTS)
_NODE_TERM = struct_of(matchExpressions=_REQUIREMENTS, matchFields=_REQUIREMENTS)
_NODE_SELECTOR = struct_of(nodeSelectorTerms=ListOf(_NODE_TERM))
_POD_TERM = struct_of(
    labelSelector=_LABEL_SELECTOR,
    namespaceSelector=_LABEL_SELECTOR,
    namespaces=TEXTS,
    topologyKey=TEXT,
    matchLabelKeys=TEXTS,
    mismatchLabelKeys=TEXTS,
)
_POD_AFFINITY = alike_struct(
    requiredDuringSchedulingIgnoredDuringExecution=ListOf(_POD_TERM),
    preferredDuringSchedulingIgnoredDuringExecution=structs_of(weight=INT, podAffinityTerm=_POD_TERM),
)
_AFFINITY = alike_struct(
    nodeAffinity=struct_of(
        requiredDuringSchedulingIgnoredDuringExecution=_NODE_SELECTOR,
        preferredDuringSchedulingIgnoredDuringExecution=structs_of(weight=INT, preference=_NODE_TERM),
    ),
    podAffinity=_POD_AFFINITY,
    podAntiAffinity=_POD_AFFINITY,
)
_SPREAD = structs_of(
    maxSkew=INT,
    topologyKey=TEXT,
    whenUnsatisfiable=TEXT,
    labelSelector=_LABEL_SELECTOR,
    minDomains=INT,
    nodeAffinityPolicy=TEXT,
    nodeTaintsPolicy=TEXT,
    matchLabelKeys=TEXTS,
)
_RESOURCES = struct_of(requests=QUANTITIES, limits=QUANTITIES, claims=structs_of(name=TEXT, request=TEXT))
_CONTAINERS = structs_of(
    name=TEXT,
    image=TEXT,
    restartPolicy=TEXT,
    resources=_RESOURCES,
    ports=structs_of(containerPort=INT, hostPort=INT, protocol=TEXT, hostIP=TEXT, name=TEXT),
)
_IN_TREE_VOLUMES = {
    "gcePersistentDisk": struct_of(pdName=TEXT, readOnly=BOOL),
    "awsElasticBlockStore": struct_of(volumeID=TEXT, readOnly=BOOL),
    "azureDisk": struct_of(diskName=TEXT, diskURI=TEXT, readOnly=BOOL),
    "cinder": struct_of(volumeID=TEXT, readOnly=BOOL),
    "portworxVolume": struct_of(volumeID=TEXT, readOnly=BOOL),
    "iscsi": struct_of(iqn=TEXT, targetPortal=TEXT, lun=INT, readOnly=BOOL),
    "rbd": struct_of(monitors=TEXTS, image=TEXT, pool=TEXT, readOnly=BOOL),
}
_VOLUMES = structs_of(
    **_IN_TREE_VOLUMES,
    name=TEXT,
    persistentVolumeClaim=struct_of(claimName=TEXT, readOnly=BOOL),
    ephemeral=struct_of(volumeClaimTemplate=struct_of()),
    image=struct_of(reference=TEXT),
)
_POD_SPEC = struct_of(
    **dict.fromkeys(("nodeName", "schedulerName", "priorityClassName", "preemptionPolicy", "restartPolicy"), TEXT),
    priority=INT,
    containers=_CONTAINERS,
    initContainers=_CONTAINERS,
    resources=_RESOURCES,
    overhead=QUANTITIES,
    nodeSelector=TEXT_MAP,
    affinity=_AFFINITY,
    tolerations=structs_of(key=TEXT, operator=TEXT, value=TEXT, effect=TEXT, tolerationSeconds=LONG),
    topologySpreadConstraints=_SPREAD,
    volumes=_VOLUMES,
    schedulingGates=structs_of(name=TEXT),
    hostNetwork=BOOL,
    terminationGracePeriodSeconds=LONG,
    resourceClaims=structs_of(name=TEXT, resourceClaimName=TEXT, resourceClaimTemplateName=TEXT),
)
_CONTAINER_STATUSES = structs_of(
    name=TEXT,
    resources=_RESOURCES,
    allocatedResources=QUANTITIES,
    restartCount=INT,
    state=struct_of(waiting=struct_of(reason=TEXT, message=TEXT)),
    lastState=struct_of(terminated=struct_of(exitCode=INT, reason=TEXT)),
)
_CONDITIONS = structs_of(
    type=TEXT, status=TEXT, reason=TEXT, message=TEXT, lastTransitionTime=TIME, lastHeartbeatTime=TIME
)
_POD = _kind_shape(
    spec=_POD_SPEC,
    status=alike_struct(
        phase=TEXT,
        reason=TEXT,
        message=TEXT,
        nominatedNodeName=TEXT,
        startTime=TIME,
        conditions=_CONDITIONS,
        containerStatuses=_CONTAINER_STATUSES,
        initContainerStatuses=_CONTAINER_STATUSES,
        resourceClaimStatuses=structs_of(name=TEXT, resourceClaimName=TEXT),
    ),
)
_NODE = _kind_shape(
    spec=struct_of(unschedulable=BOOL, taints=structs_of(key=TEXT, value=TEXT, effect=TEXT, timeAdded=TIME)),
    status=struct_of(
        allocatable=QUANTITIES,
        capacity=QUANTITIES,
        conditions=_CONDITIONS,
        images=structs_of(names=TEXTS, sizeBytes=LONG),
        volumesInUse=TEXTS,
        nodeInfo=struct_of(kubeletVersion=TEXT),
    ),
)
_TOPOLOGY = struct_of(mode=TEXT, highestTierAllowed=INT, highestTierName=TEXT)
_POD_GROUP = _kind_shape(
    spec=struct_of(
        minMember=INT,
        minTaskMember=MapOf(INT),
        minResources=QUANTITIES,
        queue=TEXT,
        priorityClassName=TEXT,
        networkTopology=_TOPOLOGY,
        subGroupPolicy=structs_of(
            name=TEXT,
            subGroupSize=INT,
            minSubGroups=INT,
            labelSelector=_LABEL_SELECTOR,
            matchLabelKeys=TEXTS,
            networkTopology=_TOPOLOGY,
        ),
    ),
    status=struct_of(
        phase=TEXT,
        running=INT,
        succeeded=INT,
        failed=INT,
        conditions=structs_of(
            type=TEXT, status=TEXT, reason=TEXT, message=TEXT, transitionID=TEXT, lastTransitionTime=TIME
        ),
    ),
)
_NODE_GROUPS = struct_of(
    requiredDuringSchedulingIgnoredDuringExecution=TEXTS, preferredDuringSchedulingIgnoredDuringExecution=TEXTS
)
_QUEUE = _kind_shape(
    spec=struct_of(
        weight=INT,
        priority=INT,
        parent=TEXT,
        reclaimable=BOOL,
        preemptable=BOOL,
        dequeueStrategy=TEXT,
        capability=QUANTITIES,
        deserved=QUANTITIES,
        guarantee=struct_of(resource=QUANTITIES),
        affinity=struct_of(nodeGroupAffinity=_NODE_GROUPS, nodeGroupAntiAffinity=_NODE_GROUPS),
    ),
    status=struct_of(state=TEXT, allocated=QUANTITIES, reservation=struct_of(nodes=TEXTS, resource=QUANTITIES)),
)
_PERSISTENT_VOLUME = _kind_shape(
    spec=struct_of(
        **_IN_TREE_VOLUMES,
        capacity=QUANTITIES,
        accessModes=TEXTS,
        storageClassName=TEXT,
        volumeMode=TEXT,
        volumeAttributesClassName=TEXT,
        claimRef=struct_of(namespace=TEXT, name=TEXT, uid=TEXT),
        nodeAffinity=struct_of(required=_NODE_SELECTOR),
        csi=struct_of(driver=TEXT, volumeHandle=TEXT),
    ),
    status=struct_of(phase=TEXT),
)
_PERSISTENT_VOLUME_CLAIM = _kind_shape(
    spec=struct_of(
        accessModes=TEXTS,
        resources=_RESOURCES,
        storageClassName=TEXT,
        volumeName=TEXT,
        volumeMode=TEXT,
        volumeAttributesClassName=TEXT,
        selector=_LABEL_SELECTOR,
    ),
    status=struct_of(phase=TEXT),
)
_STORAGE_CLASS = _kind_shape(
    provisioner=TEXT,
    parameters=TEXT_MAP,
    volumeBindingMode=TEXT,
    reclaimPolicy=TEXT,
    allowVolumeExpansion=BOOL,
    allowedTopologies=structs_of(matchLabelExpressions=structs_of(key=TEXT, values=TEXTS)),
)
_HYPER_NODE = _kind_shape(
    spec=struct_of(
        tier=INT,
        tierName=TEXT,
        members=structs_of(
            type=TEXT,
            selector=struct_of(
                exactMatch=struct_of(name=TEXT), regexMatch=struct_of(pattern=TEXT), labelMatch=_LABEL_SELECTOR
            ),
        ),
    )
)
_NUMATOPOLOGY = _kind_shape(
    spec=struct_of(
        policies=TEXT_MAP,
        resReserved=TEXT_MAP,
        numares=MapOf(struct_of(allocatable=TEXT, capacity=INT)),
        cpuDetail=MapOf(struct_of(numa=INT, socket=INT, core=INT)),
        podAllocations=structs_of(uid=TEXT, name=TEXT, namespace=TEXT),
    )
)
_DISRUPTION_BUDGET = _kind_shape(
    spec=struct_of(minAvailable=INT_OR_TEXT, maxUnavailable=INT_OR_TEXT, selector=_LABEL_SELECTOR),
    status=struct_of(
        **dict.fromkeys(("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"), INT),
        disruptedPods=MapOf(TIME),
    ),
)
_CSI_NODE = _kind_shape(
    spec=struct_of(drivers=structs_of(name=TEXT, nodeID=TEXT, topologyKeys=TEXTS, allocatable=struct_of(count=INT)))
)

_CEL_SELECTORS = structs_of(cel=struct_of(expression=TEXT))
_TAINT_PARTS = ("key", "value", "effect")
_DEVICE_REQUEST: dict[str, Shape] = {
    **dict.fromkeys(("deviceClassName", "allocationMode"), TEXT),
    "count": LONG,
    "capacity": struct_of(requests=QUANTITIES),
    "selectors": _CEL_SELECTORS,
    "tolerations": structs_of(operator=TEXT, **dict.fromkeys(_TAINT_PARTS, TEXT)),
}
_DEVICE_REQUESTS = structs_of(
    **_DEVICE_REQUEST,
    name=TEXT,
    exactly=struct_of(**_DEVICE_REQUEST, adminAccess=BOOL),
    firstAvailable=structs_of(**_DEVICE_REQUEST, name=TEXT),
)
_DEVICE_RESULTS = structs_of(
    **dict.fromkeys(("request", "driver", "pool", "device", "shareID"), TEXT),
    adminAccess=BOOL,
    consumedCapacity=QUANTITIES,
)
_RESOURCE_CLAIM = _kind_shape(
    spec=struct_of(
        devices=struct_of(
            requests=_DEVICE_REQUESTS,
            constraints=structs_of(requests=TEXTS, matchAttribute=TEXT, distinctAttribute=TEXT),
        )
    ),
    status=struct_of(
        allocation=struct_of(nodeSelector=_NODE_SELECTOR, devices=struct_of(results=_DEVICE_RESULTS)),
        reservedFor=structs_of(apiGroup=TEXT, resource=TEXT, name=TEXT, uid=TEXT),
    ),
)
_COUNTERS = MapOf(struct_of(value=QUANTITY))
_RANGE = struct_of(**dict.fromkeys(("min", "max", "step"), QUANTITY))
_DEVICE_PLACE: dict[str, Shape] = {"nodeName": TEXT, "nodeSelector": _NODE_SELECTOR, "allNodes": BOOL}
_DEVICES = structs_of(
    **_DEVICE_PLACE,
    name=TEXT,
    attributes=MapOf(struct_of(int=LONG, bool=BOOL, string=TEXT, version=TEXT)),
    capacity=MapOf(
        struct_of(
            value=QUANTITY, requestPolicy=struct_of(default=QUANTITY, validValues=ListOf(QUANTITY), validRange=_RANGE)
        )
    ),
    consumesCounters=structs_of(counterSet=TEXT, counters=_COUNTERS),
    taints=structs_of(**dict.fromkeys(_TAINT_PARTS, TEXT)),
    bindingConditions=TEXTS,
    **dict.fromkeys(("bindsToNode", "allowMultipleAllocations"), BOOL),
)
_RESOURCE_SLICE = _kind_shape(
    spec=struct_of(
        **_DEVICE_PLACE,
        driver=TEXT,
        pool=struct_of(name=TEXT, generation=LONG, resourceSliceCount=LONG),
        perDeviceNodeSelection=BOOL,
        sharedCounters=structs_of(name=TEXT, counters=_COUNTERS),
        devices=_DEVICES,
    )
)
_DEVICE_TAINT_RULE = _kind_shape(
    spec=struct_of(
        deviceSelector=struct_of(**dict.fromkeys(("driver", "pool", "device"), TEXT)),
        taint=struct_of(**dict.fromkeys(_TAINT_PARTS, TEXT)),
    )
)
_POLICIES = structs_of(event=TEXT, events=TEXTS, action=TEXT)
_JOB = _kind_shape(
    spec=struct_of(
        **dict.fromkeys(("queue", "schedulerName", "priorityClassName"), TEXT),
        **dict.fromkeys(("minAvailable", "maxRetry"), INT),
        volumes=structs_of(volumeClaimName=TEXT, volumeClaim=struct_of()),
        tasks=structs_of(
            **dict.fromkeys(("name", "topologyPolicy"), TEXT),
            **dict.fromkeys(("replicas", "minAvailable"), INT),
            dependsOn=struct_of(name=TEXTS),
            policies=_POLICIES,
            template=struct_of(
                metadata=struct_of(labels=TEXT_MAP, annotations=struct_of(**{GROUP_ANNOTATION: TEXT})), spec=_POD_SPEC
            ),
        ),
        policies=_POLICIES,
    ),
    status=struct_of(
        state=struct_of(phase=TEXT, reason=TEXT, message=TEXT, lastTransitionTime=TIME),
        conditions=structs_of(status=TEXT, lastTransitionTime=TIME),
        **dict.fromkeys(("pending", "running", "succeeded", "failed", "terminating", "unknown", "retryCount"), INT),
    ),
)
_EVENT = _kind_shape(
    involvedObject=struct_of(kind=TEXT, namespace=TEXT, name=TEXT, uid=TEXT),
    **dict.fromkeys(("type", "reason", "message", "reportingComponent"), TEXT),
    source=struct_of(component=TEXT),
    count=INT,
    series=struct_of(count=INT, lastObservedTime=TIME),
    **dict.fromkeys(("firstTimestamp", "lastTimestamp", "eventTime"), TIME),
)

SHAPES: Mapping[str, Struct] = {
    "Node": _NODE,
    "Pod": _POD,
    "PodGroup": _POD_GROUP,
    "Queue": _QUEUE,
    "PriorityClass": _kind_shape(value=INT, globalDefault=BOOL, preemptionPolicy=TEXT),
    "ResourceQuota": _kind_shape(
        spec=struct_of(
            hard=QUANTITIES,
            scopes=TEXTS,
            scopeSelector=struct_of(matchExpressions=structs_of(scopeName=TEXT, operator=TEXT, values=TEXTS)),
        ),
        status=struct_of(hard=QUANTITIES, used=QUANTITIES),
    ),
    "PodDisruptionBudget": _DISRUPTION_BUDGET,
    "HyperNode": _HYPER_NODE,
    "Numatopology": _NUMATOPOLOGY,
    "NodeShard": _kind_shape(
        spec=struct_of(nodesDesired=TEXTS), status=struct_of(nodesInUse=TEXTS, nodesToAdd=TEXTS, nodesToRemove=TEXTS)
    ),
    "CSINode": _CSI_NODE,
    "PersistentVolume": _PERSISTENT_VOLUME,
    "PersistentVolumeClaim": _PERSISTENT_VOLUME_CLAIM,
    "StorageClass": _STORAGE_CLASS,
    "CSIDriver": _kind_shape(spec=struct_of(storageCapacity=BOOL, attachRequired=BOOL)),
    "CSIStorageCapacity": _kind_shape(
        nodeTopology=_LABEL_SELECTOR, storageClassName=TEXT, capacity=QUANTITY, maximumVolumeSize=QUANTITY
    ),
    "VolumeAttachment": _kind_shape(
        spec=struct_of(attacher=TEXT, nodeName=TEXT, source=struct_of(persistentVolumeName=TEXT)),
        status=struct_of(attached=BOOL),
    ),
    "Service": _kind_shape(spec=struct_of(selector=TEXT_MAP)),
    "ReplicationController": _kind_shape(spec=struct_of(replicas=INT, selector=TEXT_MAP)),
    "ReplicaSet": _kind_shape(spec=struct_of(replicas=INT, selector=_LABEL_SELECTOR)),
    "StatefulSet": _kind_shape(spec=struct_of(replicas=INT, selector=_LABEL_SELECTOR)),
    "Namespace": _kind_shape(),
    "ResourceClaim": _RESOURCE_CLAIM,
    "ResourceSlice": _RESOURCE_SLICE,
    "DeviceTaintRule": _DEVICE_TAINT_RULE,
    "DeviceClass": _kind_shape(spec=struct_of(selectors=_CEL_SELECTORS, extendedResourceName=TEXT)),
    "Job": _JOB,
    "JobFlow": _kind_shape(
        spec=struct_of(flows=structs_of(name=TEXT, dependsOn=struct_of(targets=TEXTS))),
        status=struct_of(state=struct_of(phase=TEXT)),
    ),
    "Event": _EVENT,
}
"""The fields that are read, for every kind that a snapshot keeps."""


def slim_manifest(
    kind: str, manifest: Manifest, file: str, name: str, report: ProblemReport, intake: ObjectIntake
) -> Manifest:
    """A copy with only the fields that are read and with shared parts; each value of a wrong type becomes a Problem."""
    # The fast way first: nearly every manifest fits, and a repair costs a second pass.
    shape = SHAPES[kind]
    try:
        slim: Manifest = shape.slim_value(manifest, intake)
    except MisfitError:
        slim = shape.slim_value(repair_manifest(kind, manifest, file, name, report), intake.of_repaired())
    return slim


def drop_unread_fields(objects: Mapping[str, list[Manifest]]) -> dict[str, list[Manifest]]:
    """Objects without what the scheduler does not read: environment, commands, arguments, most annotations."""
    return {kind: [_deciding_part(kind, manifest) for manifest in manifests] for kind, manifests in objects.items()}


def _deciding_part(kind: str, manifest: Manifest) -> Manifest:
    # Its patterns take longer to compile than a small snapshot takes to load, which needs none of them.
    from vcdebug.snapshot.redact_words import is_read_annotation

    deciding: Manifest = SHAPES[kind].keep_named(manifest)
    annotations = (deciding.get("metadata") or {}).get("annotations")
    # kubectl's annotation of what was last applied repeats a whole manifest.
    if isinstance(annotations, dict):
        read_annotations = {key: text for key, text in annotations.items() if is_read_annotation(key)}
        deciding["metadata"] = {**deciding["metadata"], "annotations": read_annotations}
    return deciding


def repair_manifest(kind: str, manifest: Manifest, file: str, name: str, report: ProblemReport) -> Manifest:
    """A copy without values of a wrong type, each of which becomes a Problem."""

    def complain(field: str, fault: str, effect: str) -> None:
        report.add_problem(fault, effect, file=file, object=name, field=field)

    repaired = SHAPES[kind].repair_value(manifest, "", complain)
    return {} if repaired is DROP else repaired
