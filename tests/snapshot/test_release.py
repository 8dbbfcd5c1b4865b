"""The release of a snapshot: where it is stated, notes about unsupported releases, and saving it."""

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.builders import node, snapshot_from_objects
from tests.cli.transcripts import call
from vcdebug.releases.change import Change, Tag
from vcdebug.releases.nodes import CSI_LIMIT_KEY, PREFILTER_REGISTRATIONS, VOLUMEBINDING_CAPACITY
from vcdebug.releases.release import CHANGES, NEWEST, SUPPORTED_TAGS, release_at_tag
from vcdebug.releases.release_names import release_of_image, resolve_release
from vcdebug.snapshot.edit import parse_edit
from vcdebug.snapshot.edit_path import EditError
from vcdebug.snapshot.edited_snapshot import apply_edits
from vcdebug.snapshot.loader import load_snapshot
from vcdebug.snapshot.saved_files import save_snapshot
from vcdebug.snapshot.snapshot import Manifest, SchedulerFlags, Snapshot


def stated(release: str) -> Snapshot:
    return snapshot_from_objects([node("n1")], scheduler={"release": release})


def deployed(image: str, **meta: Any) -> Snapshot:
    container = {"name": "scheduler", "image": image, "args": ["--scheduler-conf=/etc/volcano/volcano-scheduler.conf"]}
    spec = {"template": {"spec": {"containers": [container]}}}
    deployment: Manifest = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "s"}, "spec": spec}
    return snapshot_from_objects([node("n1"), deployment], **meta)


@pytest.mark.parametrize(
    ("tag", "older"),
    [
        ("v1.16.0", False),
        ("v1.15.1", False),
        ("v1.15.0", True),
        ("v1.14.4", False),
        ("v1.14.3", True),
        ("v1.13.9", True),
    ],
)
def test_a_mended_rule_is_new_from_the_first_tag_of_each_branch_that_has_it(tag: str, older: bool) -> None:
    assert older is PREFILTER_REGISTRATIONS.is_in_force(Tag.from_text(tag))


def test_an_older_form_that_still_older_releases_lack_begins_with_a_tag() -> None:
    change = Change("b", "c", "v1.15.1; #1; L", first_older_tag="v1.15.0")
    assert [False, True, False] == [change.is_in_force(Tag.from_text(tag)) for tag in ("v1.14.4", "v1.15.0", "v1.15.1")]


def test_each_supported_release_has_more_older_forms_than_the_next_newer_one_of_its_branch() -> None:
    for newer, older in pairwise(SUPPORTED_TAGS):
        if newer.release_line == older.release_line:
            began = {change.id for change in CHANGES.values() if change.first_older_tag == str(newer)}
            assert release_at_tag(newer).older_forms - began <= release_at_tag(older).older_forms


@pytest.mark.parametrize(
    ("older", "newer", "mended"),
    [
        (
            "v1.15.0",
            "v1.15.1",
            (
                "pvc-missing-drops-pod prepredicate-always-breaks flat-nomination nil-podgroup resource-string-max "
                "inqueue-scalar-units dra-count-wraps nodeorder-two-kinds predicates-batch-all-nodes "
                "prefilter-registrations stable-skip vgpu-handshake hami-ascend-ledger vnpus-wrapper "
                "hami-ascend-unallocatable hami-ascend-no-release"
            ),
        ),
        (
            "v1.14.3",
            "v1.14.4",
            "prepredicate-always-breaks nil-podgroup prefilter-registrations hami-ascend-ledger vnpus-wrapper",
        ),
        (
            "v1.14.2",
            "v1.14.3",
            (
                "resource-string-max reprieve-order soft-to-hard inqueue-scalar-units image-states vgpu-handshake "
                "hami-ascend-unallocatable hami-ascend-no-release"
            ),
        ),
        (
            "v1.14.1",
            "v1.14.2",
            (
                "preempt-queue-order preempt-tasks-per-queue highest-tier-name-subgroup root-infinite predicate-order "
                "capacity-tree-deserved-raw root-queue-written"
            ),
        ),
        ("v1.14.0", "v1.14.1", "subgroup-without-hard subjob-recovery-tier"),
    ],
)
def test_a_patch_release_mends_what_upstream_carried_back_to_it(older: str, newer: str, mended: str) -> None:
    had, has = ({one.id for one in CHANGES.values() if one.is_in_force(Tag.from_text(tag))} for tag in (older, newer))
    assert (sorted(mended.split()), set()) == (sorted(had - has), has - had)


