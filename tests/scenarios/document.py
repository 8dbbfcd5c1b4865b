"""docs/questions.md: every question with its answer; run as a module, it writes the page anew."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.scenarios.question import Question
from tests.scenarios.questions import asked
from vcdebug.explain.pending.explanation import explain_by_name

PAGE = Path(__file__).parents[2] / "docs" / "questions.md"
GITHUB = "https://github.com"

HEAD = """# Questions that users of Volcano ask

Each of these was asked in a thread on GitHub, in other words and about a larger cluster. Here it is a small
one that shows the same thing, and the first sentence of what `vcdebug explain` says about it today. The clusters lie in
[tests/scenarios/clusters](../tests/scenarios/clusters), one file each: `vcdebug open FILE` steps through it.
The tests write this page, and run every question.
"""

GROUPS: tuple[tuple[str, tuple[int, ...]], ...] = (
    ("The reason is hidden, vague or overwritten", (2100, 1094, 2357, 2285, 4971, 2884, 2462, 4802, 604, 1272)),
    ("The PodGroup is not admitted", (2416, 4385, 2633, 2814, 3220, 4235, 4817, 4995, 4819, 1901, 941, 2384, 1105)),
    (
        "It is admitted, and allocate finds no place",
        (1295, 5814, 3536, 479, 2547, 2221, 1083, 2052, 1331, 1492, 4528, 2283, 2304, 2838, 2937, 3271, 4076, 1301),
    ),
    ("Preemption does not happen, or does", (2034, 1539, 3332, 4439, 3079, 3207, 2622, 2976, 3512, 3916, 3559, 5884)),
    ("Gangs and statements", (3291, 5131, 5044, 5022, 2083, 1755, 3040)),
    ("Updates, kubelets and priority classes", (2143, 2861, 4360)),
    ("Reclaim", (3861, 3842, 4658, 3003, 5881, 4949, 5896)),
)


def page() -> str:
    """The whole page."""
    parts = [HEAD]
    for title, numbers in GROUPS:
        parts.append(f"## {title}\n")
        parts += [entry(asked(number)) for number in numbers]
    return "\n".join(parts)


def entry(question: Question) -> str:
    """The section of one question: the question, its thread, and the answer."""
    recording = question.recording()
    found = explain_by_name(recording, question.job)
    sentence = found.dominant.sentence_about(recording.job_names)
    title, threads = question.head[:2]
    links = ", ".join(map(link, threads.split(", ")))
    cluster = f"[{question.file.name}](../tests/scenarios/clusters/{question.file.name})"
    today = " ".join(remark(question.head))
    return f"**{title}** {links}, {cluster}\n\n> {sentence} (`{found.cause_code}`)\n\n{today}\n"


def link(thread: str) -> str:
    """`volcano-sh/volcano#479` as a link; with its repository where that is not the scheduler's own."""
    repository, _, number = thread.partition("#")
    name = f"#{number}" if repository == "volcano-sh/volcano" else thread
    return f"[{name}]({GITHUB}/{repository}/issues/{number})"


def remark(head: list[str]) -> Iterator[str]:
    """Volcano's current behaviour, from the comment in the cluster's file."""
    within = False
    for line in head:
        if line.startswith("Volcano today: ") or (within and line):
            within = True
            yield line
        elif within:
            return


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
