"""docs/releases.md: what older releases decide differently; run as a module, it writes the page anew.

It is made of the table of changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tests.architecture.source_tree import ROOT
from vcdebug.releases import devices, nodes, queues, scheduling
from vcdebug.releases.change import Tag
from vcdebug.releases.release import CHANGES, COMING_TAGS, MASTER_DESCRIPTION, NEWEST, SUPPORTED_TAGS, release_at_tag
from vcdebug.releases.release_names import release_of_image, resolve_release

PAGE = ROOT / "docs" / "releases.md"
INTRODUCTION = """# Releases: what older schedulers decide differently

A snapshot is replayed by the rules of the release that it comes from: `scheduler.release` in `meta.json`, which
`capture` reads from the scheduler's image, or `--release`, or the edit `flag:release=v1.15.1` (`:release v1.15.1` in
the debugger). Where nothing says it, the latest rules hold, and `explain` says under which releases the outcome
differs. A release is a set of old behaviors, each with a name:
`v1.15.1,-csi-limit-key` is v1.15.1 with one of them in its new behavior, and `master,+csi-limit-key` the latest rules
with one old behavior. `vcdebug diff SNAPSHOT --release VERSION` finds out which of them affect decisions in a cluster
([many-runs.md](many-runs.md)).

A release that is not listed is replayed as the nearest one that is, with a problem that names what differs. `--release`
refuses a version that does not exist yet, unless `nearest` follows: `--release v1.99,nearest`.
`--release nearest` alone is the nearest to the snapshot's own release; `diff` needs a version. Patch releases
that upstream has not tagged yet are replayed as the head of their branch, of the day that the table names.
Answers say how far a replay is trusted, in `--json` with one word: `exact` where the release was recorded or compared
with its program ([fidelity.md](fidelity.md)), `near` where its line is listed (patches, builds of vendors,
pre-releases, switched changes), `unknown` for anything older, newer or not stated.
"""
IMAGES = (
    "vc-scheduler:v1.15.1",
    "vc-scheduler:1.14.4",
    "vc-scheduler:v1.12.4@sha256:0123",
    "vc-scheduler:v1.14.4-arm64",
    "vc-scheduler:v1.14",
    "vc-scheduler:v1.14.9",
    "vc-scheduler:v1.10.2-cce.3",
    "vc-scheduler:v1.9.1",
    "vc-scheduler:latest",
    "vc-scheduler@sha256:0123",
    "fork/vc-scheduler:main-20260801",
)
WEIGHTS = """Weights: **H** ordinary clusters see it, **M** clusters with that feature, **L** corners, **T** texts and
traces only. What is marked *not replayed* is known and named where it matters (`run --json`, `inspect`, the Conf
panel), and replayed in its new behavior.
"""
GROUPS = (
    ("Actions, session, cache, network topology and sub jobs", scheduling),
    ("Quota, share and admission", queues),
    ("Nodes: filters and scores", nodes),
    ("Devices", devices),
)
PROPOSALS = """## Open pull requests

Changes that were proposed and not merged by 2026-08 are switches that are off: `--release master,+pr-5884` replays the
latest rules with one of them, `v1.15.1,+pr-5884` an older release with it. Several can be on, such as
`master,+pr-5884,+pr-5854`. `vcdebug diff SNAPSHOT --release master,+pr-5884` shows what it changes in a cluster. They
are read from the pull requests' diffs, for one cycle, and compared with one program of them all: their trust is `near`.

| switch | with it | decides | weight | upstream |
|---|---|---|---|---|"""
NOT_SWITCHED = (
    (
        "#5161",
        (
            "A new plugin `fairshare`: within a queue, jobs of namespaces with more decayed usage come later; an "
            "argument also keeps them from being admitted."
        ),
    ),
    (
        "#5529",
        (
            "A job is Pending again 5 minutes after it was admitted (annotation `volcano.sh/inqueue-timeout`) if its "
            "phase is still Inqueue; what it has reserved is released."
        ),
    ),
    ("#5590", "Queues of namespaces (`NamespaceQueue`) next to those of the cluster, as children of a queue."),
    (
        "#5663",
        (
            "allocate ends each statement: a pipelined gang keeps its reserved places and releases idle ones, all "
            "other statements are discarded; every pipelined pod is nominated, and an old nomination is cleared."
        ),
    ),
    (
        "#5774",
        (
            "A pod with a ReadWriteOncePod claim that another pod uses fits no node; dry runs of preemption know "
            "that victims free their claims."
        ),
    ),
    (
        "#5777",
        (
            "A new action `dequeue`: an Inqueue job with pods that is neither ready nor pipelined is Pending again, "
            "and enqueue skips it for 5 minutes."
        ),
    ),
    (
        "#5810",
        (
            "With the feature gate `QueueScopedOvercommit` (alpha, off) and the annotation "
            "`volcano.sh/overcommit-factor` of a queue, overcommit also keeps that queue, and those below it, within "
            "what it deserves times the factor. Its design is merged (#5746), its 440 lines are not; without gate and "
            "annotation it decides nothing."
        ),
    ),
    (
        "#5848",
        (
            "With the feature gate `UnschedulableJobCache`, a job that could not be placed is skipped until an event "
            "that may help it, or for a limited time."
        ),
    ),
)
"""Open pull requests that are not replayed, and what they would change."""
EARLIER = """## Before v1.10

