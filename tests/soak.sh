#!/bin/sh
# Tries to break the program for some minutes: random keys on all screens, kills, full disks, broken links, interrupted grids, damaged files.
# Prints how often each was tried and failed, and for each failure a command that repeats it.
#
#   tests/soak.sh MINUTES [SCENARIO SEED]
#
# PROBITY names the program (default target/debug/probity). Needs Python 3. Ends with 1 if anything failed.
set -eu
cd "$(dirname "$0")/.."
exec python3 - "${PROBITY:-${CARGO_TARGET_DIR:-target}/debug/probity}" "$@" <<'PYTHON'
import fcntl, os, pty, random, re, select, shutil, signal, struct, subprocess, sys, tempfile, termios, time

program, minutes, only = os.path.abspath(sys.argv[1]), float(sys.argv[2]), sys.argv[3:]
if not os.access(program, os.X_OK):
    sys.exit(f"{program}: no such program; build it, or name it in PROBITY")
SHIPPED = os.path.abspath("sessions/agreement.probity.jsonl")
SPEC = """lab = "interventions"
models = ["bert-tiny"]
%s[task]
examples = 1000
[probe]
oracles = ["linear"]
replicates = 2
[interval]
resamples = 100
[[method]]
name = "alterrep"
values = [0.5, 4]
%s"""
KEYS = ["\r", "\x1b", "\t", " ", "\x1b[A", "\x1b[B", "\x1b[C", "\x1b[D", "\x1b[5~", "\x1b[6~", "\x7f", "\x10", "\x12"]
KEYS += [chr(c) for c in range(33, 127) if chr(c) not in "qQ"]


class Broken(Exception):
    pass


