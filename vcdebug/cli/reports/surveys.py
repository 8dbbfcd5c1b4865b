"""The report of `vcdebug explain` about many jobs: a table per snapshot, and the frequency of each cause."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from vcdebug.amount_text import count_noun
from vcdebug.cli.arguments import CachedRecordings
from vcdebug.cli.batch import BatchResults, PackedSnapshot
from vcdebug.cli.reports import explanation
from vcdebug.cli.snapshots import replay_snapshot
from vcdebug.explain.pending.survey import MAX_LISTED_JOBS, Survey, SurveyedJob, survey_by_name, survey_jobs
from vcdebug.grouping import group_by_key
from vcdebug.recording.recording import Recording, disposing
from vcdebug.snapshot.job_names import JobNames
from vcdebug.snapshot.sources import Source
from vcdebug.views.answer import caution_lines, list_jobs
from vcdebug.views.document import Block, make_listing, make_paragraph, name_jobs

CommandLineMaker = Callable[..., str]
"""Takes a command, a snapshot's name and a job; returns the command line."""


class SurveyedSnapshot(NamedTuple):
    """The Pending jobs of a snapshot, and what people call them."""

    survey: Survey
    job_names: JobNames

    @property
    def only_job(self) -> str:
        """The job or pod that is not scheduled, by the name that people use, if it is a single one; else empty."""
        survey = self.survey
        if len(survey.unscheduled_jobs) != 1 or survey.incomplete:
            return ""
        return self.name_subject(survey.unscheduled_jobs[0])

    def name_subject(self, surveyed: SurveyedJob) -> str:
        """The job's name as people use it, or that of a pod without a job."""
        return surveyed.explanation.pod or self.job_names.name_of(surveyed.explanation.job)


class Surveys(BatchResults[SurveyedSnapshot], frozen=True):
    """The pending jobs of all snapshots."""

    command_line_maker: CommandLineMaker
    """Function that makes the command line to explain one of the jobs."""

    @property
    def surveys_by_name(self) -> dict[str, Survey]:
        """The Pending jobs of the snapshots that did not fail."""
        return {name: result.survey for name, result in self.results_by_name.items()}

    @property
    def unscheduled_jobs(self) -> int:
        """How many jobs stay unscheduled."""
        return len([job for survey in self.surveys_by_name.values() for job in survey.unscheduled_jobs])

    def causes_by_frequency(self) -> list[tuple[str, int, int]]:
        """(cause, jobs, snapshots), the most frequent first."""
        jobs = group_by_key(
            (job.explanation.cause_code, name)
            for name, survey in self.surveys_by_name.items()
            for job in survey.unscheduled_jobs
        )
        counted = [(cause, len(names), len(dict.fromkeys(names))) for cause, names in jobs.items()]
        return sorted(counted, key=lambda row: (-row[1], row[0]))


def survey_blocks(surveys: Surveys, *, verbose: bool = False) -> Iterator[Block]:
    """The text report; only `verbose` lists many Pending jobs one by one instead of by cause."""
    spaced, results = True, surveys.results_by_name
    for name, (survey, names) in results.items():
        blocks = _survey_section(name, survey, verbose=verbose)
        section = [name_jobs(block, names) for block in blocks]
        if len(section) > 1 and not spaced:
            yield make_paragraph("")
        yield from section
        spaced = len(section) > 1
        if spaced:
            yield make_paragraph("")
    if not spaced and len(surveys.names) > 1:
        yield make_paragraph("")
    yield from _total_blocks(surveys)
    if surveys.unscheduled_jobs:
        pending = ((name, job) for name, survey in surveys.surveys_by_name.items() for job in survey.unscheduled_jobs)
        name, first = next(pending)
        job = results[name].name_subject(first)
        command = surveys.command_line_maker("explain", name, job)
        yield make_paragraph(f"Details and fixes for {job}: {command}", "muted")


def only_job_blocks(name: str, survey: Survey) -> Iterator[Block]:
    """What precedes the answer about the only job that is not scheduled."""
    yield make_paragraph(f"{name}: {_survey_headline(survey)}", "bad")
    if len(survey.explained) > 1:
        yield list_jobs(survey.explained)


def _survey_section(name: str, survey: Survey, *, verbose: bool) -> Iterator[Block]:
    yield make_paragraph(
        f"{name}: {_survey_headline(survey)}; {survey.release.describe_trust()}",
        "bad" if survey.unscheduled_jobs or survey.incomplete else "good",
    )
    yield from (make_paragraph(text, "bad", 2) for text in (*survey.panic, *caution_lines(survey.doubt)))
    if len(survey.unscheduled_jobs) > MAX_LISTED_JOBS and not verbose:
        # Imported here: the answer about one job does not need these modules.
        from vcdebug.views.pending import board_table

        yield replace(board_table(survey), title="", indent=2)
    elif survey.explained:
        yield list_jobs(survey.explained)
    if survey.problems:
        yield make_paragraph(f"{count_noun(survey.problems, 'input problem')} (list: vcdebug inspect)", "muted", 2)


