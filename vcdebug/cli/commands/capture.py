"""`vcdebug capture`: reads a cluster and writes one snapshot file."""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from vcdebug.amount_text import count_noun
from vcdebug.cli.arguments import add_options, parse_seconds, positive_number
from vcdebug.cli.commands import Command, CommandOutcome
from vcdebug.cli.commands.redact import check_mapping_target, check_target, report_redaction, write_mapping
from vcdebug.cli.output import Output, capture_progress
from vcdebug.errors import CaptureError
from vcdebug.snapshot.edited_snapshot import snapshot_at_release
from vcdebug.snapshot.snapshot import Snapshot

if TYPE_CHECKING:
    from vcdebug.capture import CaptureOptions
    from vcdebug.capture.api_client import Transport
    from vcdebug.capture.listing import EarlierState
    from vcdebug.conformance import ClusterReader
    from vcdebug.debugger.expectations import MetReason
    from vcdebug.snapshot.provenance import Provenance


DEFAULT_TIMEOUT_SECONDS = 600.0


class CaptureCommand(Command):
    """Reads a live cluster with get, list and watch requests only."""

    HELP = "Capture a cluster into one snapshot file (read-only)"
    EXAMPLES = (
        "capture -o incident.tar.gz",
        "capture --until 'team/train is Pending' --every 30s -o captures",
        "capture --rbac",
    )
    EXITS = "Exit status: 0 written, 2 with --strict: written, but required input is missing, 1 error"

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_options(
            parser,
            """
            -o, --output FILE  file to write (default: CONTEXT-TIME.tar.gz)
            --force            overwrite an existing file
            --rbac             print the required ClusterRole (with --namespace: Role) and exit
            """,
        )
        add_cluster_arguments(parser)
        namespace = "-n, --namespace N  read only namespace N, with permissions for it alone (default: all)"
        add_options(parser, namespace, {"--namespace": {"default": ""}})
        add_until_arguments(parser)
        add_before_arguments(parser)
        add_options(
            parser,
            """
            --full             include fields that the replay does not need: environment variables, commands, all
                               annotations
            --redact           anonymize the capture (see vcdebug redact)
            --map MAPPING      with --redact: write the mapping of names to MAPPING (keep it private)
            --strict           exit with status 2 if required input is missing
            --release VERSION  Volcano release of the scheduler (default: from the tag of its image)
            """,
            {"--release": {"default": ""}},
        )

    def execute(self, args: Namespace, output: Output) -> CommandOutcome:
        from vcdebug.snapshot.redaction import make_redaction
        from vcdebug.snapshot.saved_files import capture_file_name, save_snapshot

        if args.rbac:
            from vcdebug.capture.permission import cluster_role, namespace_role

            whole_role = cluster_role(config_map_name(args.scheduler_configmap))
            output.write_text((namespace_role(args.namespace) if args.namespace else whole_role).rstrip())
            return CommandOutcome.DONE
        _require_one_state(args)
        if args.until is not None:
            return _capture_until(args, output)
        target = Path(args.output) if args.output else None
        if target is not None:
            check_target(target, force=args.force)
        if args.map is not None and not args.redact:
            raise CaptureError("--map needs --redact", "add --redact")
        check_mapping_target(args.map, force=args.force)
        snapshot = ask_for_release(_read_cluster(args, output), output)
        # Redaction moves every clock to one day, so two redacted captures would get the same name by it.
        captured, redaction = snapshot.now, make_redaction(snapshot) if args.redact else None
        snapshot = redaction.snapshot if redaction is not None else snapshot
        target = target or Path(capture_file_name(snapshot.name, captured))
        check_target(target, force=args.force)
        save_snapshot(snapshot, target)
        if redaction is None:
            output.write_notice(FULL_NOTE if args.full else SLIM_NOTE)
        _report_capture(snapshot, target, output)
        if redaction is not None:
            report_redaction(redaction, output)
            write_mapping(redaction, args.map, output)
        return _capture_outcome(snapshot, args, output)


SLIM_NOTE = (
    "left out: environment variables, commands, arguments, and annotations that the replay does not "
    "need; --full includes them"
)
FULL_NOTE = "included: environment variables, commands, arguments and all annotations, which can contain passwords"
SCHEDULER_HELP = "the scheduler's Deployment, where several exist: NAMESPACE/NAME"


