"""The kinds of breakpoints: one line per kind; files hold kinds alike, imported when one of them is set."""

KINDS: dict[str, str] = {
    "action": "vcdebug.debugger.breakpoints.cycle:Action",
    "data": "vcdebug.debugger.breakpoints.data:Data",
    "enqueue": "vcdebug.debugger.breakpoints.hooks:Enqueue",
    "invariant": "vcdebug.debugger.breakpoints.invariant:Invariant",
    "overused": "vcdebug.debugger.breakpoints.hooks:Overused",
    "predicate": "vcdebug.debugger.breakpoints.nodes:Predicate",
    "quirk": "vcdebug.debugger.breakpoints.cycle:Quirk",
    "score": "vcdebug.debugger.breakpoints.nodes:Score",
    "search": "vcdebug.debugger.breakpoints.eviction:Search",
    "starving": "vcdebug.debugger.breakpoints.hooks:Starving",
    "statement": "vcdebug.debugger.breakpoints.statement:Statement",
    "tie": "vcdebug.debugger.breakpoints.nodes:Tie",
    "victim": "vcdebug.debugger.breakpoints.eviction:Victim",
    "vote": "vcdebug.debugger.breakpoints.hooks:Vote",
}
