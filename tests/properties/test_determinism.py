"""The same snapshot gives the same trace bytes in every process."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SCRIPT = """
import hashlib, io
from tests.properties.clusters import random_cluster
from vcdebug.snapshot.edited_snapshot import snapshot_at_release
from vcdebug.recording.trace_schema import write_jsonl
from vcdebug.recording.replay import replay_cycle
file = io.StringIO()
for seed in range(12):
    write_jsonl(replay_cycle(random_cluster(seed)), file)
for seed in range(6):
    snapshot = random_cluster(seed, actions=("enqueue", "allocate", "preempt", "reclaim"))
    for release in ("v1.15.1", "v1.14.4"):
        write_jsonl(replay_cycle(snapshot_at_release(snapshot, release)), file)
print(hashlib.sha256(file.getvalue().encode()).hexdigest())
"""


def digest(hash_seed: str) -> str:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_the_hash_seed_of_the_process_does_not_matter() -> None:
    digests = {digest(seed) for seed in ("0", "1", "4242")}
    assert 1 == len(digests)
    assert hashlib.sha256().digest_size * 2 == len(digests.pop())