def _require_one_state(args: Namespace) -> None:
    """Raise CaptureError if the options choose more than one state of the cluster."""
    chosen = [option for option in (args.until, args.before_bind, args.before_eviction) if option is not None]
    if len(chosen) > 1:
        raise CaptureError("--until, --before-bind and --before-eviction exclude each other", "choose one of them")


def _read_cluster(args: Namespace, output: Output) -> Snapshot:
    """The cluster as it is, or before the event that the options name."""
    from vcdebug.capture import capture_cluster

    options = _capture_options(args)
    if args.before_bind is not None or args.before_eviction is not None:
        return capture_before(args, options, output)
    with capture_progress(output) as progress:
        return capture_cluster(options, progress, announce=partial(announce_capture, output))


def _capture_until(args: Namespace, output: Output) -> CommandOutcome:
    from vcdebug.conformance import ClusterReader

    output.write_text(str(capture_until(args, ClusterReader(_capture_options(args)), output)))
    return CommandOutcome.DONE


def add_cluster_arguments(parser: ArgumentParser, scheduler: str = SCHEDULER_HELP) -> None:
    """Add the options of the cluster, the user and the timeout, named as in kubectl."""
    add_options(
        parser,
        f"""
        --context CONTEXT  kubeconfig context (default: the current one)
        --kubeconfig FILE  kubeconfig file
        --as USER          user to impersonate
        --as-group GROUP   group to impersonate; repeatable; needs --as
        --timeout TIME     timeout of a capture, for example 90s or 5m (default: 10m)
        --scheduler NAME   {scheduler}
        --scheduler-configmap NS/NAME  ConfigMap of the scheduler (default: found through its Deployment)
        --usage-url URL    Prometheus address for plugin usage (default: the configured one)
        """,
        {
            "--context": {"default": ""},
            "--kubeconfig": {"default": ""},
            "--as": {"default": "", "dest": "as_user"},
            "--as-group": {"default": [], "dest": "as_groups", "action": "append"},
            "--timeout": {"type": parse_seconds, "default": DEFAULT_TIMEOUT_SECONDS},
            "--scheduler": {"default": ""},
            "--scheduler-configmap": {"default": ""},
            "--usage-url": {"default": ""},
        },
    )


def cluster_options(args: Namespace) -> CaptureOptions:
    """The capture options from the arguments of `add_cluster_arguments`."""
    from vcdebug.capture import CaptureOptions

    return CaptureOptions(
        context=args.context,
        kubeconfig=args.kubeconfig,
        as_user=args.as_user,
        as_groups=tuple(args.as_groups),
        deadline=args.timeout,
        scheduler=args.scheduler,
        scheduler_configmap=args.scheduler_configmap,
        release=args.release or "",
        full=getattr(args, "full", False),
        usage_url=args.usage_url,
    )


def _capture_options(args: Namespace) -> CaptureOptions:
    return replace(cluster_options(args), namespace=args.namespace)


def config_map_name(name: str) -> str:
    """The ConfigMap's name without its namespace; Volcano's usual one for an empty text."""
    from vcdebug.capture.scheduler_settings import CONFIG_MAP

    return name.rpartition("/")[2] or CONFIG_MAP


def announce_capture(output: Output, provenance: Provenance) -> None:
    """Write a notice that names the cluster before it is read."""
    reach = f", {provenance.access}" if provenance.access else ""
    output.write_notice(f"reading {provenance.server} as {provenance.user or 'an unnamed user'}{reach}")


def _report_capture(snapshot: Snapshot, target: Path, output: Output) -> None:
    for problem in snapshot.problems:
        output.write_notice(problem.format_line())
    output.write_notice(release_note(snapshot))
    total = sum(len(manifests) for manifests in snapshot.objects.values())
    output.write_text(str(target))
    output.write_notice(f"wrote {count_noun(total, 'object')} to {target}; open it with: vcdebug open {target}")


