"""The type of every field that the engine reads, per kind; values of another type are removed from our copy."""

from collections.abc import Mapping

from vcdebug.snapshot.manifest import GROUP_ANNOTATION
from vcdebug.snapshot.problems import ProblemReport
from vcdebug.snapshot.shapes import (
    DROP,
    INT,
    QUANTITY,
    TIME,
    ListOf,
    MapOf,
    MisfitError,
    ObjectIntake,
    Shape,
    Struct,
    alike_struct,
    fields_of,
    struct_of,
    structs_of,
)
from vcdebug.snapshot.snapshot import Manifest

_METADATA = struct_of(
    "name namespace uid resourceVersion generateName labels=text-map annotations=text-map "
    "creationTimestamp=time deletionTimestamp=time deletionGracePeriodSeconds=long",
    ownerReferences=structs_of("apiVersion kind name uid controller=bool"),
)


def _kind_shape(simple: str = "", **others: Shape) -> Struct:
    return struct_of(f"kind apiVersion {simple}", metadata=_METADATA, **others)


_REQUIREMENTS = structs_of("key operator values=texts")
_LABEL_SELECTOR = struct_of("matchLabels=text-map", matchExpressions=_REQUIREMENTS)
_NODE_TERM = struct_of(matchExpressions=_REQUIREMENTS, matchFields=_REQUIREMENTS)
_NODE_SELECTOR = struct_of(nodeSelectorTerms=ListOf(_NODE_TERM))
_POD_TERM = struct_of(
    "namespaces=texts topologyKey matchLabelKeys=texts mismatchLabelKeys=texts",
    labelSelector=_LABEL_SELECTOR,
    namespaceSelector=_LABEL_SELECTOR,
)
_POD_AFFINITY = alike_struct(
    requiredDuringSchedulingIgnoredDuringExecution=ListOf(_POD_TERM),
    preferredDuringSchedulingIgnoredDuringExecution=structs_of("weight=int", podAffinityTerm=_POD_TERM),
)
_AFFINITY = alike_struct(
    nodeAffinity=struct_of(
        requiredDuringSchedulingIgnoredDuringExecution=_NODE_SELECTOR,
        preferredDuringSchedulingIgnoredDuringExecution=structs_of("weight=int", preference=_NODE_TERM),
    ),
    podAffinity=_POD_AFFINITY,
    podAntiAffinity=_POD_AFFINITY,
)
_SPREAD = structs_of(
    "maxSkew=int topologyKey whenUnsatisfiable minDomains=int nodeAffinityPolicy nodeTaintsPolicy matchLabelKeys=texts",
    labelSelector=_LABEL_SELECTOR,
)
_RESOURCES = struct_of("requests=quantities limits=quantities", claims=structs_of("name request"))
_CONTAINERS = structs_of(
    "name image restartPolicy",
    resources=_RESOURCES,
    ports=structs_of("containerPort=int hostPort=int protocol hostIP name"),
)
_IN_TREE_VOLUMES = fields_of(
    gcePersistentDisk=struct_of("pdName readOnly=bool"),
    awsElasticBlockStore=struct_of("volumeID readOnly=bool"),
    azureDisk=struct_of("diskName diskURI readOnly=bool"),
    cinder=struct_of("volumeID readOnly=bool"),
    portworxVolume=struct_of("volumeID readOnly=bool"),
    iscsi=struct_of("iqn targetPortal lun=int readOnly=bool"),
    rbd=struct_of("monitors=texts image pool readOnly=bool"),
)
_VOLUMES = structs_of(
    "name",
    **_IN_TREE_VOLUMES,
    persistentVolumeClaim=struct_of("claimName readOnly=bool"),
    ephemeral=struct_of(volumeClaimTemplate=struct_of()),
    image=struct_of("reference"),
)
_POD_SPEC = struct_of(
    "nodeName schedulerName priorityClassName preemptionPolicy restartPolicy priority=int "
    "overhead=quantities nodeSelector=text-map hostNetwork=bool terminationGracePeriodSeconds=long",
    containers=_CONTAINERS,
    initContainers=_CONTAINERS,
    resources=_RESOURCES,
    affinity=_AFFINITY,
    tolerations=structs_of("key operator value effect tolerationSeconds=long"),
    topologySpreadConstraints=_SPREAD,
    volumes=_VOLUMES,
    schedulingGates=structs_of("name"),
    resourceClaims=structs_of("name resourceClaimName resourceClaimTemplateName"),
)
_CONTAINER_STATUSES = structs_of(
    "name allocatedResources=quantities restartCount=int",
    resources=_RESOURCES,
    state=struct_of(waiting=struct_of("reason message")),
    lastState=struct_of(terminated=struct_of("exitCode=int reason")),
)
_CONDITIONS = structs_of("type status reason message lastTransitionTime=time lastHeartbeatTime=time")
_TOPOLOGY = struct_of("mode highestTierAllowed=int highestTierName")
_NODE_GROUPS = struct_of(
    "requiredDuringSchedulingIgnoredDuringExecution=texts preferredDuringSchedulingIgnoredDuringExecution=texts"
)

