"""The kinds of breakpoints: one line per kind, imported when a breakpoint of it is set."""

KINDS: dict[str, str] = {
    "action": "vcdebug.debugger.breakpoints.action:Action",
    "data": "vcdebug.debugger.breakpoints.data:Data",
    "enqueue": "vcdebug.debugger.breakpoints.enqueue:Enqueue",
    "invariant": "vcdebug.debugger.breakpoints.invariant:Invariant",
    "overused": "vcdebug.debugger.breakpoints.overused:Overused",
    "predicate": "vcdebug.debugger.breakpoints.predicate:Predicate",
    "quirk": "vcdebug.debugger.breakpoints.quirk:Quirk",
    "score": "vcdebug.debugger.breakpoints.score:Score",
    "search": "vcdebug.debugger.breakpoints.search:Search",
    "starving": "vcdebug.debugger.breakpoints.starving:Starving",
    "statement": "vcdebug.debugger.breakpoints.statement:Statement",
    "tie": "vcdebug.debugger.breakpoints.tie:Tie",
    "victim": "vcdebug.debugger.breakpoints.victim:Victim",
    "vote": "vcdebug.debugger.breakpoints.vote:Vote",
}
