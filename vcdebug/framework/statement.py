"""Statement: operations that change the session at once, and the cluster on commit. Upstream: framework/statement."""

from __future__ import annotations

from typing import Literal, NamedTuple

from vcdebug.framework import transitions
from vcdebug.framework.record import ALLOCATE_OP, StatementEvent, fast_tuple
from vcdebug.framework.session import Session
from vcdebug.model.names import NodeName
from vcdebug.model.task import TaskInfo, TaskStatus
from vcdebug.releases.scheduling import PR_5884, VOLUMES_REFUSE_AT_ONCE

OperationKind = Literal["evict", "pipeline", "allocate"]


class Operation(NamedTuple):
    """One operation of a statement."""

    kind: OperationKind
    task: TaskInfo
    reason: str = ""


class Statement:
    """A list of operations on one session. Upstream: framework/statement.NewStatement, framework/session.Statement."""

    __slots__ = ("_ssn", "operations")

    def __init__(self, ssn: Session) -> None:
        self._ssn = ssn
        self.operations: list[Operation] = []

    def __len__(self) -> int:
        return len(self.operations)

    def evict(self, task: TaskInfo, reason: str) -> None:
        """Evict a running task; cannot fail. Upstream: framework/statement.Evict."""
        transitions.evict(self._ssn, task, reason)
        self.operations.append(fast_tuple(Operation, ("evict", task, reason)))

    def pipeline(self, task: TaskInfo, host: NodeName, *, eviction: bool, undone: bool = True) -> str | None:
        """Pipeline; returns a handler's error, rolled back if `undone`. Upstream: framework/statement.Pipeline."""
        task.eviction_occurred = eviction
        if self._ssn.release.has_older_form(PR_5884):
            task.pod.node_name = host
        errors = transitions.place_task(self._ssn, task, host, TaskStatus.PIPELINED)
        if errors:
            if undone:
                transitions.unplace_task(self._ssn, task, "unpipeline")
            return (
                f"Task({task.namespace}/{task.name}) pipeline to node({host}) error and errInfos num is {len(errors)}, "
                "pipeline has been rolled back"
            )
        transitions.record_op(self._ssn, "pipeline", task, node=host, eviction=eviction)
        self.operations.append(fast_tuple(Operation, ("pipeline", task, "")))
        return None

    def unpipeline(self, task: TaskInfo) -> None:
        """Undo a pipeline outside the list of operations. Upstream: framework/statement.UnPipeline."""
        transitions.unplace_task(self._ssn, task, "unpipeline")

    def allocate(self, task: TaskInfo, host: NodeName) -> str | None:
        """Allocate the task; an error is returned after a rollback. Upstream: framework/statement.Allocate."""
        at_once = self._ssn.release.has_older_form(VOLUMES_REFUSE_AT_ONCE)
        refused = transitions.allocate_volumes(self._ssn, task, host, at_once=at_once)
        if refused is not None and at_once:
            return refused
        task.pod.node_name = host
        errors = transitions.place_task(self._ssn, task, host, TaskStatus.ALLOCATED)
        errors += [] if refused is None else [refused]
        if errors:
            transitions.unplace_task(self._ssn, task, "unallocate")
            return (
                f"Task {task.namespace}/{task.name} allocate to node {host} error and errInfos num is {len(errors)}, "
                "allocation has been rolled back"
            )
        transitions.record_op(self._ssn, ALLOCATE_OP, task, node=host)
        self.operations.append(fast_tuple(Operation, (ALLOCATE_OP, task, "")))
        return None

    def _record_statement(self, step: str, operations: list[Operation]) -> None:
        ops = tuple([(kind, task.key, task.node_name) for kind, task, _ in operations])
        self._ssn.record.append(fast_tuple(StatementEvent, (step, ops)))

    def commit(self) -> None:
        """Hand evictions and binds, not pipelined tasks, to the cache. Upstream: framework/statement.Commit."""
        self._record_statement("commit", self.operations)
        for operation in self.operations:
            operation.task.last_transaction = None
            # Evictions and pipelines already changed the session; only a bind can still fail.
            if operation.kind == ALLOCATE_OP:
                refused = transitions.add_bind_task(self._ssn, operation.task)
                if refused is None:
                    transitions.dispatch(self._ssn, operation.task)
                else:
                    self._ssn.restored.pop(operation.task.uid, None)
                    transitions.unplace_task(self._ssn, operation.task, "unallocate")
                    self._ssn.log("statement.unbound", operation.task.key, refused)
        self.operations = []

    def discard(self) -> None:
        """Undo all, newest first; tasks keep a copy of their planned state. Upstream: framework/statement.Discard."""
        self._record_statement("discard", self.operations)
        # Newest first: a later operation may use room that an earlier one freed.
        for operation in reversed(self.operations):
            task = operation.task
            task.last_transaction = task.transaction_context()
            if operation.kind == "evict":
                transitions.unevict(self._ssn, task)
            else:
                transitions.unplace_task(self._ssn, task, "un" + operation.kind)
        self.operations = []

    def merge(self, *statements: Statement) -> None:
        """Move the operations of other statements into this one. Upstream: framework/statement.Merge."""
        for statement in statements:
            self._record_statement("merge", statement.operations)
            self.operations.extend(statement.operations)
            statement.operations = []

    @staticmethod
    def save_operations(ssn: Session, *statements: Statement) -> Statement:
        """A new statement with these operations on clones of tasks. Upstream: framework/statement.SaveOperations."""
        saved = Statement(ssn)
        for statement in statements:
            statement._record_statement("save", statement.operations)
            for operation in statement.operations:
                clone = operation.task.clone()
                clone.eviction_occurred = operation.task.eviction_occurred
                saved.operations.append(operation._replace(task=clone))
        return saved

    def recover_operations(self, saved: Statement) -> str | None:
        """Replay a saved statement on its clones; the first error is returned, and the operations before it stay.
        Upstream: framework/statement.RecoverOperations.
        """
        self._record_statement("recover", saved.operations)
        for operation in saved.operations:
            error = self._replay_operation(operation)
            if error is not None:
                return error
        return None

    def _replay_operation(self, operation: Operation) -> str | None:
        task = operation.task
        if operation.kind == "evict":
            self.evict(task, operation.reason)
            return None
        if operation.kind == "pipeline":
            undone = not self._ssn.keeps_refused_pipelines
            error = self.pipeline(task, task.node_name, eviction=task.eviction_occurred, undone=undone)
            if error is not None:
                self._ssn.log("statement.unrepeated", error)
            return error
        error = self.allocate(task, task.node_name)
        if error is not None:
            self._ssn.log("statement.unrecovered", task.key, error)
        return error
