"""Why a job is Pending: cause, proof and advice; all Pending jobs; proven fixes; questions and answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from vcdebug.amount_text import capitalize_first, count_noun, format_count, join_names
from vcdebug.debugger.commands import CommandError
from vcdebug.debugger.driver import DebuggerState
from vcdebug.errors import closest_name_hint
from vcdebug.explain.answer import ADVICE_OWNER, NO_OTHER_OUTCOMES, Explanation, Finding, OtherOutcomes, age_text
from vcdebug.model.names import JobId, Seq, TaskKey
from vcdebug.model.task import TaskStatus
from vcdebug.recording.effects import cycle_effects
from vcdebug.recording.recording import Recording
from vcdebug.views.answer import STEP_STATES, answer_parts, fix_lines
from vcdebug.views.document import make_listing
from vcdebug.views.pieces import (
    NO,
    SKIPPED,
    SOME,
    YES,
    Line,
    Piece,
    Style,
    gang_line,
    make_line,
    muted_lines,
    muted_piece,
)
from vcdebug.views.table import Row, Table, format_table, table_columns

# Forecasts, trials and questions are many modules, which the first frame, with its answer, does not need.
if TYPE_CHECKING:
    from vcdebug.explain.answer import NamedQuestion, QuestionReply, ReplySheet
    from vcdebug.explain.pending.survey import CauseGroup, Survey, SurveyedJob
    from vcdebug.whatif.fixes.plan import TriedPlan
    from vcdebug.whatif.fixes.search import FixSearch


PENDING_COLUMNS = table_columns("event#", "", "change, or what the event proves~")
STEP_SIGNS = {**STEP_STATES, "not reached": muted_piece(SKIPPED)}


def job_at(here: DebuggerState, kind: str = "", name: str = "") -> JobId:
    """The job of a row's subject, else the current one; empty if there is none."""
    recording = here.recording
    if kind == "job" and name in recording.session.jobs:
        return name
    if kind == "task" and name in recording.owners.jobs:
        return recording.owners.jobs[name]
    # Between actions upstream calls hooks for all jobs in turn, so the event's job is not what the user means.
    return here.job if len(recording.span_tree.path_to(here.seq)) > 1 else ""


def explanation_table(
    recording: Recording,
    answer: Explanation,
    tested: Sequence[str] | None = (),
    others: OtherOutcomes = NO_OTHER_OUTCOMES,
) -> Table:
    """The explanation of a job or pod: its sentence and facts, then fixes, evidence and steps as rows.

    `tested` are fixes that replays have tested, in words, or None while they are being tested: advice that none of
    them has proven waits for them. `others` are other outcomes of the job.
    """
    fixes = [] if tested is None else [*_iter_fix_rows(answer, tested)]
    rows = [*fixes, *_iter_evidence_rows(answer.dominant, "proof"), *_iter_step_rows(answer)]
    for finding in answer.contributing:
        rows += _iter_evidence_rows(finding, finding.cause)
    title = f"Why {answer.job} is {'scheduled' if answer.scheduled else 'Pending'}"
    waiting = muted_lines("testing fixes…") if tested is None else ()
    head = (*_iter_sentences(recording, answer, others), _cause_line(answer), *waiting, ())
    return Table(title, PENDING_COLUMNS, rows, head, tuple(_iter_proof_lines(recording, answer)))


def _iter_sentences(recording: Recording, answer: Explanation, others: OtherOutcomes) -> Iterator[Line]:
    """All but the release, which the header of the screen and the overview name."""
    for role, texts in answer_parts(answer, recording.job_names, others).items():
        indent = "" if role in ("sentence", "doubt") else "  "
        style: Style = "warn" if role in ("other outcomes", "doubt") else ""
        if role != "release":
            yield from (make_line(Piece(f"{indent}{text}", style)) for text in texts)


def _iter_fix_rows(answer: Explanation, tested: Sequence[str]) -> Iterator[Row]:
    """Each leads to the first proof, as the first row does before fixes are tested: a key always means the same."""
    seq = answer.dominant.evidence[0].seq if answer.dominant.evidence else 0
    for number, line in enumerate(fix_lines(answer, tested)):
        label = Piece(f"fix {line.number}", "good") if line.number else muted_piece("" if tested else "try")
        yield Row(f"change {number}", make_line(muted_piece(str(seq or "")), label, line.text), seq)


