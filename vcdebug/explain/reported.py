"""What other components than the scheduler report about a job that waits: a kubelet, a quota, a controller."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from vcdebug.amount_text import format_age
from vcdebug.explain.job_view import ExplainSubject
from vcdebug.grouping import group_by_key
from vcdebug.model.pod import PodIdentity
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.snapshot.manifest import key_of, metadata_of, object_in, owners_of
from vcdebug.snapshot.reported_events import event_reporter, event_time, latest_events
from vcdebug.snapshot.snapshot import Manifest

MAX_FACTS: Final = 2
MAX_MESSAGE: Final = 160


def event_facts(recording: Recording, subject: ExplainSubject) -> tuple[str, ...]:
    """The latest events of other components about the job, its Pending pods and its Volcano Job, in sentences."""
    if not recording.snapshot.objects_of("Event"):
        return ()
    # The replay tells what the scheduler says, and why.
    names = recording.snapshot.flags.scheduler_names
    own = dict.fromkeys((*names, ",".join(names)))
    found = _events_by_subject(recording).get(subject.pod or subject.job, ())
    said: dict[object, Manifest] = {}
    for event in latest_events(event for event in found if event_reporter(event) not in own):
        said.setdefault(event.get("reason"), event)
    return tuple(_event_sentence(recording, event) for event in [*said.values()][:MAX_FACTS])


@per_recording()
def _events_by_subject(recording: Recording) -> Mapping[str, Sequence[Manifest]]:
    """Events by the pod and by the PodGroup, or the Volcano Job without a PodGroup, that they are about."""
    snapshot = recording.snapshot
    pods = map(PodIdentity.of_manifest, snapshot.objects_of("Pod"))
    subjects = {("Pod", pod.key): dict.fromkeys(filter(None, (pod.key, pod.job))) for pod in pods}
    for group in snapshot.objects_of("PodGroup"):
        for owner in owners_of(group):
            name = f"{metadata_of(group).get('namespace')}/{owner.get('name')}"
            subjects.setdefault((str(owner.get("kind")), name), {})[key_of(group)] = None
    about = ((object_in(event.get("involvedObject")), event) for event in snapshot.objects_of("Event"))
    named = ((str(one.get("kind")), f"{one.get('namespace')}/{one.get('name')}", event) for one, event in about)
    return group_by_key(
        (subject, event) for kind, name, event in named for subject in subjects.get((kind, name), (name,))
    )


def _event_sentence(recording: Recording, event: Manifest) -> str:
    time, about = event_time(event), object_in(event.get("involvedObject"))
    age = f" {format_age((recording.snapshot.now - time).total_seconds())} ago" if time is not None else ""
    message = " ".join(str(event.get("message") or "").split())
    shown = message if len(message) <= MAX_MESSAGE else f"{message[:MAX_MESSAGE]}…"
    who = event_reporter(event) or "an event"
    return f'{who} reported{age} about {about.get("kind")} {about.get("name")}: {event.get("reason")} "{shown}".'