_CEL_SELECTORS = structs_of(cel=struct_of("expression"))
_DEVICE_REQUEST = fields_of(
    "deviceClassName allocationMode count=long",
    capacity=struct_of("requests=quantities"),
    selectors=_CEL_SELECTORS,
    tolerations=structs_of("key operator value effect"),
)
_DEVICE_REQUESTS = structs_of(
    "name",
    **_DEVICE_REQUEST,
    exactly=struct_of("adminAccess=bool", **_DEVICE_REQUEST),
    firstAvailable=structs_of("name", **_DEVICE_REQUEST),
)
_DEVICE_RESULTS = structs_of("request driver pool device shareID adminAccess=bool consumedCapacity=quantities")
_COUNTERS = MapOf(struct_of("value=quantity"))
_RANGE = struct_of("min=quantity max=quantity step=quantity")
_DEVICE_PLACE = fields_of("nodeName allNodes=bool", nodeSelector=_NODE_SELECTOR)
_DEVICES = structs_of(
    "name bindingConditions=texts bindsToNode=bool allowMultipleAllocations=bool",
    **_DEVICE_PLACE,
    attributes=MapOf(struct_of("int=long bool=bool string version")),
    capacity=MapOf(
        struct_of(
            "value=quantity",
            requestPolicy=struct_of("default=quantity", validValues=ListOf(QUANTITY), validRange=_RANGE),
        )
    ),
    consumesCounters=structs_of("counterSet", counters=_COUNTERS),
    taints=structs_of("key value effect"),
)
_POLICIES = structs_of("event events=texts action")

