#!/bin/sh
# Makes the archive that krew.yaml names, for this machine's system, processor and Python, and prints its checksum.
#   deploy/krew-archive.sh [FOLDER]
set -eu
source=$(cd "$(dirname "$0")/.." && pwd)
target=$(mkdir -p "${1:-.}" && cd "${1:-.}" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m pip install --quiet --constraint "$source/constraints.txt" --target "$work/lib" "$source"
mkdir "$work/bin"
cat >"$work/bin/kubectl-vcdebug" <<'LAUNCHER'
#!/bin/sh
# krew puts a link to this file on the path.
here=$(dirname "$(readlink -f "$0")")
PYTHONPATH="$here/../lib${PYTHONPATH:+:$PYTHONPATH}" exec python3 -m vcdebug "$@"
LAUNCHER
chmod 755 "$work/bin/kubectl-vcdebug"
cp "$source/LICENSE" "$work/LICENSE"
tar -C "$work" -czf "$target/vcdebug.tar.gz" bin lib LICENSE
sha256sum "$target/vcdebug.tar.gz"
