"""The kinds of breakpoints: one line per kind; files hold kinds alike, imported when one of them is set."""

BREAKPOINT_KINDS: dict[str, str] = {
    "action": "vcdebug.debugger.breakpoints.event_kinds:ActionBreakpoint",
    "data": "vcdebug.debugger.breakpoints.state_kinds:DataBreakpoint",
    "enqueue": "vcdebug.debugger.breakpoints.event_kinds:EnqueueBreakpoint",
    "invariant": "vcdebug.debugger.breakpoints.state_kinds:InvariantBreakpoint",
    "overused": "vcdebug.debugger.breakpoints.event_kinds:OverusedBreakpoint",
    "predicate": "vcdebug.debugger.breakpoints.event_kinds:PredicateBreakpoint",
    "quirk": "vcdebug.debugger.breakpoints.event_kinds:QuirkBreakpoint",
    "score": "vcdebug.debugger.breakpoints.event_kinds:ScoreBreakpoint",
    "search": "vcdebug.debugger.breakpoints.event_kinds:SearchBreakpoint",
    "starving": "vcdebug.debugger.breakpoints.event_kinds:StarvingBreakpoint",
    "statement": "vcdebug.debugger.breakpoints.event_kinds:StatementBreakpoint",
    "tie": "vcdebug.debugger.breakpoints.event_kinds:TieBreakpoint",
    "victim": "vcdebug.debugger.breakpoints.event_kinds:VictimBreakpoint",
    "vote": "vcdebug.debugger.breakpoints.event_kinds:VoteBreakpoint",
}