def _cause_line(answer: Explanation) -> Line:
    style: Style = "good" if answer.scheduled else "bad"
    mark, kind = (YES, "outcome") if answer.scheduled else (NO, "cause")
    words = muted_piece(f"   the {kind}'s code, and its section in docs/causes.md")
    return make_line(Piece(f"{mark} {answer.cause_code}", style), words)


def _iter_proof_lines(recording: Recording, answer: Explanation) -> Iterator[Line]:
    """The gang's picture, the arithmetic of the cause, and further causes."""
    job = recording.session.jobs.get(answer.job)
    yield ()
    if job is not None and job.tasks:
        yield gang_line(recording, len(recording), answer.job)
    yield from (make_line(muted_piece(f"  {text}")) for text in answer.dominant.lines)
    for finding in answer.contributing:
        yield make_line(muted_piece("also  "), Piece(f"{finding.cause}  ", "warn"), finding.reason)


def _iter_evidence_rows(finding: Finding, label: str) -> Iterator[Row]:
    for number, entry in enumerate(finding.evidence):
        cells = (Piece(str(entry.seq)), Piece(label, "accent"), Piece(entry.text))
        yield Row(f"{label} {number}", cells, entry.seq)


def _iter_step_rows(answer: Explanation) -> Iterator[Row]:
    for step in answer.steps:
        seq: Seq = step.seqs[0] if step.seqs else 0
        cells = make_line(str(seq) if seq else "", STEP_SIGNS[step.state], f"{step.name}: {step.text or step.state}")
        yield Row(f"step {step.name}", cells, seq)


BOARD_COLUMNS: Final = table_columns("cause~46", "jobs#", "pods#", "oldest#", "first fix~24", "queues~10")
PENDING_JOBS_COLUMNS: Final = table_columns("job@", "queue", "pending#", "age#", "why~30")


def waiting_table(here: DebuggerState, words: str = "") -> Table:
    """The Pending jobs one by one if they are few or of the named cause and kind, else by cause; a row's key is its
    command.

    Raises CommandError for a cause that no job has.
    """
    from vcdebug.explain.pending.survey import MAX_LISTED_JOBS, group_by_cause, survey_jobs

    survey, (cause, _, kind) = survey_jobs(here.recording), words.partition(" ")
    groups = group_by_cause(survey)
    if not cause:
        return board_table(survey) if len(survey.unscheduled_jobs) > MAX_LISTED_JOBS else _jobs_table(survey)
    chosen = [group for group in groups if group.cause == cause and kind in ("", str(group.kind))]
    jobs = [job for group in chosen for job in group.jobs]
    if not jobs:
        codes = dict.fromkeys(group.cause for group in groups)
        raise CommandError(
            f"no job is Pending for {cause!r}", closest_name_hint(cause, codes, f"causes: {', '.join(codes)}")
        )
    rows = [_pending_row(job, causes=False) for job in jobs]
    # The full texts, which a row of the board may cut.
    head = tuple(make_line(text) for group in chosen for text in (group.text, group.first_fix) if text)
    title = f"Jobs {format_count(len(rows))}: {cause}, oldest first"
    return Table(title, PENDING_JOBS_COLUMNS, rows, header=head, wraps=False)


def board_table(survey: Survey) -> Table:
    """A row per cause of Pending jobs; the key of each row is the command that lists its jobs."""
    from vcdebug.explain.pending.survey import group_by_cause

    rows = [_cause_row(group) for group in group_by_cause(survey)]
    partly = survey.describe_partly()
    jobs = f"{format_count(len(survey.unscheduled_jobs))} of {survey.count_jobs()}"
    head = muted_lines(f"more jobs: {partly}") if partly else ()
    return Table(f"Pending by cause: {jobs}", BOARD_COLUMNS, rows, header=head, wraps=False, rest_below=True)


def _cause_row(group: CauseGroup) -> Row:
    mark = Piece(f"{SOME} {group.text}", "warn") if group.scheduled else Piece(f"{NO} {group.text}", "bad")
    numbers = map(format_count, (len(group.jobs), group.pods))
    cells = (mark, *map(Piece, numbers), Piece(group.oldest_age), Piece(group.first_fix or "–"))
    command = f"pending {group.cause} {group.kind or ''}".rstrip()
    return Row(command, (*cells, muted_piece(join_names(group.queues) or "–")))


