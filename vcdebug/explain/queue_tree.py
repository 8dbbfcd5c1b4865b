"""The tree of queues that plugin capacity checks: its error, and capabilities above those of their ancestors."""

from collections.abc import Iterator

from msgspec import Struct

from vcdebug import amount_text
from vcdebug.amount_text import capitalize_first, format_amounts_apart, join_names
from vcdebug.explain.answer import Advice, Evidence, Finding
from vcdebug.explain.job_view import JobView
from vcdebug.explain.queue_index import queue_and_ancestors
from vcdebug.framework.quirks import QUEUE_TREE_BROKEN
from vcdebug.model.names import QueueName, Seq
from vcdebug.model.queue import ROOT_QUEUE, circle_text
from vcdebug.model.resource import Resource
from vcdebug.recording.input_problems import circle_of_queues
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.releases.queues import CAPACITY_ROOT_ALWAYS_CLUSTER
from vcdebug.snapshot.edit_path import field_step

BROKEN_TREE_ADVICE: tuple[Advice, ...] = (
    Advice.queue_admin(
        "Give every queue an existing parent and limits within its parent's; one error blocks every queue."
    ),
    Advice.for_owner("List what is missing: vcdebug inspect."),
)


class OversizedCapability(Struct, frozen=True):
    """A capability that exceeds that of the ancestor `ancestor`; without one, what the cluster has."""

    queue: QueueName
    resource: str
    stated_amount: float
    ancestor_limit: float
    ancestor: QueueName


def oversized_capabilities(recording: Recording) -> Iterator[OversizedCapability]:
    """Yields each capability that exceeds that of the nearest ancestor with a limit."""
    total = recording.session.total_resource
    for queue in recording.session.queues.values():
        ancestors = queue_and_ancestors(recording, queue)[1:]
        counted = [one for one in ancestors if one.name != ROOT_QUEUE or not _ignores_root_limits(recording)]
        limits = [(ancestor.name, Resource.from_list(ancestor.capability or {})) for ancestor in counted]
        capability = Resource.from_list(queue.capability or {}) if queue.name != ROOT_QUEUE else Resource()
        for resource, value in capability.items():
            ancestor_limits = ((name, limit.get(resource)) for name, limit in limits if limit.get(resource) > 0)
            name, maximum = next(ancestor_limits, ("", total.get(resource)))
            if value > maximum > 0:
                yield OversizedCapability(queue.name, resource, value, maximum, name)


def _ignores_root_limits(recording: Recording) -> bool:
    """Whether this release's capacity limits queue root by the cluster's total, whatever its spec states."""
    return recording.snapshot.release.has_older_form(CAPACITY_ROOT_ALWAYS_CLUSTER)


@per_recording()
def tree_fault(recording: Recording) -> str:
    """The error in capacity's queue tree; empty if the tree is valid."""
    return next((note.text for note in recording.notes if note.code == QUEUE_TREE_BROKEN), "")


def broken_tree_finding(view: JobView, seq: Seq, plugin: str) -> Finding | None:
    """The finding about an invalid queue tree, with which capacity rejects everything; None for a valid one."""
    fault = tree_fault(view.recording)
    if not fault:
        return None
    circle, advice = circle_of_queues(view.recording), BROKEN_TREE_ADVICE
    facts = [f"{capitalize_first(text)}." for text in (fault, circle_text(circle) if circle else "") if text]
    if over := next(oversized_capabilities(view.recording), None):
        name, queue = over.resource, over.queue
        capability, maximum = format_amounts_apart(name, over.stated_amount, over.ancestor_limit)
        bound = f"its parent {over.ancestor}" if over.ancestor else "the cluster"
        stated = f"Queue {queue} states capability {capability} {name}, and {bound} has {maximum}"
        facts = [f"{stated}{_unread_root_limit(view.recording, over)}.", *facts]
        change = f"Queue {queue}: capability.{name} {capability} -> {maximum}."
        edit = f"Queue/{queue}:spec.capability{field_step(name)}={amount_text.quantity_text(name, over.ancestor_limit)}"
        advice = (Advice.queue_admin(change, edit), advice[0])
    if circle:
        edit = f"Queue/{circle[0]}:spec.parent={ROOT_QUEUE}"
        advice = (Advice.queue_admin(f"Queue {circle[0]}: set spec.parent to {ROOT_QUEUE}.", edit),)
    reason = f"{plugin} rejects every job because of an error in the queue tree"
    evidence = (Evidence(seq, f"{plugin} rejects it without comparing amounts"),)
    return view.pending(QUEUE_TREE_BROKEN, reason, {}, evidence, advice, facts=tuple(facts))


def _unread_root_limit(recording: Recording, over: OversizedCapability) -> str:
    """`: that of queue root, 800 in its spec, does not count …`: empty if the root states none or it counts."""
    root = recording.session.queues.get(ROOT_QUEUE)
    stated = Resource.from_list((root.capability if root is not None else None) or {}).get(over.resource)
    if over.ancestor or not stated or not _ignores_root_limits(recording):
        return ""
    amount, change = amount_text.format_amount(over.resource, stated), CAPACITY_ROOT_ALWAYS_CLUSTER
    read = f"from {join_names(change.fixed_in)} on it does, {change.pull}"
    return f" (capability {amount} of queue {ROOT_QUEUE} does not count: {read})"
