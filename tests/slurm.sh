#!/bin/sh
# A grid of 48 cells through a real one-node Slurm that this script starts itself, with keys, ports and folders of its own: eight shards, one
# of them killed, the node drained, what was left submitted again, merged. It must equal the run on one machine, bit for bit but for times.
#
#   tests/slurm.sh path/to/probity [SEEDS]
#
# Each of the SEEDS (12, unless said otherwise) has four cells.
# Needs Debian's slurm-wlm and munge; says so and ends with 0 where they are not installed. A minute or two, and two more until the
# killed shard counts as silent.
set -eu

probity=$(realpath "${1:?the program}")
seeds=${2:-12}
PATH="$PATH:/usr/sbin:/sbin"
for program in munged slurmctld slurmd sbatch squeue scancel scontrol; do
  command -v "$program" >/dev/null || { echo "skipped: a grid through a real Slurm (no $program; install slurm-wlm and munge)"; exit 0; }
done

dir=$(mktemp -d)
chmod 755 "$dir"
node=$(hostname -s)
port=$((20000 + $$ % 20000))
end() {
  code=$?
  trap - EXIT
  [ "$code" = 0 ] || tail -n 20 "$dir"/*.log "$dir"/parts/logs/* 2>/dev/null || :
  scancel --user "$(id -un)" 2>/dev/null || :
  for pid in slurmd slurmctld munged; do
    if [ -f "$dir/$pid.pid" ]; then kill "$(cat "$dir/$pid.pid")" 2>/dev/null || :; fi
  done
  sleep 1
  rm -rf "$dir"
  exit "$code"
}
trap end EXIT
trap 'exit 130' INT TERM

export SLURM_CONF="$dir/slurm.conf" PROBITY_STATE_DIR="$dir/state" PROBITY_CACHE_DIR="$dir/cache" HF_HUB_OFFLINE=1
mkdir "$dir/munge" "$dir/spool" "$dir/saved"
chmod 700 "$dir/munge"
dd if=/dev/urandom of="$dir/munge/key" bs=128 count=1 2>/dev/null
chmod 600 "$dir/munge/key"
cat >"$SLURM_CONF" <<CONF
ClusterName=probity
SlurmctldHost=$node(127.0.0.1)
AuthType=auth/munge
AuthInfo=socket=$dir/munge.socket
CredType=cred/munge
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
SlurmctldPort=$port
SlurmdPort=$((port + 1))
SlurmctldPidFile=$dir/slurmctld.pid
SlurmdPidFile=$dir/slurmd.pid
SlurmctldLogFile=$dir/slurmctld.log
SlurmdLogFile=$dir/slurmd.log
StateSaveLocation=$dir/saved
SlurmdSpoolDir=$dir/spool
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
ReturnToService=2
NodeName=$node NodeAddr=127.0.0.1 CPUs=3 State=UNKNOWN
PartitionName=main Nodes=$node Default=YES State=UP
CONF
munged --force --key-file="$dir/munge/key" --socket="$dir/munge.socket" --pid-file="$dir/munged.pid" --log-file="$dir/munged.log" \
  --seed-file="$dir/munge/seed"
slurmctld -c
slurmd -c

until_says() { # seconds, words, command…: waits until the command says them
  left=$1 words=$2
  shift 2
  while ! "$@" 2>/dev/null | grep -q "$words"; do
    left=$((left - 1))
    [ "$left" -gt 0 ] || { echo "it never came: $words: $*"; "$@" || :; exit 1; }
    sleep 1
  done
}
until_says 30 idle sinfo --noheader --format=%T

cat >"$dir/grid.toml" <<SPEC
lab = "interventions"
[task]
examples = 1600
[probe]
oracles = ["linear"]
replicates = 2
[interval]
level = 0.9
resamples = 100
[[method]]
name = "alterrep"
values = [0.5, 4]
[grid]
models = ["bert-tiny"]
layer = "all"
seed = [$(seq -s ", " 0 $((seeds - 1)))]
task.phi = [0.0, 0.5]
SPEC

# The run on one machine, with a cache of its own so that neither finds what the other computed.
PROBITY_CACHE_DIR="$dir/cache-one" "$probity" run "$dir/grid.toml" --out "$dir/one" --quiet 2>"$dir/one.log"
"$probity" merge "$dir/one" -o "$dir/one.probity.jsonl" >/dev/null

submitted=$("$probity" submit --slurm "$dir/grid.toml" --out "$dir/parts" --array 8 -- --comment "of a test" --partition main)
echo "$submitted"
job=$(echo "$submitted" | sed -n 's/^job //p')
scontrol show job "${job}_1" | grep -q 'Comment=of a test' || { echo "sbatch did not take the options"; exit 1; }
# One shard is killed in the middle of a cell; the node takes no further work for a while.
until_says 120 '[1-9][0-9]* running' "$probity" follow "$dir/parts" --once
killed=$(squeue --noheader --states=R --format=%K --jobs="$job" | head -n 1)
scancel --batch --signal=KILL "${job}_$killed"
echo "shard $killed was killed"
scontrol update nodename="$node" state=drain reason=test
sleep 3
"$probity" follow "$dir/parts" --once | head -n 1
scontrol update nodename="$node" state=resume
until_says 600 '^0$' sh -c "squeue --noheader --jobs=$job | wc -l"
"$probity" follow "$dir/parts" --once | head -n 1
if "$probity" merge "$dir/parts" -o "$dir/x.probity.jsonl" 2>"$dir/missing"; then
  echo "the killed shard had left nothing: kill it earlier"
  exit 1
fi
grep -q '^missing: ' "$dir/missing"
until_says 180 '^silent ' "$probity" follow "$dir/parts" --once

again=$("$probity" submit --again --out "$dir/parts")
echo "$again"
echo "$again" | grep -q "in task $killed\$" || { echo "it is shard $killed that was killed"; exit 1; }
second=$(echo "$again" | sed -n 's/^job \([0-9]*\):.*/\1/p')
scontrol show job "${second}_$killed" | grep -q 'Comment=of a test' || { echo "the options were forgotten"; exit 1; }
until_says 600 '^0$' sh -c "squeue --noheader --jobs=$second | wc -l"
"$probity" follow "$dir/parts" --once
"$probity" merge "$dir/parts" -o "$dir/parts.probity.jsonl"

numbers() { # what a session found, without times, device and what had been cached
  "$probity" replay "$1" --headless --json |
    sed -E 's/"(t|seconds)":[-0-9.e+]+,?//g; s/"cached":(true|false),?//g; s/"device":"[^"]*",?//g'
}
numbers "$dir/one.probity.jsonl" >"$dir/one.txt"
numbers "$dir/parts.probity.jsonl" >"$dir/parts.txt"
lines=$(wc -l <"$dir/one.txt")
[ "$lines" -gt $((8 * seeds)) ]
cmp "$dir/one.txt" "$dir/parts.txt"
echo "equal: $lines findings of $((4 * seeds)) cells, in one run and in 8 shards"
