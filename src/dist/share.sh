#!/usr/bin/env bash
# Writes the manual page and the shell completions that a program prints, where the shells and `man` look below a prefix:
#   src/dist/share.sh PROGRAM PREFIX
set -euo pipefail
program=$1 share=$2/share

mkdir -p "$share/man/man1" "$share/bash-completion/completions" "$share/zsh/site-functions" "$share/fish/vendor_completions.d"
"$program" man >"$share/man/man1/probity.1"
"$program" completions bash >"$share/bash-completion/completions/probity"
"$program" completions zsh >"$share/zsh/site-functions/_probity"
"$program" completions fish >"$share/fish/vendor_completions.d/probity.fish"