def _jobs_table(survey: Survey) -> Table:
    """A row per job or pod with pending pods, unscheduled ones first."""
    rows = [_pending_row(surveyed) for surveyed in (*survey.unscheduled_jobs, *survey.partly_waiting_jobs)]
    title = f"Pending jobs: {format_count(len(rows))} of {format_count(survey.jobs)}"
    foot = () if rows else (make_line(Piece(f"{YES} no Pending jobs ({survey.jobs} in total)", "good")),)
    return Table(title, PENDING_JOBS_COLUMNS, rows, footer=foot, wraps=False)


def _pending_row(surveyed: SurveyedJob, *, causes: bool = True) -> Row:
    """The row of a job; without `causes`, where the title names the one cause of all rows."""
    answer, finding = surveyed.explanation, surveyed.shown_finding
    name, mark = answer.subject_name, YES if answer.scheduled else NO
    age = age_text(surveyed.age)
    cells = (Piece(name, "strong"), Piece(surveyed.queue or "–"), Piece(str(surveyed.pending)), Piece(age))
    cause = f"{mark} {finding.cause}: " if causes else ""
    return Row(f"explain {name}", (*cells, Piece(f"{cause}{finding.reason}")), subject=("job", answer.job))


# Fixes tried on the snapshot.

FIX_COLUMNS: Final = table_columns("#", "change~20", "result~20", "price~12", "role~10")


def fixes_table(search: FixSearch, job: JobId) -> Table:
    """A row per fix, the best first: change, result, cost for other jobs, owner; its key is its index."""
    from vcdebug.whatif.fixes.search import describe_conclusion

    plans = search.best_plans
    rows = [_fix_row(number, plan) for number, plan in enumerate(plans)]
    what = "these changes work" if plans and plans[0].is_proven else "changes that get the job further"
    words = f"{what} (tested in {count_noun(search.trial_count, 'cycle')})"
    head: tuple[Line, ...] = (make_line(muted_piece(words)), ()) if rows else ()
    conclusion = describe_conclusion(search)
    foot: tuple[Line, ...] = (make_line(Piece(f"{NO} {conclusion}", "bad")),) if conclusion else ()
    return Table(f"Fixes for {job}", FIX_COLUMNS, rows, head, foot)


def _fix_row(number: int, tried: TriedPlan) -> Row:
    from vcdebug.whatif.fixes.plan import describe_result

    mark = YES if tried.is_proven else NO
    cells = (
        Piece(str(number + 1)),
        Piece(tried.plan_words, "strong"),
        Piece(f"{mark} {describe_result(tried)}", "good" if tried.is_proven else "muted"),
        muted_piece(tried.side_effects_or_none),
        muted_piece(ADVICE_OWNER[tried.plan.worst_harm]),
    )
    return Row(str(number), cells)


# Questions about the cursor's row, and their answers.
MENU_COLUMNS: Final = table_columns("question~44", "about@", "command@")
PROOF_COLUMNS: Final = table_columns("event#", "what it shows~")
SUBJECT_KINDS: Final = {"job": "job", "pod": "task", "node": "node", "queue": "queue"}
"""What a question is about -> kind of a row's subject."""


def questions_table(here: DebuggerState, kind: str = "", name: str = "") -> Table:
    """The questions about a row's subject (kind, name); the key of each row is its command."""
    from vcdebug.whatif.forecast import QUESTIONS

    job = job_at(here, kind, name)
    questions = [("Why is it Pending, or how was it scheduled", job, f"explain {job}")] if job else []
    questions += [("Which changes would get it scheduled", job, f"prove {job}")] if job else []
    for question in QUESTIONS:
        subject = subject_of(here, question, kind, name)
        if subject or question.name == "next":
            questions.append((question.question_text, subject, f"ask {question.name} {subject}".rstrip()))
    if kind == "node" and (pod := here.task or _first_waiting_pod(here.recording)):
        placed = any(pod == effect.task for effect in cycle_effects(here.recording).bound)
        asked = "node" if placed else "refused"
        words = f"Why is this pod not on {name}" if placed else f"Why does {name} reject this pod"
        general = f"ask {asked} {pod}"
        questions = [(words, pod, f"{general} {name}"), *(row for row in questions if row[-1] != general)]
    rows = [
        Row(command, (Piece(f"{words}?"), Piece(subject_name, "strong"), muted_piece(f":{command}")))
        for words, subject_name, command in questions
    ]
    return Table("Questions", MENU_COLUMNS, rows, wraps=False)


