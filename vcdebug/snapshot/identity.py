"""Objects that are there twice, and pods whose uid is missing or shared."""

from __future__ import annotations

from vcdebug.snapshot.gather import Gathered, object_name
from vcdebug.snapshot.snapshot import Manifest


def drop_duplicates(found: Gathered) -> None:
    """Of objects with the same kind, namespace and name the last one stays, in the place of the first."""
    for kind, manifests in found.objects.items():
        if len(set(map(_key, manifests))) == len(manifests):
            continue
        last = {_key(manifest): index for index, manifest in enumerate(manifests)}
        files = found.files[kind]
        for index, manifest in enumerate(manifests):
            winner = last[_key(manifest)]
            if index != winner:
                what = f"is there again in {files[winner]}" if files[winner] != files[index] else "is there twice"
                effect = "the last one counts, as if it had been updated"
                found.report.add(what, effect, file=files[index], object=f"{kind} {object_name(manifest)}")
        found.objects[kind] = [manifests[index] for index in last.values()]
        found.files[kind] = [files[index] for index in last.values()]


def note_pod_uids(found: Gathered) -> None:
    """The scheduler knows tasks by their pod's uid."""
    pods = found.objects.get("Pod", ())
    uids = {manifest["metadata"].get("uid") or "" for manifest in pods}
    if len(uids) == len(pods) and "" not in uids:
        return
    owners: dict[str, Manifest] = {}
    for index, manifest in enumerate(pods):
        uid = manifest["metadata"].get("uid") or ""
        if uid and uid not in owners:
            owners[uid] = manifest
            continue
        what = f"is the same as that of Pod {object_name(owners[uid])}" if uid else "is missing"
        effect = "the later pod takes the earlier one's place" if uid else "pods without uid take each other's place"
        file = found.files["Pod"][index]
        found.report.add(what, effect, file=file, object=f"Pod {object_name(manifest)}", field="metadata.uid")


def _key(manifest: Manifest) -> tuple[str, str]:
    metadata = manifest["metadata"]
    return metadata.get("namespace") or "", metadata["name"]
