#!/bin/sh
# Makes the archive that krew.yaml names, for this machine's system and processor and all supported Pythons, and prints
# its checksum. It holds wheels; kubectl-vcdebug unpacks those of the Python that it finds.
#   deploy/krew-archive.sh [FOLDER]
set -eu
source=$(cd "$(dirname "$0")/.." && pwd)
target=$(mkdir -p "${1:-.}" && cd "${1:-.}" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/wheels/any" "$work/bin"
python3 -m pip wheel --quiet --no-deps --wheel-dir "$work/wheels/any" "$source"
for minor in 11 12 13 14; do
    python3 -m pip download --quiet --only-binary=:all: --python-version "3.$minor" --constraint "$source/constraints.txt" \
        --dest "$work/wheels/cp3$minor" "$work"/wheels/any/vcdebug-*.whl
    mv "$work/wheels/cp3$minor"/*-none-any.whl "$work/wheels/any"
done
install -m 755 "$source/deploy/kubectl-vcdebug" "$work/bin/kubectl-vcdebug"
cp "$source/LICENSE" "$work/LICENSE"
tar -C "$work" -czf "$target/vcdebug.tar.gz" bin wheels LICENSE
sha256sum "$target/vcdebug.tar.gz"