def _first_waiting_pod(recording: Recording) -> TaskKey:
    """The first Pending pod of the first job that the overview lists; empty before the jobs are explained."""
    from vcdebug.explain.pending.survey import is_surveyed, survey_jobs

    if not is_surveyed(recording):
        return ""
    state = recording.timeline.state_at(len(recording))
    waiting = (
        task.key
        for surveyed in survey_jobs(recording).unscheduled_jobs[:1]
        if surveyed.explanation.job in recording.session.jobs
        for task in recording.session.jobs[surveyed.explanation.job].tasks.values()
        if state.tasks[task.key].status is TaskStatus.PENDING
    )
    return min(waiting, default="")


def subject_of(here: DebuggerState, question: NamedQuestion, kind: str = "", name: str = "") -> str:
    """The default subject of a question: the row's subject if it fits, else the current object; empty for none."""
    current = {"job": here.job, "task": here.task, "node": here.node, "queue": here.queue}
    fitting = [SUBJECT_KINDS[subject_kind] for subject_kind in question.subject_kinds if subject_kind in SUBJECT_KINDS]
    if name and kind in fitting:
        subject_kind, subject = kind, name
    else:
        current["job"] = job = job_at(here, kind, name)
        if name and job in here.recording.session.jobs:
            current["queue"] = here.recording.session.jobs[job].queue
        subject_kind = next((candidate for candidate in fitting if candidate == "job" or current[candidate]), "")
        subject = current.get(subject_kind, "")
    # A node and a queue may have the same name.
    return (
        f"{subject_kind}/{subject}"
        if subject and question.name == "holders" and subject_kind in ("node", "queue")
        else subject
    )


def question_named(word: str) -> NamedQuestion:
    """The question with a name that begins with `word`; raises CommandError unless there is exactly one."""
    from vcdebug.whatif.forecast import QUESTIONS

    matching = [question for question in QUESTIONS if word and question.name.startswith(word)]
    if len(matching) != 1:
        names = ", ".join(question.name for question in QUESTIONS)
        raise CommandError(f"unknown question {word!r}" if word else "no question is named", f"questions: {names}")
    return matching[0]


def answer_table(question: NamedQuestion, subject: str, reply: QuestionReply) -> Table:
    """An answer: its sentence, lines and sheets above, a row per event that proves it.

    Without such events the last sheet is the table itself, whose columns fit any width.
    """
    title = f"{capitalize_first(question.question_text)}: {subject}" if subject else question.question_text
    head: list[Line] = [make_line(Piece(reply.sentence, "strong"))]
    head += (make_line(muted_piece(f"  {text}")) for text in reply.lines)
    sheets = reply.sheets if reply.evidence else reply.sheets[:-1]
    for sheet in sheets:
        head += [(), *_iter_sheet_lines(sheet)]
    if sheets != reply.sheets:
        last = reply.sheets[-1]
        body = [Row(f"sheet {number}", tuple(map(Piece, cells))) for number, cells in enumerate(last.rows)]
        head += [(), make_line(Piece(last.title, "title"))]
        return Table(title, table_columns(*last.titles), body, header=tuple(head), wraps=False)
    rows = [
        Row(f"proof {number}", (Piece(str(proof.seq)), Piece(proof.text)), proof.seq)
        for number, proof in enumerate(reply.evidence)
    ]
    return Table(title, PROOF_COLUMNS, rows, header=(*head, ()))


def _iter_sheet_lines(sheet: ReplySheet) -> Iterator[Line]:
    yield make_line(Piece(sheet.title, "title"))
    # The first line of a listing is its title, which is empty.
    yield from (
        make_line(f"  {text}") for text in format_table(make_listing(sheet.titles, sheet.rows)).splitlines()[1:]
    )
