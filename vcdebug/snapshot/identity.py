"""Objects that are there twice, and pods whose uid is missing or shared."""

from __future__ import annotations

from vcdebug.snapshot.gather import GatheredObjects, object_name
from vcdebug.snapshot.snapshot import Manifest


def drop_duplicates(found: GatheredObjects) -> None:
    """Of objects with the same kind, namespace and name the last one stays, in the place of the first.

    An archive of support data holds an object several times, once for each way to it: copies that say the same are
    told of in one line.
    """
    copied, holders = 0, list[str]()
    for kind, manifests in found.objects.items():
        if len(set(map(_object_key, manifests))) == len(manifests):
            continue
        last = {_object_key(manifest): index for index, manifest in enumerate(manifests)}
        same = dict.fromkeys(last.values(), 0)
        for index, manifest in enumerate(manifests):
            winner = last[_object_key(manifest)]
            if index != winner and manifest == manifests[winner]:
                same[winner] += 1
                holders.append(found.files[kind][index])
            elif index != winner:
                _note_replaced(found, kind, index, winner)
        copied += len([count for count in same.values() if count])
        files = found.files[kind]
        found.objects[kind] = [manifests[index] for index in last.values()]
        found.files[kind] = [files[index] for index in last.values()]
    if holders:
        _note_copies(found, copied, holders)


def _note_copies(found: GatheredObjects, objects: int, holders: list[str]) -> None:
    """One line for all copies of so many objects, each of which is in one of these files."""
    files = list(dict.fromkeys(holders))
    copies = "1 copy" if len(holders) == 1 else f"{len(holders)} copies"
    of = "1 object" if objects == 1 else f"{objects} objects"
    where = f", in {len(files)} files," if len(files) > 1 else ""
    what = f"{copies} of {of}{where} {'says' if len(holders) == 1 else 'say'} the same"
    effect = "each object counts once, and nothing changes"
    found.report.add_problem(what, effect, file=files[0] if len(files) == 1 else "")


def _note_replaced(found: GatheredObjects, kind: str, index: int, winner: int) -> None:
    files = found.files[kind]
    what = f"is there again in {files[winner]}" if files[winner] != files[index] else "is there twice"
    name = f"{kind} {object_name(found.objects[kind][index])}"
    found.report.add_problem(what, "the last one counts, as if it had been updated", file=files[index], object=name)


def note_pod_uids(found: GatheredObjects) -> None:
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
        found.report.add_problem(what, effect, file=file, object=f"Pod {object_name(manifest)}", field="metadata.uid")


def _object_key(manifest: Manifest) -> tuple[str, str]:
    metadata = manifest["metadata"]
    return metadata.get("namespace") or "", metadata["name"]
