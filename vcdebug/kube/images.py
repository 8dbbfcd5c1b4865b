"""Container images on nodes; ImageLocality. Upstream: k8s plugin imagelocality, scheduler cache image states."""

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from vcdebug.gomath import int_div, trunc_int64
from vcdebug.model.names import NodeName
from vcdebug.snapshot.manifest import JsonObject, status_of

MIN_THRESHOLD = 23 * 1024 * 1024
MAX_CONTAINER_THRESHOLD = 1000 * 1024 * 1024


class ImageState(Struct, frozen=True):
    """One image in a node's summary."""

    size: int
    num_nodes: int


ImageStates = Mapping[str, ImageState]


def image_states(manifests: Mapping[NodeName, JsonObject]) -> dict[NodeName, dict[str, ImageState]]:
    """Image states per node: the size that the first node reported, and the number of nodes with the image."""
    sizes: dict[str, int] = {}
    holders: dict[str, dict[NodeName, None]] = {}
    for name, manifest in manifests.items():
        for image, size in _reported_images(manifest):
            # Nodes may report different sizes of one image; upstream's cache keeps the first.
            sizes.setdefault(image, size)
            holders.setdefault(image, {})[name] = None
    states = {image: ImageState(size, len(holders[image])) for image, size in sizes.items()}
    return {
        name: {image: states[image] for image, _ in _reported_images(manifest)}
        for name, manifest in manifests.items()
        if status_of(manifest).get("images")
    }


def _reported_images(manifest: JsonObject) -> Iterable[tuple[str, int]]:
    for image in status_of(manifest).get("images") or ():
        for name in image.get("names") or ():
            yield name, image.get("sizeBytes") or 0


class HeldImage(Struct, frozen=True):
    """An image of the pod that is on a node."""

    name: str
    size: int
    num_nodes: int
    counts: int
    """The size times the fraction of nodes with the image."""


class PodImages(Struct, frozen=True):
    """The normalised image names of a pod, and its number of containers."""

    names: tuple[str, ...]
    containers: int


def pod_images(spec: JsonObject, *, with_volumes: bool = True) -> PodImages:
    """Images of init containers, containers and, since a release, image volumes."""
    containers = [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]
    names = [c.get("image") or "" for c in containers]
    for volume in (spec.get("volumes") or ()) if with_volumes else ():
        if volume.get("image") is not None:
            names.append(volume["image"].get("reference") or "")
    return PodImages(tuple(normalized_image_name(name) for name in names), len(containers))


def normalized_image_name(name: str) -> str:
    """The name with `:latest` when it has no tag."""
    return name if name.rfind(":") > name.rfind("/") else f"{name}:latest"


def image_score(images: PodImages, states: ImageStates, total_nodes: int) -> int:
    """Score from 0 to 100 by the size of the pod's images on a node; widespread images count more."""
    total = 0
    for image in held_images(images, states, total_nodes):
        total += image.counts
    return _calculate_priority(total, images.containers)


def held_images(images: PodImages, states: ImageStates, total_nodes: int) -> Iterator[HeldImage]:
    """Yield the pod's images that are on the node."""
    for name in images.names:
        state = states.get(name)
        if state is not None:
            # Two float conversions and a product, then truncation: size * num // total would round differently.
            spread = float(state.num_nodes) / float(total_nodes)
            yield HeldImage(name, state.size, state.num_nodes, trunc_int64(float(state.size) * spread))


def _calculate_priority(total: int, containers: int) -> int:
    highest = MAX_CONTAINER_THRESHOLD * containers
    if total < MIN_THRESHOLD:
        total = MIN_THRESHOLD
    elif total > highest:
        total = highest
    return int_div(100 * (total - MIN_THRESHOLD), highest - MIN_THRESHOLD)
