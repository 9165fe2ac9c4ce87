#!/usr/bin/env bash
# Builds a release for one target (default: this machine's) in target/dist: an archive with the program, its manual page, completions and
# licences, a checksum, and the release notes from CHANGELOG.md. Run .ci/run first; this script does not repeat it.
#   tests/release.sh [--dry-run] [TARGET]
# --dry-run packs the program of the last release build, and accepts uncommitted changes and a CHANGELOG section without a date.
set -euo pipefail
cd "$(dirname "$0")/.."

dry=
if [ "${1:-}" = --dry-run ]; then
    dry=yes
    shift
fi
host=$(rustc -vV | sed -n 's/^host: //p')
target=${1:-$host}
build=${CARGO_TARGET_DIR:-target}

fail() {
    echo "release: $*" >&2
    exit 1
}

# The version from Cargo.toml.
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"$/\1/p' Cargo.toml)
[ -n "$version" ] || fail "Cargo.toml names no version in [workspace.package]"
cargo metadata --no-deps --locked --format-version 1 >/dev/null || fail "Cargo.lock does not agree with the manifests"
[ -n "$dry" ] || [ -z "$(git status --porcelain)" ] || fail "there are uncommitted changes"

# The CHANGELOG section of this version.
notes=$(awk -v head="## $version" 'index($0, head) == 1 { on = 1; print; next } /^## / { on = 0 } on' CHANGELOG.md)
[ -n "$notes" ] || fail "CHANGELOG.md has no section '## $version'"
if ! head -n 1 <<<"$notes" | grep -qE '[0-9]{4}-[0-9]{2}-[0-9]{2}$'; then
    [ -n "$dry" ] || fail "write the day of the release into CHANGELOG.md: ## $version, $(date +%F)"
    echo "release: the CHANGELOG section has no date yet"
fi

# A build for the machine's own target is in release/, one for another target in TARGET/release/. The profile strips it.
program=$build/release/probity
[ "$target" = "$host" ] || program=$build/$target/release/probity
if [ -z "$dry" ]; then
    if [ "$target" = "$host" ]; then cargo build --release --locked; else cargo build --release --locked --target "$target"; fi
fi
[ -x "$program" ] || fail "$program is not there: cargo build --release"
printer=$program
[ "$target" = "$host" ] || printer=$build/release/probity
[ "$("$printer" --version)" = "probity $version" ] || fail "$printer is not version $version: $("$printer" --version)"

# The archive, with the names that `cargo binstall` expects.
name=probity-$version-$target
grep -q '/probity-{ version }-{ target }.tar.gz"$' Cargo.toml || fail "Cargo.toml and this script name the archive differently"
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
mkdir "$stage/$name"
cp "$program" README.md LICENSE CHANGELOG.md "$stage/$name"
python3 src/dist/licences.py "$target" >"$stage/$name/THIRD-PARTY.txt"
src/dist/share.sh "$printer" "$stage/$name"
out=$build/dist
mkdir -p "$out"
# Reproducible: the same commit gives the same bytes.
tar -C "$stage" --sort=name --mtime="@$(git log -1 --format=%ct)" --owner=0 --group=0 --numeric-owner -cf - "$name" |
    gzip -n9 >"$out/$name.tar.gz"
(cd "$out" && sha256sum "$name.tar.gz" >"$name.tar.gz.sha256")
echo "$notes" >"$out/probity-$version.md"

# Unpacks the archive elsewhere and tests the program in it.
(cd "$out" && sha256sum --check --quiet "$name.tar.gz.sha256")
mkdir "$stage/there"
tar -C "$stage/there" -xzf "$out/$name.tar.gz"
if [ "$target" = "$host" ]; then
    PROBITY_STATE_DIR=$stage/state PROBITY_CACHE_DIR=$stage/cache "$stage/there/$name/probity" doctor
fi
wc -c "$out/$name.tar.gz"
