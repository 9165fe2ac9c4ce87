"""Prints the licence texts of every crate that the program for a target is built from, each text once.

    python3 src/dist/licences.py x86_64-unknown-linux-gnu > THIRD-PARTY.txt

The texts come from the sources that cargo has fetched. A crate without a licence file must offer MIT, whose text is then written
with the crate's authors; any other one is an error.
"""

import html
import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# A build dependency whose files are embedded.
FONTS = "epaint_default_fonts"
# `fonts/*.txt` are the licences of the embedded fonts.
FILE = re.compile(r"(licen[cs]e|copying|notice|unlicense|copyright)[^/]*$|fonts/[^/]*\.txt$", re.IGNORECASE)
MIT = """Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation
files (the "Software"), to deal in the Software without restriction, including without limitation the rights to use, copy,
modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the Software
is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES
OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE
LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR
IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE."""


def run(*command):
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def linked(target):
    """The packages of others that end up in the program: normal dependencies of the root, and theirs."""
    metadata = json.loads(
        run("cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", target)
    )
    packages = {p["id"]: p for p in metadata["packages"]}
    nodes = {n["id"]: n for n in metadata["resolve"]["nodes"]}
    seen, waiting = set(), [metadata["resolve"]["root"]]
    while waiting:
        package = waiting.pop()
        if package not in seen:
            seen.add(package)
            normal = (d for d in nodes[package]["deps"] if any(k["kind"] is None for k in d["dep_kinds"]))
            waiting += [d["pkg"] for d in normal]
    of_others = [p for i, p in packages.items() if i in seen and p["source"] or p["name"] == FONTS]
    return sorted(of_others, key=lambda p: (p["name"], p["version"]))


def texts(package):
    """The licence texts of a package."""
    folder = Path(package["manifest_path"]).parent
    files = sorted(f for f in folder.rglob("*") if f.is_file() and f.suffix not in (".rs", ".py"))
    found = [f.read_text(errors="replace").strip() for f in files if FILE.search(f.relative_to(folder).as_posix())]
    if found:
        return found
    if not re.search(r"\bMIT\b", package["license"] or ""):
        sys.exit(f"{package['name']} {package['version']}: no licence file, and {package['license']} is not MIT")
    authors = ", ".join(package["authors"]) or f"the authors of {package['name']}"
    return [f"MIT License\n\nCopyright (c) {authors}\n\n{MIT}"]


def standard_library():
    """The notices of the Rust standard library, if the toolchain came with them."""
    notices = Path(run("rustc", "--print", "sysroot").strip()) / "share/doc/rust/COPYRIGHT-library.html"
    if not notices.is_file():
        print("note: this toolchain has no COPYRIGHT-library.html; the standard library is left out", file=sys.stderr)
        return ""
    text = re.sub(r"<[^>]+>", "", notices.read_text())
    return re.sub(r"\n\s*\n\s*", "\n\n", html.unescape(text)).strip()


def main(target):
    packages = linked(target)
    users = {}
    for package in packages:
        for text in texts(package):
            users.setdefault(text, []).append(f"{package['name']} {package['version']}")
    print(f"The program contains {len(packages)} crates of others and the Rust standard library. Their licences:\n")
    for package in packages:
        print(f"  {package['name']} {package['version']}: {package['license'] or 'see its text'}")
    for text, names in [*users.items(), (standard_library(), ["the Rust standard library"])]:
        if text:
            print(f"\n{'=' * 80}\n{', '.join(dict.fromkeys(names))}\n{'-' * 80}\n\n{text}")
    print(f"{len(packages)} crates, {len(users)} different texts", file=sys.stderr)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: licences.py TARGET, for example x86_64-unknown-linux-gnu")
    main(sys.argv[1])