def _capture_outcome(snapshot: Snapshot, args: Namespace, output: Output) -> CommandOutcome:
    """DONE; with --strict, PROBLEMS for an inconsistent capture or one without required input."""
    provenance = snapshot.provenance
    if provenance is None or not args.strict or (provenance.consistent and not provenance.missing):
        return CommandOutcome.DONE
    lacks = [*provenance.missing, *([] if provenance.consistent else ["consistency"])]
    output.write_notice(f"required input is missing: {', '.join(lacks)}")
    return CommandOutcome.PROBLEMS


# `capture --until`

CAPTURE_SECONDS = 10.0
UNTIL_SECONDS = 60.0
MAX_UNREAD_SECONDS = 300.0
"""Longest time until `capture --until` reads the whole cluster again, also if no pod has changed."""
KEPT_CAPTURES = 100
MAX_PAUSE_SECONDS = 120.0
"""The longest pause between two attempts while the server does not answer."""


def add_until_arguments(parser: ArgumentParser) -> None:
    """Add --until, --every and --keep."""
    add_options(
        parser,
        f"""
        --until EXPR  watch pods and PodGroups, replay each change, and stop when EXPR holds: 'JOB is Pending', or a
                      breakpoint such as 'victim if plugin == "gang"'; -o names a folder
        --every TIME  with --until: least time between captures of the whole cluster (default: 1m); with
                      --before-bind and --before-eviction: between checks (default: 10s)
        --keep N      with --until: number of captures to keep (default: {KEPT_CAPTURES})
        """,
        {"--every": {"type": parse_seconds}, "--keep": {"type": positive_number, "default": KEPT_CAPTURES}},
    )


# `capture --before-bind POD` and `--before-eviction POD`


def add_before_arguments(parser: ArgumentParser) -> None:
    """Add --before-bind and --before-eviction."""
    for event, words in (("bind", "gets its node"), ("eviction", "is deleted or evicted")):
        text = f"the cluster as it was just before this pod {words}; waits for it and checks every --every"
        add_options(parser, f"--before-{event} NS/POD  {text}")


def capture_before(
    args: Namespace,
    options: CaptureOptions,
    output: Output,
    sleep: Callable[[float], None] = time.sleep,
    transport: Transport | None = None,
) -> Snapshot:
    """The cluster before the pod's bind or eviction; the current cluster if the server no longer has that state."""
    from vcdebug.capture import capture_cluster
    from vcdebug.capture.listing import VersionGone
    from vcdebug.capture.pod_history import PodEvent, find_state_before

    bind = args.before_bind is not None
    event = PodEvent.of_pod(args.before_bind or args.before_eviction, bind=bind)
    announce = partial(announce_capture, output)
    try:
        earlier = find_state_before(event, options, transport, lambda: sleep(args.every or CAPTURE_SECONDS))
        return capture_cluster(options, transport=transport, announce=announce, earlier=earlier)
    except VersionGone as gone:
        output.write_notice(
            f"{gone.message}: the current cluster is captured, after the {event.event_name} of {event.pod_name}"
        )
        return capture_cluster(options, transport=transport, announce=announce)


def capture_until(args: Namespace, reader: ClusterReader, output: Output) -> Path:
    """Capture and follow changes until the condition is met; returns the file of the last capture."""
    from vcdebug.capture.listing import PRESENT
    from vcdebug.debugger.expectations import parse_until
    from vcdebug.snapshot.redaction import redact_snapshot
    from vcdebug.snapshot.saved_files import CaptureHistory

    met_reason, every = parse_until(args.until), args.every or UNTIL_SECONDS
    history = CaptureHistory(captures_folder(args.output), args.keep)  # drops the oldest files
    state = PRESENT
    while True:
        snapshot = capture_with_retries(partial(_capture_state, reader, state), every, output, reader.sleep)
        # Names in the condition are those of the cluster: only the file is redacted.
        file = history.add_capture(redact_snapshot(snapshot) if args.redact else snapshot)
        reason = _judge_snapshot(snapshot, met_reason)
        output.write_notice(f"{file.name}: {reason or 'not yet'}")
        if reason:
            return file
        state = _follow_until(snapshot, reader, met_reason, every)


def _capture_state(reader: ClusterReader, state: EarlierState) -> Snapshot:
    """The cluster in a state that the server may still show, else as it is now."""
    from vcdebug.capture.listing import VersionGone

    try:
        return reader.capture(state)
    except VersionGone:
        return reader.capture()


