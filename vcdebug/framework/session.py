"""Session: the jobs, nodes, queues and plugins of one cycle, with functions to ask the plugins.

Upstream: framework/session, framework/interface (Plugin), framework/event.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from operator import itemgetter
from typing import ClassVar, ParamSpec, TypeVar

from msgspec import Struct

from vcdebug.framework import hooks
from vcdebug.framework.accounts import Accounts, OpenAccounts
from vcdebug.framework.arguments import Arguments
from vcdebug.framework.chance_draws import KnownSearches, RandomDraws
from vcdebug.framework.columns import Level, Note
from vcdebug.framework.combine import HookFunctions, Tiers
from vcdebug.framework.conf import SchedulerConf
from vcdebug.framework.hooks import Hook, status_documents
from vcdebug.framework.node_verdict_cache import NodeVerdictCache
from vcdebug.framework.record import Books, CloseEvent, JobState, PodGroupEvent, Record, SpanScope, fast_tuple
from vcdebug.framework.replay_options import AskExtender
from vcdebug.framework.reuse import PreviousCycle
from vcdebug.framework.ties import JOB_TIES, QUEUE_TIES, SUB_JOB_TIES, TASK_TIES, pod_indexes, tie_key
from vcdebug.kube.listers import Listers
from vcdebug.kube.node_view import CycleState, NodeView
from vcdebug.kube.volume_binding import CacheVolumes
from vcdebug.model.cluster import ClusterInfo
from vcdebug.model.hyper_nodes import HyperNodes
from vcdebug.model.job import JobInfo
from vcdebug.model.job_amounts import format_resource_names
from vcdebug.model.names import Codes, JobId, NodeName, QueueName, Seq, TaskId, TaskKey
from vcdebug.model.node import NodeInfo
from vcdebug.model.node_table import NodeRows, NodeTable
from vcdebug.model.pod_group import Condition
from vcdebug.model.queue import QueueInfo
from vcdebug.model.resource import Resource
from vcdebug.model.sub_job import SubJobInfo
from vcdebug.model.task import TaskInfo
from vcdebug.releases.change import Change
from vcdebug.releases.nodes import IMAGE_STATES
from vcdebug.releases.queues import QUOTA_EVENT_TEXT
from vcdebug.releases.release import Release
from vcdebug.releases.scheduling import REFUSED_PIPELINE_UNDONE, STATEMENT_NO_SELF_ROLLBACK, VOLUMES_AT_ALLOCATION
from vcdebug.snapshot.cycle_inputs import SchedulerProcess
from vcdebug.snapshot.manifest import name_of, spec_of
from vcdebug.snapshot.problems import Problem
from vcdebug.snapshot.snapshot import SchedulerFlags, Snapshot

P = ParamSpec("P")
R = TypeVar("R")
AnyPlugin = TypeVar("AnyPlugin", bound="Plugin")


class Event:
    """The argument of an event handler, which may set `err`."""

    __slots__ = ("err", "task")

    def __init__(self, task: TaskInfo) -> None:
        self.task = task
        self.err: str | None = None


EventHandler = Callable[[Event], None]

SESSION_UID = "replay"
"""The UID of a process's first session; later sessions append their number."""
_JOB_TIES, _QUEUE_TIES = tie_key(JOB_TIES), tie_key(QUEUE_TIES)
_TASK_TIES, _SUB_JOB_TIES = tie_key(TASK_TIES), tie_key(SUB_JOB_TIES)