SHAPES: Mapping[str, Struct] = {
    "Node": _kind_shape(
        spec=struct_of("unschedulable=bool", taints=structs_of("key value effect timeAdded=time")),
        status=struct_of(
            "allocatable=quantities capacity=quantities volumesInUse=texts",
            conditions=_CONDITIONS,
            images=structs_of("names=texts sizeBytes=long"),
            nodeInfo=struct_of("kubeletVersion"),
        ),
    ),
    "Pod": _kind_shape(
        spec=_POD_SPEC,
        status=alike_struct(
            "phase reason message nominatedNodeName startTime=time",
            conditions=_CONDITIONS,
            containerStatuses=_CONTAINER_STATUSES,
            initContainerStatuses=_CONTAINER_STATUSES,
            resourceClaimStatuses=structs_of("name resourceClaimName"),
        ),
    ),
    "PodGroup": _kind_shape(
        spec=struct_of(
            "minMember=int minResources=quantities queue priorityClassName",
            minTaskMember=MapOf(INT),
            networkTopology=_TOPOLOGY,
            subGroupPolicy=structs_of(
                "name subGroupSize=int minSubGroups=int matchLabelKeys=texts",
                labelSelector=_LABEL_SELECTOR,
                networkTopology=_TOPOLOGY,
            ),
        ),
        status=struct_of(
            "phase running=int succeeded=int failed=int",
            conditions=structs_of("type status reason message transitionID lastTransitionTime=time"),
        ),
    ),
    "Queue": _kind_shape(
        spec=struct_of(
            "weight=int priority=int parent reclaimable=bool preemptable=bool dequeueStrategy "
            "capability=quantities deserved=quantities",
            guarantee=struct_of("resource=quantities"),
            affinity=struct_of(nodeGroupAffinity=_NODE_GROUPS, nodeGroupAntiAffinity=_NODE_GROUPS),
        ),
        status=struct_of("state allocated=quantities", reservation=struct_of("nodes=texts resource=quantities")),
    ),
    "PriorityClass": _kind_shape("value=int globalDefault=bool preemptionPolicy"),
    "ResourceQuota": _kind_shape(
        spec=struct_of(
            "hard=quantities scopes=texts",
            scopeSelector=struct_of(matchExpressions=structs_of("scopeName operator values=texts")),
        ),
        status=struct_of("hard=quantities used=quantities"),
    ),
    "PodDisruptionBudget": _kind_shape(
        spec=struct_of("minAvailable=int-or-text maxUnavailable=int-or-text", selector=_LABEL_SELECTOR),
        status=struct_of(
            "disruptionsAllowed=int currentHealthy=int desiredHealthy=int expectedPods=int", disruptedPods=MapOf(TIME)
        ),
    ),
    "HyperNode": _kind_shape(
        spec=struct_of(
            "tier=int tierName",
            members=structs_of(
                "type",
                selector=struct_of(
                    exactMatch=struct_of("name"), regexMatch=struct_of("pattern"), labelMatch=_LABEL_SELECTOR
                ),
            ),
        )
    ),
    "Numatopology": _kind_shape(
        spec=struct_of(
            "policies=text-map resReserved=text-map",
            numares=MapOf(struct_of("allocatable capacity=int")),
            cpuDetail=MapOf(struct_of("numa=int socket=int core=int")),
            podAllocations=structs_of("uid name namespace"),
        )
    ),
    "NodeShard": _kind_shape(
        spec=struct_of("nodesDesired=texts"), status=struct_of("nodesInUse=texts nodesToAdd=texts nodesToRemove=texts")
    ),
    "CSINode": _kind_shape(
        spec=struct_of(drivers=structs_of("name nodeID topologyKeys=texts", allocatable=struct_of("count=int")))
    ),
    "PersistentVolume": _kind_shape(
        spec=struct_of(
            "capacity=quantities accessModes=texts storageClassName volumeMode volumeAttributesClassName",
            **_IN_TREE_VOLUMES,
            claimRef=struct_of("namespace name uid"),
            nodeAffinity=struct_of(required=_NODE_SELECTOR),
            csi=struct_of("driver volumeHandle"),
        ),
        status=struct_of("phase"),
    ),
    "PersistentVolumeClaim": _kind_shape(
        spec=struct_of(
            "accessModes=texts storageClassName volumeName volumeMode volumeAttributesClassName",
            resources=_RESOURCES,
            selector=_LABEL_SELECTOR,
        ),
        status=struct_of("phase"),
    ),
    "StorageClass": _kind_shape(
        "provisioner parameters=text-map volumeBindingMode reclaimPolicy allowVolumeExpansion=bool",
        allowedTopologies=structs_of(matchLabelExpressions=structs_of("key values=texts")),
    ),
    "CSIDriver": _kind_shape(spec=struct_of("storageCapacity=bool attachRequired=bool")),
    "CSIStorageCapacity": _kind_shape(
        "storageClassName capacity=quantity maximumVolumeSize=quantity", nodeTopology=_LABEL_SELECTOR
    ),
    "VolumeAttachment": _kind_shape(
        spec=struct_of("attacher nodeName", source=struct_of("persistentVolumeName")), status=struct_of("attached=bool")
    ),
    "Service": _kind_shape(spec=struct_of("selector=text-map")),
    "ReplicationController": _kind_shape(spec=struct_of("replicas=int selector=text-map")),
    "ReplicaSet": _kind_shape(spec=struct_of("replicas=int", selector=_LABEL_SELECTOR)),
    "StatefulSet": _kind_shape(spec=struct_of("replicas=int", selector=_LABEL_SELECTOR)),
    "Namespace": _kind_shape(),
    "ResourceClaim": _kind_shape(
        spec=struct_of(
            devices=struct_of(
                requests=_DEVICE_REQUESTS, constraints=structs_of("requests=texts matchAttribute distinctAttribute")
            )
        ),
        status=struct_of(
            allocation=struct_of(nodeSelector=_NODE_SELECTOR, devices=struct_of(results=_DEVICE_RESULTS)),
            reservedFor=structs_of("apiGroup resource name uid"),
        ),
    ),
    "ResourceSlice": _kind_shape(
        spec=struct_of(
            "driver perDeviceNodeSelection=bool",
            **_DEVICE_PLACE,
            pool=struct_of("name generation=long resourceSliceCount=long"),
            sharedCounters=structs_of("name", counters=_COUNTERS),
            devices=_DEVICES,
        )
    ),
    "DeviceTaintRule": _kind_shape(
        spec=struct_of(deviceSelector=struct_of("driver pool device"), taint=struct_of("key value effect"))
    ),
    "DeviceClass": _kind_shape(spec=struct_of("extendedResourceName", selectors=_CEL_SELECTORS)),
    "Job": _kind_shape(
        spec=struct_of(
            "queue schedulerName priorityClassName minAvailable=int maxRetry=int",
            volumes=structs_of("volumeClaimName", volumeClaim=struct_of()),
            tasks=structs_of(
                "name topologyPolicy replicas=int minAvailable=int",
                dependsOn=struct_of("name=texts"),
                policies=_POLICIES,
                template=struct_of(
                    metadata=struct_of("labels=text-map", annotations=struct_of(GROUP_ANNOTATION)), spec=_POD_SPEC
                ),
            ),
            policies=_POLICIES,
        ),
        status=struct_of(
            "pending=int running=int succeeded=int failed=int terminating=int unknown=int retryCount=int",
            state=struct_of("phase reason message lastTransitionTime=time"),
            conditions=structs_of("status lastTransitionTime=time"),
        ),
    ),
    "JobFlow": _kind_shape(
        spec=struct_of(flows=structs_of("name", dependsOn=struct_of("targets=texts"))),
        status=struct_of(state=struct_of("phase")),
    ),
    "Event": _kind_shape(
        "type reason message reportingComponent count=int firstTimestamp=time lastTimestamp=time eventTime=time",
        involvedObject=struct_of("kind namespace name uid"),
        source=struct_of("component"),
        series=struct_of("count=int lastObservedTime=time"),
    ),
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
