"""The type of every field that the engine reads, per kind; values of another type are removed from our copy."""

from collections.abc import Mapping
from typing import Final

from vcdebug.snapshot.manifest import GROUP_ANNOTATION, QUEUE_ANNOTATION
from vcdebug.snapshot.problems import ProblemReport
from vcdebug.snapshot.shapes import DROP, TEXT, MisfitError, ObjectIntake, Struct, read_shapes
from vcdebug.snapshot.snapshot import Manifest

SHAPES: Final[Mapping[str, Struct]] = read_shapes(
    """
metadata: name namespace uid resourceVersion generateName labels=text-map annotations=text-map creationTimestamp=time
  deletionTimestamp=time deletionGracePeriodSeconds=long ownerReferences[apiVersion kind name uid controller=bool]
object: kind apiVersion metadata{$metadata}
requirements: key operator values=texts
label-selector: matchLabels=text-map matchExpressions[$requirements]
node-term: matchExpressions[$requirements] matchFields[$requirements]
node-selector: nodeSelectorTerms[$node-term]
pod-term: namespaces=texts topologyKey matchLabelKeys=texts mismatchLabelKeys=texts labelSelector{$label-selector}
  namespaceSelector{$label-selector}
pod-affinity: requiredDuringSchedulingIgnoredDuringExecution[$pod-term]
  preferredDuringSchedulingIgnoredDuringExecution[weight=int podAffinityTerm{$pod-term}]
affinity: nodeAffinity{requiredDuringSchedulingIgnoredDuringExecution{$node-selector}
  preferredDuringSchedulingIgnoredDuringExecution[weight=int preference{$node-term}]} podAffinity~{$pod-affinity}
  podAntiAffinity~{$pod-affinity}
spread: maxSkew=int topologyKey whenUnsatisfiable minDomains=int nodeAffinityPolicy nodeTaintsPolicy
  matchLabelKeys=texts labelSelector{$label-selector}
resources: requests=quantities limits=quantities claims[name request]
containers: name image restartPolicy resources{$resources} ports[containerPort=int hostPort=int protocol hostIP name]
in-tree-volumes: gcePersistentDisk{pdName readOnly=bool} awsElasticBlockStore{volumeID readOnly=bool}
  azureDisk{diskName diskURI readOnly=bool} cinder{volumeID readOnly=bool} portworxVolume{volumeID readOnly=bool}
  iscsi{iqn targetPortal lun=int readOnly=bool} rbd{monitors=texts image pool readOnly=bool}
volumes: name $in-tree-volumes persistentVolumeClaim{claimName readOnly=bool} ephemeral{volumeClaimTemplate{}}
  image{reference}
pod-spec: nodeName schedulerName priorityClassName preemptionPolicy restartPolicy priority=int overhead=quantities
  nodeSelector=text-map hostNetwork=bool terminationGracePeriodSeconds=long containers[$containers]
  initContainers[$containers] resources{$resources} affinity~{$affinity} tolerations[key operator value effect
  tolerationSeconds=long] topologySpreadConstraints[$spread] volumes[$volumes] schedulingGates[name]
  resourceClaims[name resourceClaimName resourceClaimTemplateName]
container-statuses: name allocatedResources=quantities restartCount=int resources{$resources} state{waiting{reason
  message}} lastState{terminated{exitCode=int reason}}
conditions: type status reason message lastTransitionTime=time lastHeartbeatTime=time
topology: mode highestTierAllowed=int highestTierName
node-groups: requiredDuringSchedulingIgnoredDuringExecution=texts
  preferredDuringSchedulingIgnoredDuringExecution=texts
cel-selectors: cel{expression}
device-request: deviceClassName allocationMode count=long capacity{requests=quantities} selectors[$cel-selectors]
  tolerations[key operator value effect]
device-requests: name $device-request exactly{adminAccess=bool $device-request} firstAvailable[name $device-request]
device-results: request driver pool device shareID adminAccess=bool consumedCapacity=quantities
counters: value=quantity
range: min=quantity max=quantity step=quantity
device-place: nodeName allNodes=bool nodeSelector{$node-selector}
devices: name bindingConditions=texts bindsToNode=bool allowMultipleAllocations=bool $device-place
  attributes*{int=long bool=bool string version} capacity*{value=quantity requestPolicy{default=quantity
  validValues=quantity-list validRange{$range}}} consumesCounters[counterSet counters*{$counters}] taints[key value
  effect]
policies: event events=texts action
Node: $object spec{unschedulable=bool taints[key value effect timeAdded=time]} status{allocatable=quantities
  capacity=quantities volumesInUse=texts conditions[$conditions] images[names=texts sizeBytes=long]
  nodeInfo{kubeletVersion}}
Pod: $object spec{$pod-spec} status~{phase reason message nominatedNodeName startTime=time conditions[$conditions]
  containerStatuses[$container-statuses] initContainerStatuses[$container-statuses] resourceClaimStatuses[name
  resourceClaimName]}
PodGroup: $object spec{minMember=int minResources=quantities queue priorityClassName minTaskMember=ints-by-name
  networkTopology{$topology} subGroupPolicy[name subGroupSize=int minSubGroups=int matchLabelKeys=texts
  labelSelector{$label-selector} networkTopology{$topology}]} status{phase running=int succeeded=int failed=int
  conditions[type status reason message transitionID lastTransitionTime=time]}
Queue: $object spec{weight=int priority=int parent reclaimable=bool preemptable=bool dequeueStrategy
  capability=quantities deserved=quantities guarantee{resource=quantities} affinity{nodeGroupAffinity{$node-groups}
  nodeGroupAntiAffinity{$node-groups}}} status{state allocated=quantities reservation{nodes=texts
  resource=quantities}}
PriorityClass: kind apiVersion value=int globalDefault=bool preemptionPolicy metadata{$metadata}
ResourceQuota: $object spec{hard=quantities scopes=texts scopeSelector{matchExpressions[scopeName operator
  values=texts]}} status{hard=quantities used=quantities}
PodDisruptionBudget: $object spec{minAvailable=int-or-text maxUnavailable=int-or-text selector{$label-selector}}
  status{disruptionsAllowed=int currentHealthy=int desiredHealthy=int expectedPods=int disruptedPods=times-by-name}
HyperNode: $object spec{tier=int tierName members[type selector{exactMatch{name} regexMatch{pattern}
  labelMatch{$label-selector}}]}
Numatopology: $object spec{policies=text-map resReserved=text-map numares*{allocatable capacity=int}
  cpuDetail*{numa=int socket=int core=int} podAllocations[uid name namespace]}
NodeShard: $object spec{nodesDesired=texts} status{nodesInUse=texts nodesToAdd=texts nodesToRemove=texts}
CSINode: $object spec{drivers[name nodeID topologyKeys=texts allocatable{count=int}]}
PersistentVolume: $object spec{capacity=quantities accessModes=texts storageClassName volumeMode
  volumeAttributesClassName $in-tree-volumes claimRef{namespace name uid} nodeAffinity{required{$node-selector}}
  csi{driver volumeHandle}} status{phase}
PersistentVolumeClaim: $object spec{accessModes=texts storageClassName volumeName volumeMode volumeAttributesClassName
  resources{$resources} selector{$label-selector}} status{phase}
StorageClass: kind apiVersion provisioner parameters=text-map volumeBindingMode reclaimPolicy
  allowVolumeExpansion=bool metadata{$metadata} allowedTopologies[matchLabelExpressions[key values=texts]]
CSIDriver: $object spec{storageCapacity=bool attachRequired=bool}
CSIStorageCapacity: kind apiVersion storageClassName capacity=quantity maximumVolumeSize=quantity metadata{$metadata}
  nodeTopology{$label-selector}
VolumeAttachment: $object spec{attacher nodeName source{persistentVolumeName}} status{attached=bool}
Service: $object spec{selector=text-map}
ReplicationController: $object spec{replicas=int selector=text-map}
ReplicaSet: $object spec{replicas=int selector{$label-selector}}
StatefulSet: $object spec{replicas=int selector{$label-selector}}
Namespace: $object
ResourceClaim: $object spec{devices{requests[$device-requests] constraints[requests=texts matchAttribute
  distinctAttribute]}} status{allocation{nodeSelector{$node-selector} devices{results[$device-results]}}
  reservedFor[apiGroup resource name uid]}
ResourceSlice: $object spec{driver perDeviceNodeSelection=bool $device-place pool{name generation=long
  resourceSliceCount=long} sharedCounters[name counters*{$counters}] devices[$devices]}
DeviceTaintRule: $object spec{deviceSelector{driver pool device} taint{key value effect}}
DeviceClass: $object spec{extendedResourceName selectors[$cel-selectors]}
Job: $object spec{queue schedulerName priorityClassName minAvailable=int maxRetry=int volumes[volumeClaimName
  volumeClaim{}] tasks[name topologyPolicy replicas=int minAvailable=int dependsOn{name=texts} policies[$policies]
  template{metadata{labels=text-map annotations{$group-annotation}} spec{$pod-spec}}] policies[$policies]}
  status{pending=int running=int succeeded=int failed=int terminating=int unknown=int retryCount=int state{phase
  reason message lastTransitionTime=time} conditions[status lastTransitionTime=time]}
JobFlow: $object spec{flows[name dependsOn{targets=texts}]} status{state{phase}}
Event: kind apiVersion type reason message reportingComponent count=int firstTimestamp=time lastTimestamp=time
  eventTime=time metadata{$metadata} involvedObject{kind namespace name uid} source{component} series{count=int
  lastObservedTime=time}
""",
    {"group-annotation": {GROUP_ANNOTATION: TEXT, QUEUE_ANNOTATION: TEXT}},
)
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