def test_ids_are_unique_and_each_row_says_what_and_decides_what() -> None:
    assert [] == [row.id for row in CHANGES.values() if not (row.behavior.endswith(".") and row.affected_decisions)]
    assert [] == [row.id for row in CHANGES.values() if row.is_proposed is not row.id.startswith("pr-")]


@pytest.mark.parametrize(
    ("name", "replayed", "what"),
    [
        ("v1.15.1", "v1.15.1", ""),
        ("1.14.4", "v1.14.4", ""),
        ("master", "master", ""),
        ("v1.15.2", "v1.15.2", ""),
        ("v1.14.5", "v1.14.5", ""),
        ("v1.15.2-acme.1", "v1.15.2", "v1.15.2-acme.1 is a vendor build"),
        ("v1.15", "v1.15.1", "v1.15 has no patch version"),
        ("v1.15.1-acme.3", "v1.15.1", "v1.15.1-acme.3 is a vendor build"),
        ("v1.16.0", "master", "v1.16.0 itself was not compared with a real scheduler"),
        ("v1.16.0-alpha.1", "master", "v1.16.0-alpha.1 is a pre-release"),
        ("v1.17.0", "master", "v1.17.0 is newer than the supported releases"),
        ("bonkers", "master", "bonkers is not a Volcano release"),
    ],
)
def test_the_nearest_release_is_replayed_and_what_differs_is_said(name: str, replayed: str, what: str) -> None:
    snapshot = stated(name)
    problems = [problem.what for problem in snapshot.problems if problem.field == "scheduler.release"]
    assert (replayed, [what] if what else []) == (snapshot.release.name, problems)


TERMINATING = {"podgroup-phase-releasing", "gang-close-releasing"}


@pytest.mark.parametrize(
    ("coming", "newest", "mended"),
    [
        ("v1.15.2", "v1.15.1", {*TERMINATING, "preempt-no-predicate-recheck", "hami-ascend-filter-code"}),
        ("v1.14.5", "v1.14.4", TERMINATING),
        ("v1.13.4", "v1.13.3", {*TERMINATING, "reprieve-order", "vgpu-handshake"}),
    ],
)
def test_a_patch_release_to_come_has_what_its_branch_has_mended(coming: str, newest: str, mended: set[str]) -> None:
    next_one, last = resolve_release(coming).release, resolve_release(newest).release
    assert mended == last.older_forms - next_one.older_forms
    assert next_one.older_forms < last.older_forms
    trust = "not compared with the real scheduler" if coming == "v1.13.4" else "replayed exactly"
    assert re.fullmatch(rf"release {coming} as of 2026-08-\d\d \({trust}\)", next_one.describe_trust())


def test_a_release_older_than_all_that_are_replayed_names_what_differs() -> None:
    problem = next(one for one in stated("v1.9.1").problems if one.field == "scheduler.release")
    assert problem.effect.startswith("replayed as v1.10.")
    assert problem.effect.endswith("what changed before v1.10")


