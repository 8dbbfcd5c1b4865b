"""The command line's verbs are those of every front end."""

from vcdebug.debugger.commands import VERBS, CommandError, Reply, Verb, execute, find

__all__ = ["VERBS", "CommandError", "Reply", "Verb", "execute", "find"]
