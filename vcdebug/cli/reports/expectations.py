"""Expectations that were checked: for people, for programs, and as JUnit XML."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from vcdebug.amount_text import count_noun
from vcdebug.debugger.expectations import ExpectationVerdict
from vcdebug.views.document import Block, make_listing, make_paragraph


@dataclass(frozen=True, slots=True)
class CheckedExpectation:
    """One expectation: its verdicts, or why its cycle could not be run."""

    name: str
    verdicts: tuple[ExpectationVerdict, ...]
    seconds: float
    error: str = ""

    @property
    def is_met(self) -> bool:
        """Whether all came true."""
        return not self.error and all(verdict.met for verdict in self.verdicts)

    @property
    def unmet_verdicts(self) -> tuple[ExpectationVerdict, ...]:
        """What did not come true."""
        return tuple(verdict for verdict in self.verdicts if not verdict.met)


def expectations_document(checked: Sequence[CheckedExpectation]) -> dict[str, object]:
    """For programs; the keys are a contract."""
    return {
        "met": all(one.is_met for one in checked),
        "expectations": [
            {
                "name": one.name,
                "met": one.is_met,
                "error": one.error or None,
                "checks": [verdict._asdict() for verdict in one.verdicts],
            }
            for one in checked
        ],
    }


def expectation_blocks(checked: Sequence[CheckedExpectation]) -> Iterator[Block]:
    """For people: a line per expectation, and each difference."""
    for one in checked:
        yield make_paragraph(
            f"{'✓' if one.is_met else '✗'} {one.name}: {_check_summary(one)}", "good" if one.is_met else "bad"
        )
        if one.unmet_verdicts:
            rows = tuple((v.about, v.field, _value_text(v.expected), _value_text(v.actual)) for v in one.unmet_verdicts)
            yield make_listing(("about", "field", "expected", "replayed"), rows, 2)
    failed = len([one for one in checked if not one.is_met])
    yield make_paragraph(f"{count_noun(len(checked), 'expectation')}, {failed} not met", "bad" if failed else "good")


def _check_summary(one: CheckedExpectation) -> str:
    if one.error:
        return one.error
    return f"{len(one.verdicts) - len(one.unmet_verdicts)} of {count_noun(len(one.verdicts), 'check')} met"


def _value_text(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return ("no", "yes")[value] if isinstance(value, bool) else str(value)


def junit_xml(checked: Sequence[CheckedExpectation]) -> str:
    """JUnit XML: a suite per expectation, a case per check."""
    root = ET.Element("testsuites", name="vcdebug expect")
    for one in checked:
        suite = ET.SubElement(root, "testsuite", name=one.name, time=f"{one.seconds:.3f}")
        suite.set("tests", str(max(1, len(one.verdicts))))
        suite.set("failures", str(len(one.unmet_verdicts)))
        suite.set("errors", str(int(bool(one.error))))
        for verdict in one.verdicts:
            case = ET.SubElement(suite, "testcase", classname=one.name, name=f"{verdict.about} {verdict.field}")
            if not verdict.met:
                message = f"expected {_value_text(verdict.expected)}, replayed {_value_text(verdict.actual)}"
                ET.SubElement(case, "failure", message=message)
        if one.error:
            case = ET.SubElement(suite, "testcase", classname=one.name, name="replay")
            ET.SubElement(case, "error", message=one.error)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"
