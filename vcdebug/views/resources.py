"""The pages `:jobs`, `:pods`, `:nodes` and `:queues`: every object at the event, and how many there are."""

from functools import partial
from typing import Final

from msgspec.structs import replace

from vcdebug.amount_text import format_count
from vcdebug.debugger.driver import DebuggerState
from vcdebug.debugger.figures import RESOURCE_KINDS, FigureError, find_object_name, object_names
from vcdebug.explain.answer import age_since
from vcdebug.model.names import Seq, TaskKey
from vcdebug.recording.event_index import JOB, NODE, QUEUE, TASK
from vcdebug.recording.recording import Recording
from vcdebug.recording.timeline import ClusterState
from vcdebug.views.cell_figures import task_figure
from vcdebug.views.event_view import subject_detail
from vcdebug.views.jobs import jobs_table
from vcdebug.views.nodes import nodes_table
from vcdebug.views.pieces import Piece
from vcdebug.views.queues import queues_table
from vcdebug.views.table import Row, RowsOnDemand, Table, table_columns

POD_COLUMNS: Final = table_columns("pod@", "status", "node", "job", "queue", "age#")
_TABLES: Final = {JOB: jobs_table, NODE: nodes_table, QUEUE: queues_table}


def resource_page(name: str, here: DebuggerState, word: str = "") -> Table:
    """The table of all objects of a kind; with a word, the page of the object that it names.

    Raises FigureError if no object of this kind has the name, and for a pod without a job.
    """
    recording, kind = here.recording, RESOURCE_KINDS[name]
    if word:
        object_name = find_object_name(recording, kind, word)
        page = subject_detail(recording, here.seq, kind, object_name)
        if page is None:
            raise FigureError(f"{object_name} belongs to no job, so it has no page", "the page of its node lists it")
        return page
    table = _pods_table(recording, here.seq) if kind == TASK else _TABLES[kind](recording, here.seq)
    return replace(table, title=f"{name.capitalize()} {format_count(len(object_names(recording, kind)))}")


def _pods_table(recording: Recording, seq: Seq) -> Table:
    """Every pod of a job, in the order of the snapshot."""
    names, state = tuple(recording.timeline.tasks), recording.timeline.state_at(seq)
    rows = RowsOnDemand(names, lambda index: _pod_row(recording, state, names[index]))
    return Table("Pods", POD_COLUMNS, rows, figures=partial(task_figure, POD_COLUMNS))


def _pod_row(recording: Recording, state: ClusterState, key: TaskKey) -> Row:
    task, task_state = recording.timeline.tasks[key], state.tasks[key]
    job = recording.owners.jobs.get(key, "")
    queue = recording.owners.queues.get(job, "")
    texts = (task_state.status.upstream_name, task_state.node or "–", job or "–", queue or "–")
    age = Piece(age_since(recording, task.pod.creation_timestamp))
    return Row(key, (Piece(key, "strong"), *map(Piece, texts), age), subject=("task", key))