class Session:
    """Everything that actions and plugins share during a cycle; dictionaries are in ascending key order.
    Upstream: framework/session.openSession.
    """

    verdict_cache: NodeVerdictCache | None = None
    """Cached answers about all nodes; None if several plugins filter nodes, or answers are forced."""
    previous_cycle: PreviousCycle | None = None
    """The recorded searches of an earlier cycle, for reuse while the actions run."""
    seeking: TaskInfo | None = None
    """The task for which nodes were last searched or scored."""
    simulated: DryRunState | None = None
    """The state of the dry run that started last."""
    close: CloseEvent | None = None
    """The event of the session's close; None before."""
    evicting: tuple[TaskKey, NodeName, str] | None = None
    """(task, node, reason) of an eviction that the cache has received and the session has not applied yet."""
    given_to_cache: dict[TaskKey, NodeName]
    """Task → node of the binds handed to the cache in this cycle."""
    opened_gates: dict[TaskKey, None]
    """Pods whose scheduling gate this cycle asked the cache to remove."""

    def __init__(
        self, cluster: ClusterInfo, conf: SchedulerConf, record: Record, *, reuse_from: Session | None = None
    ) -> None:
        """`reuse_from` is the session of an earlier cycle on nearly the same objects, whose equal parts are reused."""
        snapshot = cluster.snapshot
        self.snapshot: Snapshot = snapshot
        self.flags: SchedulerFlags = snapshot.flags
        """The scheduler's command line flags."""
        self.sharding = snapshot.flags.effective_sharding_mode
        self.release: Release = snapshot.flags.release
        self.process: SchedulerProcess = snapshot.process
        """The state that the scheduler process keeps between cycles; plugins replace their parts."""
        self.uid = f"{SESSION_UID}-{self.process.sessions + 1}" if self.process.sessions else SESSION_UID
        self.conf = conf
        self.record = record
        self.log = record.log_line
        """Logs a line that upstream prints without an event; takes a key of logs/messages.txt and its values.
        A key without a dot belongs to the running action; an action without such a row prints nothing.
        """
        self.log_comparison = record.log_comparison
        self.reasons = record.reasons
        self.cluster: ClusterInfo = cluster
        self.jobs: dict[JobId, JobInfo] = cluster.jobs
        self.queues: dict[QueueName, QueueInfo] = cluster.queues
        self.nodes: dict[NodeName, NodeInfo] = cluster.nodes
        self.hyper_nodes: HyperNodes = cluster.hyper_nodes
        self.node_table = NodeTable(list(self.nodes.values()))
        self.total_resource = Resource().add_all(node.allocatable for node in self.nodes.values())
        self.cached_idle = {name: node.idle.clone() for name, node in self.nodes.items()}
        """Idle of the cache's copy of each node: Idle of the snapshot less the binds of this cycle."""
        self.given_to_cache, self.opened_gates = {}, {}
        self.view: NodeView = self._new_view(reuse_from)
        self.draws = RandomDraws(snapshot.chance)
        self.samples = KnownSearches(snapshot.chance)
        self.plugins: dict[str, Plugin] = {}
        self.ask_extender: AskExtender | None = None
        """Function that calls the extender plugin's webhook; None if it must not be called."""
        self.allocate_handlers: list[EventHandler] = []
        self.deallocate_handlers: list[EventHandler] = []
        self.functions: HookFunctions = {}
        self.plugin_calls: dict[str, Tiers] = {}
        self.withdrawn: dict[str, None] = {}
        self.action_arguments: dict[str, Arguments] = {}
        """The arguments of each action that has run."""
        self.persistence = cluster.persistence
        self.restored = dict(cluster.restored)
        """Task → node on which an earlier cycle pipelined the task, until this cycle binds or releases it."""
        self.dirty_jobs: dict[JobId, None] = {}
        self.node_search_start = snapshot.chance.search_start
        """The row at which the next node search begins; all actions share it."""
        self.cycle_states: dict[TaskId, CycleState] = {}
        self._accounts: OpenAccounts | None = None
        self._shown_codes: dict[int, list[dict[str, object]]] = {}
        self.job_state_keys: Mapping[JobId, tuple[object, ...]] = {}
        self.job_states: dict[JobId, JobState] = {}
        """The state of each job in the last state event; equal states of later events share the object."""
        self._hyper_node_rows: dict[str, NodeRows | None] = {}

    def _new_view(self, reuse_from: Session | None) -> NodeView:
        has_older_form, flags = self.release.has_older_form, self.flags
        return NodeView.build_at_open(
            self.node_table.names,
            self.nodes,
            {} if has_older_form(IMAGE_STATES) else None,
            flags.is_gate_on,
            release=self.release,
            shapes=reuse_from.view.shapes if reuse_from is not None and reuse_from.flags == flags else None,
        )

    @cached_property
    def remembers_rows(self) -> bool:
        """Whether the answers of some plugin depend on which nodes it was asked about before."""
        return any(plugin.remembers_rows for plugin in self.plugins.values())

    # Questions to plugins

    def ask_plugins(self, hook: Hook[P, R], *args: P.args, **_: P.kwargs) -> R:
        """Ask the plugins that take part in the hook; returns the combined answer."""
        return hook.combine(self.plugin_calls[hook.method], args)

    def plugin_of_class(self, kind: type[AnyPlugin]) -> AnyPlugin:
        """The session's plugin of this class, which must be configured."""
        plugin = self.plugins[kind.name]
        assert isinstance(plugin, kind)
        return plugin

    def withdraw_hook(self, plugin: Plugin, method: str) -> None:
        """Do not register this hook of the plugin instance; to be called in on_session_open."""
        self.withdrawn[method] = None

    def hierarchy_enabled(self, plugin: str) -> bool:
        """enableHierarchy of the plugin's first entry. Upstream: framework/session.HierarchyEnabled."""
        change = self.plugins[plugin].later_tree if plugin in self.plugins else None
        return self.conf.hierarchy_enabled(plugin) and not (change and self.release.has_older_form(change))

    def cycle_state(self, task: TaskInfo) -> CycleState:
        """The task's CycleState, created on first use. Upstream: framework/session.GetCycleState."""
        state = self.cycle_states.get(task.uid)
        if state is None:
            state = self.cycle_states[task.uid] = CycleState()
        return state

    # Orders

    def job_order_compare(self, left: JobInfo, right: JobInfo) -> int:
        """The plugins' comparison, without tie-breaks. Upstream: framework/session_plugins.JobOrderCompareFn."""
        return self.ask_plugins(hooks.JOB_ORDER, left, right)

    def job_order_less(self, left: JobInfo, right: JobInfo) -> bool:
        """Plugins, then the older PodGroup, then the smaller id. Upstream: framework/session_plugins.JobOrderFn."""
        compared = self.ask_plugins(hooks.JOB_ORDER, left, right)
        if compared != 0:
            return compared < 0
        return _JOB_TIES(left) < _JOB_TIES(right)

    def queue_order_less(self, left: QueueInfo, right: QueueInfo) -> bool:
        """Plugins, then the older queue, then the smaller name. Upstream: framework/session_plugins.QueueOrderFn."""
        compared = self.ask_plugins(hooks.QUEUE_ORDER, left, right)
        if compared != 0:
            return compared < 0
        return _QUEUE_TIES(left) < _QUEUE_TIES(right)

    def victim_queue_order_less(self, left: QueueInfo, right: QueueInfo, preemptor: QueueInfo) -> bool:
        """Plugins, else the queue that orders later. Upstream: framework/session_plugins.VictimQueueOrderFn."""
        compared = self.ask_plugins(hooks.VICTIM_QUEUE_ORDER, left, right, preemptor)
        return compared < 0 if compared != 0 else not self.queue_order_less(left, right)

    def task_order_less(self, left: TaskInfo, right: TaskInfo) -> bool:
        """By plugins, index in the pods' names, age, then UID. Upstream: framework/session_plugins.TaskOrderFn."""
        compared = self.ask_plugins(hooks.TASK_ORDER, left, right)
        if compared != 0:
            return compared < 0
        indexes = pod_indexes(left, right)
        if indexes is not None and indexes[0] != indexes[1]:
            return indexes[0] < indexes[1]
        return _TASK_TIES(left) < _TASK_TIES(right)

    def sub_job_order_less(self, left: SubJobInfo, right: SubJobInfo) -> bool:
        """Plugins, then the match index, then the smaller id. Upstream: framework/session_plugins.SubJobOrderFn."""
        compared = self.ask_plugins(hooks.SUB_JOB_ORDER, left, right)
        if compared != 0:
            return compared < 0
        return _SUB_JOB_TIES(left) < _SUB_JOB_TIES(right)

    # Gates that depend on the sub job or on the job

    def sub_job_ready(self, job: JobInfo, sub_job: SubJobInfo) -> bool:
        """SubJobReady if the PodGroup has policies, else JobReady. Upstream: framework/session_plugins.SubJobReady."""
        if not job.pod_group.sub_group_policies:
            return self.ask_plugins(hooks.JOB_READY, job)
        return self.ask_plugins(hooks.SUB_JOB_READY, job, sub_job)

    def sub_job_pipelined(self, job: JobInfo, sub_job: SubJobInfo) -> bool:
        """Whether the sub job is pipelined: SubJobPipelined if the PodGroup has policies, else JobPipelined.
        Upstream: framework/session_plugins.SubJobPipelined.
        """
        if not job.pod_group.sub_group_policies:
            return self.ask_plugins(hooks.JOB_PIPELINED, job)
        return self.ask_plugins(hooks.SUB_JOB_PIPELINED, job, sub_job)

    # Event handlers

    def notify_allocated(self, task: TaskInfo) -> list[str]:
        """Call every allocate handler for the task; returns the errors that they set."""
        return self._notify_handlers(task, self.allocate_handlers)

    def notify_deallocated(self, task: TaskInfo) -> None:
        """Call every deallocate handler for the task."""
        self._notify_handlers(task, self.deallocate_handlers)

    def _notify_handlers(self, task: TaskInfo, handlers: list[EventHandler]) -> list[str]:
        # Questions that handlers ask are part of the operation and are not traced. After a handler fails, the
        # next ones still run.
        errors: list[str] = []
        if self._accounts is not None:
            self._accounts.mark_stale(task)
        self.record.running_call_count += 1
        try:
            event = Event(task)
            for handler in handlers:
                handler(event)
                if event.err is not None:
                    errors.append(event.err)
                    event.err = None
        finally:
            self.record.running_call_count -= 1
        return errors

    @property
    def open_accounts(self) -> OpenAccounts:
        """The accounts of the plugins; call it only when the plugins are open."""
        if self._accounts is None:
            self._accounts = OpenAccounts(self.plugins, self.jobs)
        return self._accounts

    def plugin_books(self) -> Books:
        """(plugin, all its figures) for every plugin with accounts."""
        return self.open_accounts.plugin_books()

    def record_reserved_at_vote(self, voter: Plugin, job: JobInfo) -> None:
        """Record the amounts that a plugin reserved while it voted: they stay even if the job is not admitted."""
        for plugin, key, figures in self.open_accounts.changed_by_admission(job):
            if plugin == voter.name:
                self.record.add_change("book", (plugin, key), figures)

    def notify_enqueued(self, job: JobInfo) -> None:
        """Notify every plugin that the job is admitted, and record what each plugin reserves at its call."""
        first = self.record.next_seq
        self.ask_plugins(hooks.JOB_ENQUEUED, job)
        called, last = self.record.calls_since(first), self.record.next_seq - 1
        written = [(called.get(change[0], last), change) for change in self.open_accounts.changed_by_admission(job)]
        # In the order of the calls, which the tiers define: the change log is searched by bisection.
        for seq, (plugin, key, figures) in sorted(written, key=itemgetter(0)):
            self.record.add_change("book", (plugin, key), figures, seq)

    def status_documents_of(self, code: int) -> list[dict[str, object]]:
        """The statuses of a reason code in the form of the trace; cached, so that events share them."""
        documents = self._shown_codes.get(code)
        if documents is None:
            documents = self._shown_codes[code] = status_documents(self.reasons.statuses_of(code))
        return documents

    # PodGroups

    def set_phase(self, job: JobInfo, phase: str, seq: Seq | None = None) -> None:
        """Set the PodGroup's phase for the rest of the session and record it at event `seq`, by default the next."""
        job.pod_group.phase = phase
        self.record.add_change("phase", job.uid, phase, seq)

    def update_pod_group_condition(self, job: JobInfo, condition: Condition) -> None:
        """Replace the condition of the same type, or append it. Upstream: framework/session.UpdatePodGroupCondition."""
        job.pod_group.set_condition(fast_tuple(Condition, (*condition[:-1], self.uid)))

    def record_pod_group_event(self, job: JobInfo, message: str) -> None:
        """Record a Kubernetes event about the PodGroup. Upstream: framework/session.RecordPodGroupEvent."""
        event = PodGroupEvent(self.record.next_seq, job.uid, "Normal", "Unschedulable", message)
        self.record.pod_group_events.append(event)

    def record_refusal(self, job: JobInfo, message: str, verb: str, names: Sequence[str]) -> None:
        """The event about a job that a plugin does not admit, with the resources that it lacks."""
        said = () if self.release.has_older_form(QUOTA_EVENT_TEXT) else names
        self.record_pod_group_event(job, format_resource_names(message, verb, said))

    def mark_job_dirty(self, job: JobInfo) -> None:
        """Write the job's allocated hypernode back at close. Upstream: framework/session.MarkJobDirty."""
        self.dirty_jobs[job.uid] = None

    # Recording

    def open_span(self, level: Level, name: str) -> SpanScope:
        """Open a span one level deeper: the events inside the `with` block belong to it."""
        return SpanScope(self.record, level, name)

    def note_quirk(self, code: str, text: str, *values: object, at_last: bool = False) -> None:
        """Note a quirk of upstream (framework/quirks.py) at the next event, or at the last one with `at_last`.

        `values` fill the blanks of the text when the note is read.
        """
        self.record.add_note(code, text, *values, at_last=at_last)

    @cached_property
    def keeps_refused_pipelines(self) -> bool:
        """Whether a statement keeps a pipeline that a handler refused."""
        has_older_form = self.release.has_older_form
        return has_older_form(STATEMENT_NO_SELF_ROLLBACK) and not has_older_form(REFUSED_PIPELINE_UNDONE)

    @cached_property
    def cache_volumes(self) -> CacheVolumes | None:
        """The volumes that the cache assumes at allocation; None in releases where the predicates plugin does so."""
        return CacheVolumes(Listers(self.snapshot)) if self.release.has_older_form(VOLUMES_AT_ALLOCATION) else None

    # Nodes

    def all_rows(self) -> NodeRows:
        """The rows of all nodes, ascending by name."""
        return self.node_table.all_rows()

    def shard_rows(self) -> list[int]:
        """Rows of the nodes in this scheduler's shard."""
        shards = [m for m in self.snapshot.objects_of("NodeShard") if name_of(m) == self.flags.sharding_name]
        desired = [name for shard in shards for name in spec_of(shard).get("nodesDesired") or ()]
        return [self.node_table.row_of[name] for name in desired if name in self.node_table.row_of]

    def hyper_node_rows(self, name: str) -> NodeRows | None:
        """Rows of the hypernode's nodes in the session, ascending by name; None for an unknown hypernode."""
        if name not in self._hyper_node_rows:
            real = self.hyper_nodes.real_nodes.get(name)
            names = (
                None if real is None else self.cluster.ordering.order_keys(node for node in real if node in self.nodes)
            )
            self._hyper_node_rows[name] = None if names is None else self.node_table.rows_named(names)
        return self._hyper_node_rows[name]

    def break_cycles(self) -> None:
        """Drop all references, so that memory is freed at once; the session cannot be used afterwards."""
        self.node_table.break_cycles()
        vars(self).clear()


