"""`report`: one self-contained document as Markdown or HTML."""

import html
import json
import re
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest

from tests.builders import cluster, conf_of, node, pod_group, pods
from tests.cli.transcripts import call
from tests.recorded import bundled, golden
from vcdebug.debugger.notebook import BookmarkList
from vcdebug.errors import VcdebugError
from vcdebug.files.html import PAGE_STYLE
from vcdebug.files.report_file import escape_text, fence_code, form_of, markdown_text, report_text
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import replay_cycle
from vcdebug.views import report as report_view
from vcdebug.views.document import Document, Picture, Strip, make_paragraph
from vcdebug.views.report import ReportSubject

BLOCKED, JOB = "preempt-blocked-by-gang", "research/llm-finetune"
EVIL = '<script>alert("1")</script> & `code` | *bold* [link](http://x) @someone #12 <img src=x onerror=y>'
FORMS = pytest.mark.parametrize("form", ["md", "html"])
VOID = ("meta", "br", "img", "hr")


def document(form: str, *notes: tuple[int, str], case: str = BLOCKED, jobs: tuple[str, ...] = ()) -> str:
    marks = BookmarkList()
    for seq, note in notes:
        marks.set_bookmark(seq, note)
    recording = bundled(case) if case == BLOCKED or not case[-1].isdigit() else golden(case)
    return report_text(ReportSubject(recording, "1.2.3", (f"vcdebug open {case}",), tuple(marks), jobs), form)