@pytest.mark.parametrize(
    ("image", "said"),
    [
        ("volcanosh/vc-scheduler:v1.15.1", "release v1.15.1 (replayed exactly)"),
        ("volcanosh/vc-scheduler:1.14.4", "release v1.14.4 (replayed exactly)"),
        ("volcanosh/vc-scheduler:v1.14.4-arm64", "release v1.14.4-arm64, replayed as v1.14.4 (replayed exactly)"),
        ("registry.example:5000/x/vc-scheduler:v1.12.4@sha256:01", "release v1.12.4 (replayed exactly)"),
        ("volcanosh/vc-scheduler:v1.14.2", "release v1.14.2 (not compared with the real scheduler)"),
        (
            "volcanosh/vc-scheduler:v1.14.9",
            "release v1.14.9, replayed as v1.14.4 (not compared with the real scheduler)",
        ),
        (
            "volcanosh/vc-scheduler:v1.16.0",
            "release v1.16.0, replayed as master of 2026-08-20 (not compared with the real scheduler)",
        ),
        (
            "acme/scheduler:v1.15.1-acme.3",
            "release v1.15.1-acme.3, replayed as v1.15.1 (not compared with the real scheduler)",
        ),
        ("volcanosh/vc-scheduler:v1.11.2", "release v1.11.2 (replayed exactly)"),
        ("volcanosh/vc-scheduler:v1.10.2", "release v1.10.2 (replayed exactly)"),
        (
            "swr/volcano:v1.10.2-cce.3",
            "release v1.10.2-cce.3, replayed as v1.10.2 (not compared with the real scheduler)",
        ),
        ("volcanosh/vc-scheduler:latest", "release unknown, replayed by the latest rules (master of 2026-08-20)"),
        ("volcanosh/vc-scheduler@sha256:0123", "release unknown, replayed by the latest rules (master of 2026-08-20)"),
        ("acme/vc-scheduler:main-20260801", "release unknown, replayed by the latest rules (master of 2026-08-20)"),
    ],
)
def test_image_tag_gives_the_release_and_its_trust(image: str, said: str) -> None:
    snapshot = deployed(image)
    assert said == snapshot.release.describe_trust()
    unclear = [one.format_line() for one in snapshot.problems if "cannot derive the release" in one.what]
    asked = f"scheduler image: cannot derive the release from {image}; replaying the latest rules (master); "
    assert ([f"{asked}set the release with --release"] if "unknown, " in said else []) == unclear


def test_trust_of_a_switched_release_is_at_most_near() -> None:
    named = {text: resolve_release(text).release.trust for text in ("v1.15.1,-csi-limit-key", "v1.9.0,-csi-limit-key")}
    assert ["near", "unknown"] == list(named.values())
    assert "near" == resolve_release("master,+csi-limit-key").release.trust


def test_snapshot_without_a_release_uses_the_newest_rules_without_a_problem() -> None:
    snapshot = snapshot_from_objects([node("n1")])
    assert (NEWEST, True, []) == (snapshot.release, snapshot.release.is_assumed, snapshot.problems)


@pytest.mark.parametrize(
    ("image", "tag"),
    [
        ("volcanosh/vc-scheduler:v1.14.4", "v1.14.4"),
        ("registry.example:5000/x/vc-scheduler:v1.15.1-acme.3", "v1.15.1-acme.3"),
        ("vc-scheduler:v1.14.4@sha256:0123", "v1.14.4"),
        ("volcanosh/vc-scheduler@sha256:0123", ""),
        ("registry.example:5000/vc-scheduler", ""),
        ("volcanosh/vc-scheduler:latest", ""),
    ],
)
def test_release_tag_is_read_from_the_image(image: str, tag: str) -> None:
    assert tag == release_of_image(image)


def test_the_deployments_image_says_it_unless_meta_does() -> None:
    image = "volcanosh/vc-scheduler:v1.14.4"
    found = (deployed(image).release.name, deployed(image, scheduler={"release": "v1.15.0"}).release.name)
    assert ("v1.14.4", "v1.15.0") == found


def test_replayed_branches_are_listed() -> None:
    lines = "v1.15.1 to v1.15.0, v1.14.4 to v1.14.0, v1.13.3 to v1.13.0, v1.12.4 to v1.12.0, v1.11.2 to v1.11.0"
    assert resolve_release("v1.9.1").problem.endswith(f", {lines}, v1.10.2 to v1.10.0)")


def test_release_older_than_the_table_is_replayed_with_a_notice() -> None:
    effects = {name: resolve_release(name).effect for name in ("v1.9.0", "v1.12.9")}
    assert effects["v1.9.0"].startswith("replayed as v1.10.")
    assert ["v1.9.0"] == [name for name, effect in effects.items() if effect.endswith("what changed before v1.10")]


