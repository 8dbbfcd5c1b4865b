"""Columns by the marks of their heads."""

from vcdebug.views.table import Column, table_columns


def test_marks_say_what_a_column_holds() -> None:
    assert (
        Column("job", name=True),
        Column("pods", right=True),
        Column("why", flexible=True),
        Column("first fix", flexible=True, min_width=24),
        Column("%", right=True),
        Column(""),
    ) == table_columns("job@", "pods#", "why~", "first fix~24", "%#", "")