def _follow_until(snapshot: Snapshot, reader: ClusterReader, met_reason: MetReason, every: float) -> EarlierState:
    """Replay each change of pods and PodGroups since a capture; returns the state to capture next.

    That is the first one in which the condition is met, or the present one: when something has changed and `every`
    seconds have passed, and now and then in any case, since other kinds are not followed.
    """
    from vcdebug.capture.api_client import ApiRefusal, NoAnswer, TooSlow
    from vcdebug.capture.listing import PRESENT, WATCH_SECONDS, EarlierState

    start, followed, has_changed = reader.clock(), reader.follow_changes(snapshot), False
    # A connection has the deadline of one capture, and each round needs a part of it.
    longest = max(every, min(MAX_UNREAD_SECONDS, reader.options.deadline / 2))
    try:
        api = reader.connect()
        while (passed := reader.clock() - start) < longest and not (has_changed and passed >= every):
            begun = reader.clock()
            if followed.read_changes(api):
                has_changed = True
                changed = replace(
                    snapshot, objects={**snapshot.objects, **followed.current_objects}, now=api.clock or snapshot.now
                )
                if _judge_snapshot(changed, met_reason):
                    return EarlierState(followed.latest_version)
            # Without the right to watch, nothing is cheaper than the next capture.
            pause = WATCH_SECONDS if followed.is_watching else every
            reader.sleep(max(pause - (reader.clock() - begun), 0.0))
            if not followed.is_watching:
                break
    except (ApiRefusal, NoAnswer, TooSlow):
        # The next capture says what is wrong; a server that refuses every list is not captured without pauses.
        reader.sleep(max(every - (reader.clock() - start), 0.0))
    return PRESENT


def capture_with_retries(
    take: Callable[[], Snapshot], pause: float, output: Output, sleep: Callable[[float], None] = time.sleep
) -> Snapshot:
    """Capture, and retry during outages after pauses that double each time; a notice states the missed time."""
    from vcdebug.capture.api_client import NoAnswer, TooSlow

    wait, waited = pause, 0.0
    while True:
        try:
            snapshot = take()
        except (NoAnswer, TooSlow) as outage:
            if not waited:
                output.write_notice(
                    f"{outage.message}; changes of the cluster are missed until the API server responds again"
                )
            sleep(wait)
            waited, wait = waited + wait, min(2 * wait, max(pause, MAX_PAUSE_SECONDS))
            continue
        if waited:
            output.write_notice(f"the API server responds again; changes of at least {waited:g}s were missed")
        return snapshot


def _judge_snapshot(snapshot: Snapshot, met_reason: MetReason) -> str:
    """Why the snapshot's cycle meets the condition; an empty text if it does not."""
    from vcdebug.recording.recording import disposing
    from vcdebug.recording.replay import replay_cycle

    # A night may have thousands of replays: each recording is freed before the next one.
    with disposing(replay_cycle(snapshot)) as recording:
        return met_reason(recording)


def captures_folder(word: str | None) -> Path:
    """The folder of captures, by default `captures`; raises CaptureError for a file."""
    folder = Path(word or "captures")
    if folder.exists() and not folder.is_dir():
        raise CaptureError("is a file", "-o must name a folder with --until", str(folder))
    return folder


# The release of a scheduler that cannot be derived from its image.

RELEASE_QUESTION = "Volcano release of this scheduler, for example v1.15.1 (Enter if unknown):"


def ask_for_release(snapshot: Snapshot, output: Output) -> Snapshot:
    """The snapshot with a release that the user types, if it is unknown and stdin is a terminal; else unchanged."""
    if not snapshot.release.is_assumed or not (sys.stdin.isatty() and output.err.isatty()):
        return snapshot
    output.write_notice(RELEASE_QUESTION)
    answer = sys.stdin.readline().strip()
    return snapshot_at_release(snapshot, answer) if answer else snapshot


def release_note(snapshot: Snapshot) -> str:
    """One line about the release that the file records."""
    release = snapshot.release
    if release.is_assumed:
        return f"{release.describe_trust()}, none recorded; name it with --release"
    return f"{release.describe_trust()} recorded"