@pytest.mark.parametrize(("wanted", "said"), [(None, 1), ("v1.15.1", 0)])
def test_saved_release_problem_is_loaded_once(wanted: str | None, said: int, tmp_path: Path) -> None:
    """The note is loaded once from a saved snapshot, and dropped if another release is requested."""
    path = tmp_path / "s.tar.gz"
    save_snapshot(stated("v1.9.0"), path)
    assert said == len([one for one in load_snapshot(path, release=wanted).problems if one.what.startswith("v1.9.0")])


@pytest.mark.parametrize("name", ["v1.14.4", "v1.9.0", "v1.15.1,-csi-limit-key"])
def test_stated_release_is_saved(name: str, tmp_path: Path) -> None:
    snapshot = stated(name)
    save_snapshot(snapshot, tmp_path / "saved")
    again = load_snapshot(tmp_path / "saved")
    assert (snapshot.release, snapshot.problems) == (again.release, again.problems)


def test_requested_release_takes_precedence_over_the_saved_one(tmp_path: Path) -> None:
    save_snapshot(stated("v1.14.4"), tmp_path / "saved")
    assert "v1.15.1" == load_snapshot(tmp_path / "saved", release="v1.15.1").release.name


def test_an_edit_chooses_a_release_and_takes_the_problem_of_the_one_before_along() -> None:
    edited = apply_edits(stated("v1.9.0"), [parse_edit("flag:release=v1.15.0")], "")
    assert ("v1.15.0", []) == (edited.release.name, edited.problems)
    assert NEWEST == apply_edits(edited, [parse_edit("flag:release-")], "").release


def test_an_edit_that_names_no_release_is_refused() -> None:
    with pytest.raises(EditError, match="nonsense is not a Volcano release"):
        apply_edits(stated("v1.15.0"), [parse_edit("flag:release=nonsense")], "")


def test_one_change_is_switched_alone_and_back() -> None:
    newest = resolve_release("v1.15.1").release
    without = newest.with_change(CSI_LIMIT_KEY, older=False)
    assert ("v1.15.1,-csi-limit-key", False) == (without.name, without.has_older_form(CSI_LIMIT_KEY))
    assert newest == without.with_change(CSI_LIMIT_KEY, older=True)
    assert without == resolve_release(without.name).release
    assert resolve_release("master,+csi-limit-key").release.has_older_form(CSI_LIMIT_KEY)


def test_a_change_that_does_not_exist_is_said() -> None:
    named = resolve_release("v1.15.1,+csi-limit-keys")
    assert ("unknown change +csi-limit-keys: did you mean csi-limit-key?", "ignored") == (named.problem, named.effect)


def test_defaults_of_flags_and_gates_follow_the_release() -> None:
    old = SchedulerFlags(release=resolve_release("v1.15.1").release)
    assert (True, False) == (SchedulerFlags().is_csi_storage_on, old.is_csi_storage_on)
    assert not SchedulerFlags(csi_storage=True, release=old.release).is_csi_storage_on
    gates = {"CSIStorage": True}
    assert not SchedulerFlags(feature_gates=gates, release=old.release).is_csi_storage_on
    assert SchedulerFlags(csi_storage=True, feature_gates=gates, release=old.release).is_csi_storage_on
    assert (True, False) == (
        SchedulerFlags().is_gate_on("DRAConsumableCapacity"),
        old.is_gate_on("DRAConsumableCapacity"),
    )
    assert old.release.has_older_form(VOLUMEBINDING_CAPACITY)


@pytest.mark.parametrize(
    ("name", "hint"),
    [("v1.99", "releases: master"), ("v1.51.1", "did you mean v1.15.1? releases:"), ("mastr", "did you")],
)
def test_a_release_that_cannot_exist_is_refused_on_the_command_line(name: str, hint: str) -> None:
    code, out, err = call(["explain", "preempt-works", "--release", name])
    assert (1, "") == (code, out)
    assert hint in err


@pytest.mark.parametrize("name", ["v1.10.2-cce.3", "v1.11.2", "v1.9.0", "v1.16.0", "v1.15.1-acme.3"])
def test_an_old_or_a_vendors_release_is_replayed_as_the_nearest(name: str) -> None:
    assert 1 != call(["explain", "preempt-works", "--release", name])[0]