v1.9 and v1.8 are replayed as v1.10.0, and answers call their trust `unknown`. This was read in upstream's v1.9.1
(Kubernetes 1.29) and is not replayed; first lines of `explain` name the rules on gates, on a job's first pod without a
node, on reclaim, and on all resources of a queue where they can decide. v1.9.1 differs from v1.10.0 in this:

- allocate ends a job at its first task that fits no node, and returns the queue to its heap before it serves the job:
  the order of queues follows earlier shares.
- Scheduling gates are not read: a gated pod is a Pending task like any other, and its request is reserved.
- Queues have no priority, and victims from several queues are ordered by their jobs only.
- capacity, proportion and overcommit compare all resources of a queue, not only those that a task or job asks for.
- capacity lets a queue reclaim while it uses less than it deserves of any resource.
- preempt within a job also evicts pods that are not preemptable. preempt and reclaim also search nodes on which
  allocate found that no eviction helps.
- A sidecar's request counts like that of an init container.
- A pod's nomination is removed in a cycle in which the pod preempts nothing.
- `predicateErrorCacheEnable` is not read: the cache of failed nodes is always on.

v1.8.2 (Kubernetes 1.27) has no plugins capacity, deviceshare, nodegroup and pdb; nothing else of it was read.
"""
LINES = tuple(dict.fromkeys(tag.release_line for tag in SUPPORTED_TAGS))
"""Newest first."""


def page() -> str:
    """The whole page."""
    return "\n".join(
        [
            INTRODUCTION,
            *_images(),
            *_releases(),
            "",
            WEIGHTS,
            *(line for group in GROUPS for line in _group(*group)),
            EARLIER,
            *_proposals(),
        ]
    )


def _images() -> Iterator[str]:
    yield "| image of the scheduler | answers say |"
    yield "|---|---|"
    for image in IMAGES:
        tag = release_of_image(image)
        release = resolve_release(tag).release if tag else NEWEST
        yield f"| `{image}` | {release.describe_trust()} |"
    yield ""


def _releases() -> Iterator[str]:
    yield "| release | Kubernetes | old behaviors | of them not replayed |"
    yield "|---|---|---|---|"
    yield f"| {MASTER_DESCRIPTION} | 1.36 | 0 | 0 |"
    for tag in sorted((*SUPPORTED_TAGS, *COMING_TAGS), reverse=True):
        release, head = release_at_tag(tag), COMING_TAGS.get(tag)
        lacking = len(release.unreplayed_changes())
        at = f" (release-{tag.major}.{tag.minor} at {head.commit})" if head else ""
        name = f"{release.display_name()}{at}"
        yield f"| {name} | 1.{release.kubernetes_version[1]} | {len(release.older_forms) + lacking} | {lacking} |"


def _group(title: str, module: object) -> Iterator[str]:
    merged = [change for change in CHANGES.values() if not change.is_proposed]
    rows = [change for change in merged if getattr(module, "CHANGES", ()).count(change)]
    yield f"## {title}\n"
    yield "| change | old behavior | decides | weight | releases with it | upstream |"
    yield "|---|---|---|---|---|---|"
    for change in rows:
        what = change.behavior if change.replayed else f"{change.behavior} *Not replayed:* {change.unshown_reason}"
        yield _row(
            f"`{change.id}`", what, change.affected_decisions, change.weight, who(change.is_in_force), change.pull
        )
    yield ""


def _proposals() -> Iterator[str]:
    yield PROPOSALS
    for change in filter(lambda change: change.is_proposed, CHANGES.values()):
        yield _row(f"`{change.id}`", change.behavior, change.affected_decisions, change.weight, change.pull)
    yield "\nOther open pull requests have no switch. What they would change:\n"
    yield "| upstream | would change |"
    yield "|---|---|"
    yield from (_row(*row) for row in NOT_SWITCHED)
    yield ""


def who(has: Callable[[Tag], bool]) -> str:
    """The releases that have a change: whole lines if all of a line have it, and older ones by the oldest."""
    parts = [part for line in LINES if (part := _in_line(line, has))]
    if not parts:
        return f"before v{LINES[-1][0]}.{LINES[-1][1]}"
    return ", ".join(parts)


def _in_line(line: tuple[int, int], has: Callable[[Tag], bool]) -> str:
    tags = [tag for tag in SUPPORTED_TAGS if tag.release_line == line]
    having = [tag for tag in tags if has(tag)]
    if having == tags:
        return f"v{line[0]}.{line[1]}"
    if len(having) < 2:
        return "".join(map(str, having))
    return f"{having[-1]} to {having[0]}"


def _row(*cells: str) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def main() -> None:
    PAGE.write_text(page(), encoding="utf-8")
    print(PAGE.relative_to(ROOT))


if __name__ == "__main__":
    main()