# The state of a dry run, for explanations that stop the replay inside one.


class DryRunState(Struct, frozen=True):
    """The state of a dry run: a copy of the node, the task tried on it, and the task's PreFilter state."""

    state: CycleState
    task: TaskInfo
    node: NodeInfo


# Notes for questions to which only the real scheduler knew the answer.

NOTES_LOOKED_BACK = 8
"""Number of latest notes that a new note is compared with."""


def note_unknown(ssn: Session, code: str, text: str) -> None:
    """Add a note at the next event, unless the same note is already there."""
    if Note(ssn.record.next_seq, code, text) not in ssn.record.notes[-NOTES_LOOKED_BACK:]:
        ssn.note_quirk(code, text)


# Plugin is defined here because Session and Plugin refer to each other.


class Plugin:
    """Base of all plugins. Methods named after a row of framework/hooks.py are hooks.

    `allocate_func(event)` and `deallocate_func(event)`, where defined, are event handlers.
    """

    name: ClassVar[str]
    later_methods: ClassVar[Mapping[str, Change]] = {}
    """Hook or event handler → the change that introduced it; releases with its older form lack the method."""
    later_arguments: ClassVar[Mapping[str, Change]] = {}
    """Argument → the change that introduced it; releases with its older form do not read the argument."""
    remembers_rows = False
    """Whether `predicate` remembers the rows it was asked about, so that a search must not ask about further rows."""
    later_tree: ClassVar[Change | None] = None
    """The change that introduced the plugin's queue tree; None if it never or always has one."""
    judges_last: ClassVar[Change | None] = None
    """In releases with this change's older form, predicates of plugins listed after this one are not asked."""
    judges_by_pod: ClassVar[bool] = False
    """Whether answers about a node depend only on the pod and on what is on the nodes, but on no queue, PodGroup,
    PriorityClass or other waiting pod: framework/reuse.py takes such answers from an earlier cycle."""

    accounts: ClassVar[tuple[Accounts, ...]] = ()
    """The accounts that the plugin keeps for queues, jobs and itself; the framework records them after each change."""

    problems: tuple[Problem, ...] = ()
    """Problems with inputs that the plugin needs and the snapshot lacks, known after on_session_open."""

    def __init__(self, arguments: Arguments) -> None:
        self.arguments = arguments

    @staticmethod
    def ignored_resources(_arguments: Arguments, _snapshot: Snapshot, /) -> tuple[str, ...]:
        """Resources that the scheduler ignores everywhere if this plugin is configured."""
        return ()

    def on_session_open(self, ssn: Session) -> None:
        """Build the plugin's state; call `ssn.withdraw_hook` for hooks that upstream registers conditionally."""

    def precomputed_codes(self, task: TaskInfo) -> Codes | None:
        """The codes of `predicate` for every node, if known without adding notes; None: `predicate` must be asked.

        A read-only array holds for the whole session.
        """
        return None

    def on_session_close(self, ssn: Session) -> None:
        """Perform the plugin's writes at the close of the session."""
