"""Expectations that were checked: for people, for programs, and as JUnit XML."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from vcdebug.amount_text import plural
from vcdebug.debugger.expectations import Verdict
from vcdebug.views.document import Block, listing, paragraph


@dataclass(frozen=True, slots=True)
class Checked:
    """One expectation: its verdicts, or why its cycle could not be run."""

    name: str
    verdicts: tuple[Verdict, ...]
    seconds: float
    error: str = ""

    @property
    def met(self) -> bool:
        """Whether all came true."""
        return not self.error and all(verdict.met for verdict in self.verdicts)

    @property
    def unmet(self) -> tuple[Verdict, ...]:
        """What did not come true."""
        return tuple(verdict for verdict in self.verdicts if not verdict.met)


def document(checked: Sequence[Checked]) -> dict[str, object]:
    """For programs; the keys are a contract."""
    return {
        "met": all(one.met for one in checked),
        "expectations": [
            {
                "name": one.name,
                "met": one.met,
                "error": one.error or None,
                "checks": [verdict._asdict() for verdict in one.verdicts],
            }
            for one in checked
        ],
    }


def blocks(checked: Sequence[Checked]) -> Iterator[Block]:
    """For people: a line per expectation, and each difference."""
    for one in checked:
        yield paragraph(f"{'✓' if one.met else '✗'} {one.name}: {_summary(one)}", "good" if one.met else "bad")
        if one.unmet:
            rows = tuple((v.about, v.field, _value_text(v.expected), _value_text(v.actual)) for v in one.unmet)
            yield listing(("about", "field", "expected", "replayed"), rows, 2)
    failed = len([one for one in checked if not one.met])
    yield paragraph(f"{plural(len(checked), 'expectation')}, {failed} not met", "bad" if failed else "good")


def _summary(one: Checked) -> str:
    if one.error:
        return one.error
    return f"{len(one.verdicts) - len(one.unmet)} of {plural(len(one.verdicts), 'check')} met"


def _value_text(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return ("no", "yes")[value] if isinstance(value, bool) else str(value)


def junit(checked: Sequence[Checked]) -> str:
    """JUnit XML: a suite per expectation, a case per check."""
    root = ET.Element("testsuites", name="vcdebug expect")
    for one in checked:
        suite = ET.SubElement(root, "testsuite", name=one.name, time=f"{one.seconds:.3f}")
        suite.set("tests", str(max(1, len(one.verdicts))))
        suite.set("failures", str(len(one.unmet)))
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
