"""What a node has at one moment; amounts that did not change since the last look are shared, not copied."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from vcdebug.model.resource import Resource

if TYPE_CHECKING:
    from vcdebug.model.node import NodeInfo
    from vcdebug.model.task import TaskInfo


_NO_RESOURCE = Resource()


class NodeAmounts(NamedTuple):
    """A node's changing amounts at one moment; never changed."""

    idle: Resource
    used: Resource
    releasing: Resource
    pipelined: Resource

    @classmethod
    def of_node(cls, node: NodeInfo) -> NodeAmounts:
        """The node's amounts now."""
        last = node.last_amounts
        if last is None:
            leaving, awaited = node.releasing.copy_unless(_NO_RESOURCE), node.pipelined.copy_unless(_NO_RESOURCE)
            now = cls(node.idle.clone(), node.used.clone(), leaving, awaited)
        else:
            now = cls(
                node.idle.copy_unless(last.idle),
                node.used.copy_unless(last.used),
                node.releasing.copy_unless(last.releasing),
                node.pipelined.copy_unless(last.pipelined),
            )
            if now[0] is last[0] and now[1] is last[1] and now[2] is last[2] and now[3] is last[3]:
                return last
        node.last_amounts = now
        return now

    def future_idle(self) -> Resource:
        """Idle + Releasing - Pipelined."""
        return self.idle.clone().add(self.releasing).sub_without_assert(self.pipelined)

    def future_without(self, gone: Iterable[TaskInfo]) -> Resource:
        """The same once these tasks are gone."""
        future = self.future_idle()
        for task in gone:
            future.add(task.resreq)
        return future
