#!/usr/bin/env bash
# Writes a program's manual page and shell completions to the folders of a prefix where `man` and the shells search:
#   src/dist/share.sh PROGRAM PREFIX
set -euo pipefail
program=$1 share=$2/share

mkdir -p "$share/man/man1" "$share/bash-completion/completions" "$share/zsh/site-functions" "$share/fish/vendor_completions.d"
"$program" man >"$share/man/man1/probity.1"
"$program" completions bash >"$share/bash-completion/completions/probity"
"$program" completions zsh >"$share/zsh/site-functions/_probity"
"$program" completions fish >"$share/fish/vendor_completions.d/probity.fish"
