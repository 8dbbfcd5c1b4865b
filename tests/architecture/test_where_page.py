"""docs/where.md matches the docstrings, and the functions that it names exist upstream."""

import re

from tests.architecture.where_page import OUT_OF_SCOPE, PAGE, home, links, page, places, reason, upstream
from vcdebug.framework.hooks import HOOKS


def test_the_page_is_what_the_docstrings_say() -> None:
    assert page() == PAGE.read_text(encoding="utf-8"), "make docs writes docs/where.md again"


def test_each_function_that_a_docstring_names_is_upstreams() -> None:
    assert [] == [one for one in links() if one.function not in upstream().get(one.file, ())]


def test_each_file_of_upstream_has_a_place_or_a_reason() -> None:
    assert [] == [file for file in upstream() if not reason(file) and not home(file)]


def test_each_reason_is_that_of_a_file() -> None:
    assert [] == [part for part in OUT_OF_SCOPE if not any(f"{file}/".startswith(f"{part}/") for file in upstream())]


def test_each_function_of_upstream_is_on_the_page() -> None:
    sections = re.split(r"^### ", PAGE.read_text(encoding="utf-8").partition("## From here")[0], flags=re.MULTILINE)
    by_title = {text.partition("\n")[0]: text for text in sections}
    missing = [
        f"{file}.{name}" for file, names in upstream().items() for name in names if f"`{name}`" not in by_title[file]
    ]
    assert [] == missing


def test_each_extension_point_leads_to_its_row() -> None:
    points = [hook.upstream for hook in HOOKS if hook.upstream in upstream()["framework/session_plugins"]]
    assert len(points) > 10
    assert [] == [point for point in points if not places("framework/session_plugins", point)]


def test_the_deciding_functions_of_actions_are_named() -> None:
    found = {(one.file, one.function) for one in links()}
    wanted = ("preempt", "normalPreempt", "topologyAwarePreempt", "SelectVictimsOnNode", "taskEligibleToPreempt")
    assert [] == [name for name in wanted if ("actions/preempt", name) not in found]
