"""Loading a large cluster in each text format: seconds, peak memory, and the memory of the objects alone.

python -m tests.bench.loading [--nodes N] [--pods N]

Pods have the fields of a server's answer, including ignored ones (managed fields, environment, arguments). YAML is
measured on a tenth of the cluster.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import yaml

from tests.bench import made
from vcdebug.snapshot.loader import load_snapshot

UNREAD = {"env": [{"name": f"V{number}", "value": "x" * 20} for number in range(8)], "args": ["--a", "--b"] * 5}
MANAGED = [{"manager": "kubectl", "operation": "Update", "fieldsV1": {"f:metadata": {"f:labels": {".": {}}}}}]


def objects(size: made.Size) -> Iterator[made.Manifest]:
    """A generated cluster that includes fields vcdebug ignores."""
    for manifest in made.objects(size):
        manifest["metadata"]["managedFields"] = MANAGED
        for container in manifest.get("spec", {}).get("containers", ()):
            container.update(UNREAD)
        yield manifest


FORMS = ("list.json", "lines.ndjson", "tenth.yaml")


def write(folder: Path, size: made.Size) -> None:
    """The cluster as a List, as NDJSON, and a tenth of it as YAML."""
    every = list(objects(size))
    body = {"apiVersion": "v1", "items": every, "kind": "List", "metadata": {"resourceVersion": ""}}
    (folder / "list.json").write_text(json.dumps(body, indent=1), encoding="utf-8")
    (folder / "lines.ndjson").write_text("\n".join(map(json.dumps, every)), encoding="utf-8")
    with (folder / "tenth.yaml").open("w", encoding="utf-8") as file:
        yaml.dump_all(every[::10], file, Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper))


def measure(path: str) -> None:
    """Measure the loading of one file in this process."""
    started = time.process_time()
    snapshot = load_snapshot(path)
    seconds = time.process_time() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    size, count = Path(path).stat().st_size / 1e6, sum(map(len, snapshot.objects.values()))  # exact: ints
    print(f"{Path(path).name:<14}{size:>8.0f} MB{count:>10,} objects{seconds:>8.2f} s{peak:>8.0f} MB peak")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=10_000)
    parser.add_argument("--pods", type=int, default=100_000)
    parser.add_argument("--file", help=argparse.SUPPRESS)
    parser.add_argument("--write", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.file:
        measure(arguments.file)
        return
    if arguments.write:
        write(arguments.write, made.Size(arguments.nodes, arguments.pods))
        return
    with tempfile.TemporaryDirectory() as folder:
        itself([*sys.argv[1:], "--write", folder])
        for name in FORMS:
            itself(["--file", str(Path(folder) / name)])


def itself(arguments: list[str]) -> None:
    """Run this module in a process of its own, so that the peak memory is its own."""
    subprocess.run([sys.executable, "-m", "tests.bench.loading", *arguments], check=True)


if __name__ == "__main__":
    main()
