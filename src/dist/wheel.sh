#!/usr/bin/env bash
# Builds Python wheels of the program: one for this machine's Linux target and one for each given target:
#   pip install maturin ziglang
#   rustup target add aarch64-unknown-linux-gnu
#   src/dist/wheel.sh aarch64-unknown-linux-gnu
# The wheels need glibc 2.17 or later (zig links against it), so they run on old clusters. They are written to target/wheels.
set -euo pipefail
cd "$(dirname "$0")/../.."
root=$PWD
target=${CARGO_TARGET_DIR:-$root/target}
host=$(rustc -vV | sed -n 's/^host: //p')

stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
sed "s|^manifest-path = .*|manifest-path = \"$root/Cargo.toml\"|" src/dist/pyproject.toml >"$stage/pyproject.toml"
cp README.md LICENSE "$stage"

# wheel TARGET FOLDER
wheel() {
    python3 src/dist/licences.py "$1" >"$stage/THIRD-PARTY.txt"
    (cd "$stage" && maturin build --release --zig --compatibility manylinux2014 --target "$1" --out "$2")
}

# The program for this machine is built first, because it prints the manual page and the completions of all wheels.
mkdir -p "$stage/share.data/data"
wheel "$host" "$stage/first"
src/dist/share.sh "$target/$host/release/probity" "$stage/share.data/data"
for each in "$host" "$@"; do
    wheel "$each" "$target/wheels"
done
