"""The start-up cost of a command: the best of several fresh starts."""

import subprocess
import sys
import time

REPEATS = 5
STARTS = {
    "python": ["-c", "pass"],
    "vcdebug --help": ["-m", "vcdebug", "--help"],
    "vcdebug inspect": ["-m", "vcdebug", "inspect", "preempt-works"],
    "vcdebug run": ["-m", "vcdebug", "run", "preempt-works"],
    "import vcdebug.tui": ["-c", "import vcdebug.tui.app"],
    "import vcdebug.capture": ["-c", "import vcdebug.capture.cluster"],
}


def seconds(arguments: list[str]) -> float:
    started = time.perf_counter()
    subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=False)
    return time.perf_counter() - started


def main() -> None:
    for name, arguments in STARTS.items():
        best = min(seconds(arguments) for _ in range(REPEATS))
        print(f"{name:<24}{best * 1000:8.0f} ms")


if __name__ == "__main__":
    main()
