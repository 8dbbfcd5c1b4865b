"""The kinds of breakpoints: one line per kind; files hold kinds alike, imported when one of them is set."""

KINDS: dict[str, str] = {
    "action": "vcdebug.debugger.breakpoints.course:Action",
    "data": "vcdebug.debugger.breakpoints.state:Data",
    "enqueue": "vcdebug.debugger.breakpoints.hooks:Enqueue",
    "invariant": "vcdebug.debugger.breakpoints.state:Invariant",
    "overused": "vcdebug.debugger.breakpoints.hooks:Overused",
    "predicate": "vcdebug.debugger.breakpoints.course:Predicate",
    "quirk": "vcdebug.debugger.breakpoints.course:Quirk",
    "score": "vcdebug.debugger.breakpoints.course:Score",
    "search": "vcdebug.debugger.breakpoints.hooks:Search",
    "starving": "vcdebug.debugger.breakpoints.hooks:Starving",
    "statement": "vcdebug.debugger.breakpoints.course:Statement",
    "tie": "vcdebug.debugger.breakpoints.course:Tie",
    "victim": "vcdebug.debugger.breakpoints.hooks:Victim",
    "vote": "vcdebug.debugger.breakpoints.hooks:Vote",
}
