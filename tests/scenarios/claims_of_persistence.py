"""Claims of the article about task state persistence; numbered ones are rules of its design."""

from tests.scenarios.claims import TURNS, claim

ON, OFF = "set replay:persistence=on", "set replay:persistence=off"
AGAIN = "persist-restarted-in-turns"
ALLOCATES = "break statement allocate; continue"
PERSISTENCE = (
    claim(
        "Without it jobs evict each other alternately",
        TURNS,
        "advance 3 recreate; cycles",
        "cycle 3 repeats cycle 1: team/a-0 evicted each time",
    ),
    claim("With it the cluster settles", TURNS, f"{ON}; advance 3 recreate; cycles", "no repeating cycles"),
    claim(
        "A scheduler that was restarted goes on where it was, over ten cycles",
        AGAIN,
        "advance 9 recreate; cycles",
        "no repeating cycles",
    ),
    claim(
        "Without it a restart leads to turns again",
        AGAIN,
        f"{OFF}; advance 9 recreate; cycles",
        "cycle 5 repeats cycle 3: team/blue-worker-0 evicted each time",
    ),
    claim(
        "The first difference of on and off is named", AGAIN, f"{OFF}; diff", "JobReady  gang ✗ not ready (event 18)"
    ),
    claim(
        "Annotations of other clients are never touched",
        "persist-bound-meanwhile",
        "panel effects",
        "Pod team/search-worker-0 without volcano.sh/pipelined-status",
    ),
    claim("Off by default: every session forgets which pods were pipelined", TURNS, "panel conf", "off (no pods carry"),
    claim("It can be switched on", TURNS, f"{ON}; panel conf", "on (set in meta.json)"),
    claim("Pipelining writes the status annotation", TURNS, f"{ON}; panel effects", "volcano.sh/pipelined-status=true"),
    claim("Pipelining writes the node annotation", TURNS, f"{ON}; panel effects", "volcano.sh/pipelined-node=n1"),
    claim("Choosing victims is kept", TURNS, f"{ON}; panel effects", "volcano.sh/eviction-occurred=true"),
    claim("Without it no annotation is written", TURNS, "panel effects", "nominatedNodeName n1"),
    claim(
        "The next session restores the task as pipelined",
        TURNS,
        f"{ON}; advance; panel jobs",
        "✗ 0/1     0     1     0  Inqueue",
    ),
    claim("A fast path binds it to its reserved node", TURNS, f"{ON}; advance", "cycle 2: 1 bound"),
    claim(
        "1: annotations win over the phase", "persist-restarted", "panel session", "Pipelined on gpu-01, restored from"
    ),
    claim(
        "1: an unknown node is a problem, the task Pending",
        "persist-node-gone",
        "panel problems",
        "names gpu-09, which is not",
    ),
    claim("2: it counts as waiting", "persist-eviction-under-way", "panel jobs", "✗ 0/1     0     1     0"),
    claim("2: no other pod is evicted for it", "persist-eviction-under-way", "find victim", "find victim: 0 events"),
    claim(
        "3: the fast path uses the reserved resources",
        "persist-restarted",
        f"{ALLOCATES}; panel moment",
        "Pipelined → Allocated",
    ),
    claim(
        "3: AllocateFunc runs at the final allocation",
        "persist-restarted",
        f"{ALLOCATES}; panel moment",
        "event handlers notified",
    ),
    claim(
        "3: without it a job of higher priority takes the room",
        "persist-restarted",
        f"{OFF}; explain team/batch",
        "batch-worker-0 bound to gpu-01",
    ),
    claim(
        "3: what does not fit yet stays Pipelined",
        "persist-eviction-under-way",
        "explain team/chat",
        "from an earlier cycle",
    ),
    claim(
        "3: a cordoned node's reservation is released",
        "persist-node-gone",
        "find statement unpipeline",
        "unpipeline search-worker-0 @gpu-01",
    ),
    claim(
        "4: undone, it is Pipelined again",
        "persist-gang-incomplete",
        "break statement unallocate; continue; panel moment",
        "Allocated → Pipelined",
    ),
    claim(
        "5: victims chosen are kept on the pod",
        "persist-in-turns",
        "panel effects",
        "volcano.sh/eviction-occurred=true",
    ),
    claim(
        "6: pipelining writes both annotations", "persist-in-turns", "panel effects", "volcano.sh/pipelined-node=gpu-01"
    ),
    claim(
        "6: the final allocation strikes them out",
        "persist-restarted",
        "panel effects",
        "without volcano.sh/pipelined-status",
    ),
    claim(
        "7: bound there already is a success",
        "persist-bound-meanwhile",
        "panel quirks",
        "is bound to gpu-01 already: the bind succeeds",
    ),
    claim(
        "7: bound elsewhere is an error",
        "persist-bound-meanwhile",
        "explain team/search",
        "another client bound it to cpu-01",
    ),
    claim(
        "7: both lose their annotations",
        "persist-bound-meanwhile",
        "panel effects",
        "team/search-worker-0  without volcano.sh/pipelined",
    ),
    claim("8: accounting stops at 0", "persist-deep-queues", "panel quirks", "it stays at 0"),
    claim(
        "8: without it the process panics",
        "persist-deep-queues",
        f"{OFF}; explain team/high",
        "one of the two panics",
    ),
    claim(
        "8: GPUs that a queue does not configure are left out",
        "persist-queue-without-gpus",
        "explain team/chat",
        "chat-worker-0 bound to gpu-01",
    ),
    claim(
        "8: in master they count, and so do root's own limits",
        "persist-queue-without-gpus",
        f"{OFF}; explain team/chat",
        "team/chat is not admitted: minResources asks 8 cpu; queue serving",
    ),
)