class Place:
    """A folder with the program's state, and random choices from a seed."""

    def __init__(self, seed):
        self.random, self.dir = random.Random(seed), tempfile.mkdtemp(prefix="soak-")
        self.env = dict(os.environ, PROBITY_STATE_DIR=self.dir, PROBITY_CACHE_DIR=self.dir + "/cache", HF_HUB_OFFLINE="1",
                        RAYON_NUM_THREADS="1", TERM="xterm-256color")
        self.env.pop("RUST_BACKTRACE", None)

    def write(self, name, content):
        path = os.path.join(self.dir, name)
        with open(path, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        return path

    def start(self, args, before=None, **more):
        command = [program] + args if before is None else ["sh", "-c", before + '; exec "$0" "$@"', program] + args
        return subprocess.Popen(command, env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                cwd=self.dir, **more)

    def run(self, args, codes, before=None, seconds=120):
        return finished(self.start(args, before), args, codes, seconds)


def finished(child, args, codes, seconds=120):
    try:
        out = child.communicate(timeout=seconds)[0].decode(errors="replace")
    except subprocess.TimeoutExpired:
        child.kill()
        raise Broken(f"{args}: did not end in {seconds} s")
    if child.returncode not in codes or re.search("internal error|panicked", out):
        raise Broken(f"{args}: exit code {child.returncode}: {out[-400:]}")
    if re.search("[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f-\x9f]", out):
        raise Broken(f"{args}: control characters in the output")
    return out


def keys(place):
    """Presses random keys on all screens, live or in a replay, then ends the program with a signal."""
    size = place.random.choice([(24, 80), (40, 120), (10, 30), (60, 200)])
    spec = place.write("spec.toml", SPEC % ("", ""))
    args = place.random.choice([["replay", SHIPPED], ["--spec", spec], ["--spec", spec, "--no-mouse"]])
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(place.dir)
        os.execve(program, [program] + args, place.env)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
    seen, code, until = b"", None, time.time() + 30
    while b"1049h" not in seen and time.time() < until:
        if select.select([terminal], [], [], 0.1)[0]:
            try:
                seen += os.read(terminal, 1 << 16)
            except OSError:
                break
    for _ in range(300):
        if select.select([terminal], [], [], 0.01)[0]:
            try:
                seen = (seen + os.read(terminal, 1 << 16))[-4000:]
            except OSError:
                break
        try:
            os.write(terminal, place.random.choice(KEYS + ["0", "1", "2", "3", "4"] * 4).encode())
        except OSError:
            break
    os.kill(pid, place.random.choice([signal.SIGTERM, signal.SIGHUP]))
    until = time.time() + 30
    while code is None and time.time() < until:
        if select.select([terminal], [], [], 0.05)[0]:
            try:
                seen = (seen + os.read(terminal, 1 << 16))[-4000:]
            except OSError:
                pass
        done, status = os.waitpid(pid, os.WNOHANG)
        code = os.waitstatus_to_exitcode(status) if done else None
    os.close(terminal)
    if code is None:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        raise Broken(f"{args}: did not end after a signal")
    if code not in (0, 129, 143) or b"internal error" in seen:
        raise Broken(f"{args}: exit code {code}: {seen[-300:]!r}")
    for name in os.listdir(place.dir + "/sessions") if os.path.isdir(place.dir + "/sessions") else []:
        place.run(["replay", f"{place.dir}/sessions/{name}", "--headless"], [0])


def kill(place):
    """A run that is killed leaves a session that replays."""
    spec = place.write("spec.toml", SPEC % ("", ""))
    child = place.start(["run", spec, "--session", "s"])
    time.sleep(place.random.uniform(0.2, 6))
    child.kill()
    child.communicate()
    if os.path.exists(place.dir + "/sessions/s.probity.jsonl"):
        place.run(["replay", "s", "--headless"], [0, 2])
    place.run(["run", spec, "--session", "s"], [0])


def full(place):
    """On a full disk a run ends with 1, names a file, and leaves no unfinished file."""
    spec, out = place.write("spec.toml", SPEC % ("", "")), place.dir + "/out"
    blocks = place.random.randrange(1, 40)
    said = place.run(["run", spec, "--out", out], [0, 1], before=f"trap '' XFSZ; ulimit -f {blocks}")
    left = [n for n in os.listdir(out) if n.startswith(".probity-")] if os.path.isdir(out) else []
    if left or "session" not in said:
        raise Broken(f"{blocks} blocks: {left}, {said[-300:]}")


def grid(place):
    """A grid that is killed repeatedly gives the same numbers as an undisturbed one."""
    spec = place.write("grid.toml", SPEC % ("", "[grid]\nseed = [0, 1, 2]\n"))
    for _ in range(place.random.randrange(1, 4)):
        child = place.start(["run", spec, "--out", "grid", "--jobs", "2", "--quiet"])
        time.sleep(place.random.uniform(0.2, 5))
        child.send_signal(place.random.choice([signal.SIGKILL, signal.SIGTERM]))
        child.communicate()
    place.run(["run", spec, "--out", "grid", "--quiet"], [0], seconds=300)
    place.run(["run", spec, "--out", "whole", "--quiet"], [0], seconds=300)
    sums = []
    for name in ["grid", "whole"]:
        parts = sorted(os.listdir(f"{place.dir}/{name}/parts"))
        texts = [open(f"{place.dir}/{name}/parts/{part}").read() for part in parts if part.endswith(".jsonl")]
        sums.append([re.search('"digest":"[0-9a-f]+"', text.splitlines()[-1]).group() for text in texts])
    if sums[0] != sums[1] or len(sums[0]) != 3:
        raise Broken(f"other numbers: {sums}")
    place.run(["merge", "grid"], [0])


def damage(place):
    """Damaged files are refused, or read up to the damage."""
    def damaged(content):
        content = bytearray(content[:place.random.randrange(1, len(content))] if place.random.random() < 0.3 else content)
        for _ in range(place.random.randrange(1, 40)):
            content[place.random.randrange(len(content))] = place.random.randrange(256)
        return bytes(content)
    lines = open(SHIPPED, "rb").read().splitlines(keepends=True)
    session = place.write("d.probity.jsonl", lines[0] + damaged(b"".join(place.random.sample(lines[1:], 300))))
    for args in [["replay", session, "--headless", "--json"], ["export", session, "--list"], ["findings", session, "optimum"]]:
        place.run(args, [0, 2])
    spec = place.write("d.toml", damaged((SPEC % ("", "")).encode()))
    place.run(["run", spec, "--forecast"], [0, 1, 2])
    keymap = place.write("keymap.toml", damaged(open("assets/keymap.toml", "rb").read() if os.path.exists("assets/keymap.toml") else b"[keys]"))
    place.run(["data", "doctor", keymap], [0, 1, 2])


def link(place):
    """With a link that breaks or corrupts data, a run ends with its numbers or an error; it never hangs."""
    after = place.random.randrange(200, 60000)
    cut = place.random.choice([f"head -c {after}", f"(head -c {after}; head -c 300 /dev/urandom; cat)"])
    ssh = place.write("ssh", f"#!/bin/sh\nfor there; do :; done\nif [ -e '{place.dir}/once' ]; then exec sh -c \"$there\"; fi\n"
                             f"touch '{place.dir}/once'\nsh -c \"$there\" | {cut}\n")
    os.chmod(ssh, 0o755)
    place.env.update(PROBITY_SSH=ssh, PATH=os.path.dirname(program) + ":" + place.env["PATH"])
    spec = place.write("spec.toml", SPEC % ("", ""))
    place.run(["run", spec, "--remote", "ssh://far", "--session", "s"], [0, 1], seconds=240)
    listed = place.run(["remote", "list", "ssh://far"], [0, 1])
    for name in re.findall(r"^(s\S*)\s", listed, re.M):
        place.run(["remote", "stop", "ssh://far", name], [0, 1, 2])


SCENARIOS = {f.__name__: f for f in [keys, kill, full, grid, damage, link]}
table, failures, end = {name: [0, 0] for name in SCENARIOS}, [], time.time() + 60 * minutes
seed = int(only[1]) if len(only) > 1 else random.randrange(1 << 30)
while True:
    for name in only[:1] or list(SCENARIOS):
        place = Place(seed)
        table[name][0] += 1
        try:
            SCENARIOS[name](place)
        except Broken as why:
            table[name][1] += 1
            failures.append(f"tests/soak.sh 0 {name} {seed}  # {why}".replace("\n", " ")[:600])
        finally:
            shutil.rmtree(place.dir, ignore_errors=True)
    seed += 1
    if time.time() >= end or len(only) > 1:
        break
print(f"{'scenario':10} {'tried':>6} {'failed':>6}")
for name, (tried, failed) in table.items():
    if tried:
        print(f"{name:10} {tried:6} {failed:6}")
print("\n".join(failures).encode("ascii", "backslashreplace").decode())
sys.exit(bool(failures))
PYTHON