def _survey_headline(survey: Survey) -> str:
    if survey.incomplete:
        return f"capture-incomplete: {survey.incomplete}"
    if not survey.jobs:
        return "not in this snapshot" if survey.named else f"no jobs{survey.place_words}"
    waiting, partly = len(survey.unscheduled_jobs), survey.describe_partly()
    rest = f"; {partly}" if partly else ""
    if waiting:
        return f"{waiting} of {survey.count_jobs()} {'is' if waiting == 1 else 'are'} not scheduled{rest}"
    return "scheduled" if survey.named else f"no Pending jobs ({survey.jobs}{survey.place_words or ' in total'}){rest}"


def _total_blocks(surveys: Surveys) -> Iterator[Block]:
    several = len(surveys.names) > 1
    if several:
        results = surveys.surveys_by_name.values()
        jobs = len([job for survey in results for job in range(survey.jobs)])
        are = "is" if surveys.unscheduled_jobs == 1 else "are"
        unscheduled = f"{surveys.unscheduled_jobs} of {count_noun(jobs, 'job')} {are} not scheduled"
        yield make_paragraph(f"{surveys.describe_extent()}: {unscheduled}", "title")
    if surveys.unscheduled_jobs and (several or surveys.unscheduled_jobs > 1):
        heads = ("cause", "jobs#", "snapshots#") if several else ("cause", "jobs#")
        rows = tuple(
            (cause, str(jobs), str(snapshots))[: len(heads)] for cause, jobs, snapshots in surveys.causes_by_frequency()
        )
        yield make_listing(heads, rows, 2)
        yield make_paragraph("")


def survey_document(surveys: Surveys) -> dict[str, object]:
    """The JSON document; the keys are a contract."""
    return {
        "snapshots": surveys.build_documents(_snapshot_document),
        "unscheduled": surveys.unscheduled_jobs,
        "causes": [
            {"cause": cause, "jobs": jobs, "snapshots": snapshots}
            for cause, jobs, snapshots in surveys.causes_by_frequency()
        ],
    }


def _snapshot_document(surveyed: SurveyedSnapshot) -> dict[str, object]:
    survey = surveyed.survey
    return {
        "jobs": survey.jobs,
        "unscheduled": len(survey.unscheduled_jobs),
        "problems": survey.problems,
        "release": survey.release.build_document(),
        **({"doubt": survey.doubt} if survey.doubt else {}),
        **({"panic": survey.panic} if survey.panic else {}),
        **({"incomplete": survey.incomplete} if survey.incomplete else {}),
        "explanations": [
            {"queue": job.queue, "pending": job.pending, **explanation.explanation_document(job.explanation)}
            for job in survey.explained
        ],
    }


class Surveyor(Struct, frozen=True):
    """Replays a snapshot and explains its jobs. Its fields are plain values: it is pickled for workers."""

    job: str | None
    """The only job or pod of interest."""
    namespace: str
    """The only namespace of interest; empty for all."""
    complete: bool | None
    edits: tuple[str, ...]
    extender_url: str | None
    release: str | None = None
    detailed: bool = False
    """Whether the report shows more of each job than its cause and advice."""

    def __call__(self, item: PackedSnapshot) -> SurveyedSnapshot:
        """The survey of a packed snapshot; called in a worker."""
        with disposing(self.replay_cycle(item.open_file())) as recording:
            return self.survey_jobs(recording)

    def replay_cycle(self, source: Source, keeping: CachedRecordings | None = None) -> Recording:
        """Replay a snapshot under the edits and options of the command."""
        return replay_snapshot(
            source,
            complete=self.complete,
            release=self.release,
            edits=self.edits,
            extender_url=self.extender_url,
            keeping=keeping,
        ).recording

    def survey_jobs(self, recording: Recording, tell: Callable[[int, int], None] | None = None) -> SurveyedSnapshot:
        """Explain all Pending jobs, or `job` alone; `tell` takes the jobs done and all jobs."""
        if self.job is not None:
            return SurveyedSnapshot(survey_by_name(recording, self.job), recording.job_names)
        survey = survey_jobs(recording, tell, detailed=self.detailed, namespace=self.namespace)
        return SurveyedSnapshot(survey, recording.job_names)
