"""Finds or builds the programs of the live suite; as a program, it says what is missing and exits with 1."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILT = ROOT / "build" / "live"
KUBERNETES, ETCD = "v1.36.1", "v3.6.8"
PROGRAMS = {
    "etcd": "ETCD",
    "kube-apiserver": "KUBE_APISERVER",
    "vc-scheduler": "VC_SCHEDULER",
    "vc-controller-manager": "VC_CONTROLLER_MANAGER",
}
"""Name on the path -> variable that names another one."""
OF_VOLCANO = {"vc-scheduler": "./cmd/scheduler", "vc-controller-manager": "./cmd/controller-manager"}
MAIN_OF_ETCD = """package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() { etcdmain.Main(os.Args) }
"""


def find_program(name: str) -> str:
    """The path of a program: the one that its variable names, else the built one, else that on the path; else empty."""
    named = os.environ.get(PROGRAMS[name])
    return next(filter(None, map(shutil.which, (named,) if named else (str(BUILT / name), name))), "")


def crd_files() -> list[Path]:
    """Volcano's custom resource definitions in the source tree that VOLCANO names."""
    return sorted(Path(os.environ["VOLCANO"]).glob("config/crd/*/bases/*.yaml")) if os.environ.get("VOLCANO") else []


def what_is_missing() -> str:
    """One line about what the suite lacks; empty if it can run."""
    lacking = [f"{name} ({PROGRAMS[name]}=PATH)" for name in PROGRAMS if not find_program(name)]
    if not crd_files():
        lacking.append("Volcano's source tree (VOLCANO=FOLDER)")
    return f"live suite skipped: missing {', '.join(lacking)}; see CONTRIBUTING.md" if lacking else ""


def build_missing() -> None:
    """Build what is missing, from Go modules and from Volcano's source tree; says when it cannot."""
    go = shutil.which("go") or shutil.which("/usr/local/go/bin/go")
    missing = [name for name in PROGRAMS if not find_program(name)]
    # Without Volcano's definitions nothing can be run, and a quarter of an hour would be lost.
    if not go or not missing or not crd_files():
        return
    BUILT.mkdir(parents=True, exist_ok=True)
    try:
        for name in missing:
            if name in OF_VOLCANO:
                _run_go(go, Path(os.environ["VOLCANO"]), name, OF_VOLCANO[name])
            else:
                _write_module(go)
                package = "./etcd" if name == "etcd" else "k8s.io/kubernetes/cmd/kube-apiserver"
                _run_go(go, BUILT / "module", name, package)
    except subprocess.CalledProcessError as failure:
        print(f"live suite: cannot build: {' '.join(map(str, failure.cmd))}", file=sys.stderr)


def _run_go(go: str, folder: Path, name: str, package: str) -> None:
    print(f"building {name} with {go}: some minutes", file=sys.stderr)
    version = f"-X k8s.io/component-base/version.gitVersion={KUBERNETES}"
    command = [go, "build", "-p", "2", "-ldflags", version, "-o", str(BUILT / name), package]
    environment = {**os.environ, "GOFLAGS": "-mod=mod -buildvcs=false"}
    subprocess.run(command, cwd=folder, env=environment, check=True, preexec_fn=lambda: os.nice(10))


def _write_module(go: str) -> None:
    """A module that requires both servers: Kubernetes names its own parts v0.0.0, so each needs its version."""
    module = BUILT / "module"
    (module / "etcd").mkdir(parents=True, exist_ok=True)
    (module / "etcd" / "main.go").write_text(MAIN_OF_ETCD)
    command = [go, "mod", "download", "-json", f"k8s.io/kubernetes@{KUBERNETES}"]
    found = json.loads(subprocess.run(command, capture_output=True, check=True, cwd="/").stdout)
    text = Path(found["GoMod"]).read_text()
    language = re.search(r"^go (\S+)", text, re.M)
    parts = sorted(set(re.findall(r"^\s*(k8s\.io/\S+) v0\.0\.0$", text, re.M)))
    lines = [
        "module live",
        f"go {language[1] if language else '1.26'}",
        f"require k8s.io/kubernetes {KUBERNETES}",
        f"require go.etcd.io/etcd/server/v3 {ETCD}",
        *(f"replace {part} => {part} {KUBERNETES.replace('v1', 'v0', 1)}" for part in parts),
    ]
    (module / "go.mod").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    build_missing()
    if said := what_is_missing():
        print(said, file=sys.stderr)
        sys.exit(1)