class Page(HTMLParser):
    """The text and structure of an HTML report, as a browser would show it."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert tag == self.open.pop()

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text.append(data)

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attrs for name, attrs in self.tags if name == tag]


def test_fixes_are_tested_as_far_as_the_report_can_afford(monkeypatch: pytest.MonkeyPatch) -> None:
    tested = document("md")
    assert "**Fixes (tested on this snapshot)**" in tested
    assert "2 pods: requests and limits of nvidia.com/gpu 4" in tested
    monkeypatch.setattr(report_view, "MAX_TESTED_EVENTS", 0)
    untested = document("md")
    assert "Suggested fixes (not tested: the jobs above took the time of a report; explain --prove" in untested
    assert "Fixes (tested" not in untested


@FORMS
def test_report_contains_every_fact_of_the_recording(form: str) -> None:
    text = document(form, (110, "the pipeline"))
    for words in (
        BLOCKED,
        "1.2.3",
        "8 nodes, 3 queues, 6 jobs, 16 pods",
        "enqueue, allocate, preempt, backfill",
        "gang-discard",
        "JobPipelined: gang rejects",
        "research/llm-finetune: minMember 2",
        "the pipeline",
        "platform/feature-etl-mapper-0",
        "view-lost-pod",
        "Statement  ◆ will be discarded at 137",
        f"vcdebug open {BLOCKED}",
    ):
        assert words in text, words


@FORMS
def test_the_same_recording_gives_the_same_bytes(form: str) -> None:
    assert document(form, (110, "x")) == document(form, (110, "x"))


def test_the_page_is_well_formed_and_needs_nothing_from_elsewhere() -> None:
    for case in (BLOCKED, "preempt-works", "capacity-0005", "nominated-0000"):
        text = document("html", (1, "a"), (20, "b"), (60, EVIL), (9999, "beyond"), case=case)
        page = Page(text)
        assert [] == page.open
        assert [] == page.named("script") + page.named("link") + page.named("img") + page.named("iframe")
        assert all((attrs["href"] or "").startswith("#") for attrs in page.named("a"))
        ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
        assert len(ids) == len(set(ids))
        assert [] == [attrs["href"] for attrs in page.named("a") if (attrs["href"] or "")[1:] not in ids]
        assert not re.search(r"url\(|@import|https?:", text.partition("</style>")[0])


def test_html_report_is_accessible() -> None:
    page = Page(document("html", (110, "x")))
    assert [{"lang": "en"}] == page.named("html")
    assert 1 == len(page.named("h1"))
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch(r"h\d", tag)]
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert all(attrs.get("scope") == "col" for attrs in page.named("th"))
    regions = [attrs for attrs in page.named("div") if attrs.get("role") == "region"]
    assert regions
    assert all(attrs.get("aria-label") and attrs.get("tabindex") == "0" for attrs in regions)
    style = document("html").partition("</style>")[0]
    assert "prefers-color-scheme: dark" in style


def test_markup_in_a_note_is_escaped() -> None:
    page = Page(document("html", (110, EVIL)))
    assert EVIL in "".join(page.text)
    text = document("md", (110, EVIL))
    outside = re.sub(r"^(`{3,})text\n.*?^\1$", "", text, flags=re.DOTALL | re.MULTILINE)
    assert "<script" not in outside
    assert "<img" not in outside
    assert "[link](" not in outside
    assert not re.search(r"(?<!\w)@\w", outside)
    assert not re.search(r"(?<![\w#])#\d", outside)


def test_names_of_objects_are_escaped_too() -> None:
    conf = conf_of("gang", "predicates proportion")
    objects = cluster(
        node("a&b<i>", cpu="1"), pod_group("j<x>", min_member=2), pods("j<x>", 2, cpu="1", prefix="p|q"), conf=conf
    )
    objects.name, objects.description = 'cut & <b>"paste"</b>', "a | b <i>"
    recording = replay_cycle(objects)
    subject = ReportSubject(recording, "1", (), (), ())
    page = Page(report_text(subject, "html"))
    assert [] == page.named("i") + page.named("b") + page.named("x")
    assert 'Scheduling cycle of cut & <b>"paste"</b>' in "".join(page.text)
    lines = report_text(subject, "md").splitlines()
    tables = [line for line in lines if line.startswith("|")]
    heads = [index for index, line in enumerate(lines) if re.fullmatch(r"\|( -+:? \|)+", line)]
    assert heads
    for index in heads:
        width = len(re.findall(r"(?<!\\)\|", lines[index]))
        while lines[index].startswith("|"):
            assert width == len(re.findall(r"(?<!\\)\|", lines[index])), lines[index]
            index += 1
    assert not any("<i>" in line or "<x>" in line for line in tables)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain-name_0 in a/b", "plain-name_0 in a/b"),
        ("_x_ and *y*", r"\_x\_ and \*y\*"),
        ("a|b", r"a\|b"),
        ("two\nlines", "two lines"),
        ("@node-1 mail@host #7", "@<!-- -->node-1 mail@host #<!-- -->7"),
        ("1 < 2 && 3 > 2", "1 &lt; 2 &amp;&amp; 3 &gt; 2"),
    ],
)
def test_markdown_takes_text_as_text(text: str, expected: str) -> None:
    assert expected == escape_text(text)


@pytest.mark.parametrize("text", ["1. a", "12) a", "- a", "+ a", "# a", "> a", "= a"])
def test_markdown_takes_a_paragraph_for_no_list_or_heading(text: str) -> None:
    written = markdown_text(Document("t", (make_paragraph(text),), ())).splitlines()[-1]
    assert text == html.unescape(re.sub(r"\\([^\w\s])", r"\1", written))
    assert not re.match(r"[-+#>=]|\d+[.)]", written)


def test_a_fence_is_longer_than_what_it_holds() -> None:
    assert "````text\na ``` b\n````" == fence_code("a ``` b")


def test_only_the_jobs_that_were_asked_about_are_explained() -> None:
    text = document("md", jobs=("platform/feature-etl",))
    assert "platform/feature-etl is scheduled" in text
    assert f"{JOB} waits" not in text


def test_markdown_goes_to_standard_output_and_a_file_is_written_once(tmp_path: Path) -> None:
    code, out, err = call(["report", BLOCKED])
    assert (0, "", True) == (code, err, out.startswith(f"# Scheduling cycle of {BLOCKED}\n"))
    file = tmp_path / "a report.html"
    code, out, err = call(["report", BLOCKED, "-o", str(file)])
    assert (0, "") == (code, out)
    assert f"wrote {file}" in err
    before = file.read_text(encoding="utf-8")
    assert before.startswith("<!DOCTYPE html>")
    assert f"vcdebug report {BLOCKED} -o &#x27;{file}&#x27;" in before
    code, _, err = call(["report", BLOCKED, "--job", JOB, "-o", str(file)])
    assert (1, True) == (code, "exists; --force overwrites it" in err)
    assert before == file.read_text(encoding="utf-8")
    assert 0 == call(["report", BLOCKED, "--job", JOB, "-o", str(file), "--force"])[0]
    assert before != file.read_text(encoding="utf-8")
    assert ["a report.html"] == [path.name for path in tmp_path.iterdir()]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-o", "report.txt"], "report.txt: unsupported report type; the file name must end in .md or .html"),
        (["-o", "missing/report.md"], "missing/report.md: folder does not exist"),
        (["--job", "ml/none"], "ml/none"),
        (["--bookmarks", "missing.json"], "missing.json: no such file"),
    ],
)
def test_failed_report_is_one_line(words: list[str], message: str) -> None:
    code, out, err = call(["report", BLOCKED, *words])
    assert (1, "", 1) == (code, out, len(err.splitlines()))
    assert message in err


def test_a_folder_is_no_file_and_a_form_is_known_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "x.md").mkdir()
    assert "is a folder" in call(["report", BLOCKED, "-o", str(tmp_path / "x.md")])[2]
    assert ["md", "md", "html", "html"] == [form_of(name) for name in ("a.md", "a.MARKDOWN", "a.html", "b.c.HTM")]
    with pytest.raises(VcdebugError):
        form_of("a")


@pytest.mark.parametrize("wrapped", [True, False])
def test_bookmarks_come_from_the_debuggers_own_file_or_from_a_list(tmp_path: Path, wrapped: bool) -> None:
    marks = [{"event": 110, "note": "from a file"}, {"event": 3, "cycle": 2}, "oops"]
    file = tmp_path / "marks.json"
    file.write_text(json.dumps({"version": 1, "notebook": {"bookmarks": marks}} if wrapped else marks))
    code, out, err = call(["report", BLOCKED, "--bookmarks", str(file)])
    assert 0 == code
    assert "> from a file" in out
    assert "### Event 110" in out
    assert "'oops': not in a form" in err
    assert "ignored 1 bookmark of other cycles or branches" in err


def test_a_file_of_bookmarks_that_is_none_is_one_line(tmp_path: Path) -> None:
    file = tmp_path / "marks.yaml"
    file.write_text("a: [b")
    code, _, err = call(["report", BLOCKED, "--bookmarks", str(file)])
    assert (1, 1, True) == (code, len(err.splitlines()), "is neither YAML nor JSON" in err)


def test_edits_are_in_the_command_that_shows_it_again() -> None:
    _, out, _ = call(["report", BLOCKED, "--set", "queue/research:spec.weight=9"])
    assert f"vcdebug report {BLOCKED} --set queue/research:spec.weight=9" in out


def test_a_script_writes_a_report_with_its_bookmarks(tmp_path: Path) -> None:
    target, commands = tmp_path / "r.md", tmp_path / "commands"
    commands.write_text(f"goto 110\nnote seen <here>\nreport {target}\nreport {target}\n")
    code, out, err = call(["script", BLOCKED, str(commands)])
    assert (1, True) == (code, "line 4" in err and "--force overwrites it" in err)
    assert f"wrote {target}" in out
    text = target.read_text(encoding="utf-8")
    assert "> seen &lt;here&gt;" in text
    assert f"vcdebug open {BLOCKED} --goto 110" in text


@pytest.mark.parametrize(
    ("before", "typed"),
    [
        ("set queue/research:spec.weight=9", "set queue/research:spec.weight=9\ngoto 20\n"),
        ("advance", "advance\ngoto 20\n"),
    ],
)
def test_a_report_of_another_recording_says_how_to_get_there(tmp_path: Path, before: str, typed: str) -> None:
    target, commands = tmp_path / "r.md", tmp_path / "commands"
    commands.write_text(f"goto 10\nnote of the first\n{before}\ngoto 20\nnote of this one\nreport {target}\n")
    code, _, err = call(["script", BLOCKED, str(commands)])
    assert (0, "") == (code, err)
    text = target.read_text(encoding="utf-8")
    assert f"vcdebug open {BLOCKED}\n" in text
    assert f"text\n{typed}" in text
    assert "> of this one" in text
    assert "of the first" not in text


@FORMS
def test_long_lists_end_with_how_many_more_there_are(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, most in (("MAX_PROBLEMS", 1), ("MAX_MOVES", 1), ("MAX_JOBS", 2), ("MAX_EXPLAINED", 1)):
        monkeypatch.setattr(report_view, name, most)
    text = document(form, case="mixed-0004")
    assert 3 <= len(re.findall(r"and \d+ more", text))
    assert "The first 1 follow in full" in text


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_every_colour_can_be_read_on_every_background_by_day_and_by_night() -> None:
    palettes = re.findall(r":root \{([^}]*--page[^}]*)\}", PAGE_STYLE)
    assert 2 == len(palettes)
    for palette in palettes:
        colours = dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", palette))
        for name in ("text", "soft", "good", "bad", "warn", "accent"):
            for ground in ("page", "tint"):
                lights = sorted((luminance(colours[name]), luminance(colours[ground])))
                assert 4.5 <= (lights[1] + 0.05) / (lights[0] + 0.05), (name, ground)


def picture(recording: Recording, title: str) -> dict[str, Strip]:
    report = report_view.build_report(ReportSubject(recording, "1", ()))
    found = [each for section in report.sections for each in section.blocks if isinstance(each, Picture)]
    return {strip.label: strip for each in found if each.title.startswith(title) for strip in each.strips}


def test_the_time_line_has_each_action_at_its_place() -> None:
    strips = picture(bundled(BLOCKED), "Time line")
    assert ["enqueue", "allocate", "preempt", "backfill"] == list(strips)
    assert "events 79–155, 1 discard, 1 eviction" == strips["preempt"].alt_text
    base, *ticks = strips["preempt"].marks
    assert (79 / 166, 77 / 166) == (base.start, base.width)
    assert [("bad", 1), ("warn", 2)] == [(tick.style, tick.row) for tick in ticks]
    assert all(base.start <= tick.start <= base.start + base.width for tick in ticks)


def test_a_cell_is_as_dark_as_its_node_is_full() -> None:
    gpu = picture(bundled(BLOCKED), "Nodes")["gpu"]
    assert "90% or more: 0 of 6 nodes; 50% or more: 6" == gpu.alt_text
    shades = {mark.tooltip: round(mark.shade, 3) for mark in gpu.marks}
    assert 8 == len(gpu.marks)
    assert (0.775, 0.1) == (shades["gpu-a100-01: 6 of 8"], shades["cpu-01: none"])


def test_thousands_of_nodes_share_cells() -> None:
    nodes = [node(f"n{number:04}", cpu="4") for number in range(2001)]
    cpu = picture(replay_cycle(cluster(*nodes, conf=conf_of("gang"))), "Nodes")["cpu"]
    assert 667 == len(cpu.marks)
    assert "n0000 to n0002: 0% used" == cpu.marks[0].tooltip
    assert cpu.alt_text.startswith("90% or more: 0 of ")


def test_a_queue_has_its_amounts_in_one_scale() -> None:
    gpu = picture(bundled(BLOCKED), "Queues")["research gpu"]
    assert "allocated 36, deserved 44, limit 48" == gpu.alt_text
    assert [36 / 48, 44 / 48] == [mark.width for mark in gpu.marks[:2]]


def test_without_a_sharing_plugin_no_queue_is_drawn() -> None:
    assert {} == picture(replay_cycle(cluster(node("n1"), conf=conf_of("gang"))), "Queues")


def test_victim_matrix_has_each_candidate_and_judging_plugin() -> None:
    text = document("md")
    row = "| research/resnet-sweep-worker-0 | gpu-a100-01 | research/llm-finetune-worker-0 | ✓ | ✓ | ✓ | – | victim |"
    kept = (
        "| research/bert-pretrain-worker-1 | gpu-a100-02 | research/llm-finetune-worker-1 | ✓ | ✗ | – | – | protected |"
    )
    assert "| candidate victim | node | for | priority | gang | conformance | drf | outcome |" in text
    assert row in text
    assert kept in text
    assert "candidate victim" not in document("md", case="placed-by-score")


@FORMS
def test_a_report_over_several_cycles_says_what_changed_in_each(form: str, tmp_path: Path) -> None:
    file = tmp_path / f"cycles.{form}"
    options = ["--cycles", "3", "--every", "30s", "--recreate"]
    assert 0 == call(["report", "preempt-works", *options, "-o", str(file)])[0]
    text = file.read_text(encoding="utf-8")
    assert "This report covers cycle 1 in full" in text
    for words in ("Cycle 2 at 09:30:30: changed: ", "Cycle 3 at 09:31:00", "Binding on gpu-l40s-01"):
        assert words in text
    assert "vcdebug report preempt-works --cycles 3 --every 30s --recreate -o" in text
    assert "Cycle 2" not in document(form, case="preempt-works")


def test_options_of_further_cycles_need_them() -> None:
    code, _, err = call(["report", "preempt-works", "--every", "30s"])
    assert (1, True) == (code, "--every needs several cycles" in err)
