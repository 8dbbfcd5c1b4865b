"""`vcdebug learn`: lessons in the terminal debugger."""

from argparse import ArgumentParser, Namespace

from msgspec.structs import replace

from vcdebug.cli.commands import Command, CommandOutcome
from vcdebug.cli.commands.open import is_in_browser
from vcdebug.cli.output import Output
from vcdebug.errors import VcdebugError


class LearnCommand(Command):
    """Lists the lessons, or opens one at the first step that is not answered.

    Progress is read from the folder of saved sessions, which the debugger writes.
    """

    HELP = "Open a lesson: questions about a recorded cycle; without LESSON, list the lessons with your progress"
    EXAMPLES = ("learn", "learn preempt-works")

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("lesson", metavar="LESSON", nargs="?", help="name of a lesson, for example preempt-works")

    def execute(self, args: Namespace, output: Output) -> CommandOutcome:
        from vcdebug.debugger.lesson import find_lesson, list_lessons, next_lesson
        from vcdebug.tui.session_state import SessionStore, state_folder

        if args.lesson is None:
            from vcdebug.views.panels import lessons_table
            from vcdebug.views.table import format_table

            answered = SessionStore(state_folder()).answered_steps()
            hint = f"Open the next one: vcdebug learn {next_lesson(answered)}"
            output.write_text(f"{format_table(lessons_table(list_lessons(), answered))}\n\n{hint}")
            return CommandOutcome.DONE
        lesson = find_lesson(args.lesson)
        if not is_in_browser() and not (output.is_terminal and output.err.isatty()):
            raise VcdebugError("a lesson needs a terminal", "vcdebug learn without a name lists the lessons")
        from vcdebug.tui.app import EXIT_INTERRUPTED, run_tui
        from vcdebug.tui.worker import Start

        code = run_tui(replace(Start.from_word(lesson.snapshot), lesson=lesson.name))
        return CommandOutcome.INTERRUPTED if code == EXIT_INTERRUPTED else CommandOutcome.DONE
