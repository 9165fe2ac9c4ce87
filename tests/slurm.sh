#!/bin/sh
# Runs a grid of 48 cells on a real one-node Slurm, which this script starts with separate keys, ports and folders. There are eight shards and
# four failing cells; one shard is killed, the node is drained, the rest is resubmitted, and the parts are merged. The result must equal the
# run on one machine bit for bit, except for times.
#
#   tests/slurm.sh path/to/probity [SEEDS]
#
# Each of the SEEDS (default 11) has four cells; the four failing cells are added.
# Needs Debian's slurm-wlm and munge; without them it prints a message and ends with 0. Takes a minute or two, and two more until the killed
# shard counts as silent.
set -eu

probity=$(realpath "${1:?the program}")
seeds=${2:-11}
cells=$((4 * seeds + 4))
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

until_says() { # seconds, words, command…: waits until the command prints the words
  left=$1 words=$2
  shift 2
  while ! "$@" 2>/dev/null | grep -q "$words"; do
    left=$((left - 1))
    [ "$left" -gt 0 ] || { echo "it never came: $words: $*"; "$@" || :; exit 1; }
    sleep 1
  done
}
until_says 30 idle sinfo --noheader --format=%T

fail() { echo "$*"; exit 1; }

spec() { # task section, seeds, further axes: prints a spec
  printf 'lab = "interventions"\n%s\nexamples = 1600\n' "$1"
  cat "$(dirname "$0")/common/cell.toml"
  printf '[grid]\nmodels = ["bert-tiny"]\nseed = [%s]\n%s\n' "$2" "$3"
}
spec "[task]" "$(seq -s ", " 0 $((seeds - 1)))" 'layer = "all"
task.phi = [0.0, 0.5]' >"$dir/grid.toml"
spec '[task]
data = "rows.jsonl"' "0, 1, 2, 3" "" >"$dir/own.toml"
"$probity" data make agreement -n 2000 --seed 8 >"$dir/rows.jsonl"

# The run on one machine, with a separate cache so that the two runs share no results.
PROBITY_CACHE_DIR="$dir/cache-one" "$probity" run "$dir/grid.toml" "$dir/own.toml" --out "$dir/one" --quiet 2>"$dir/one.log"
"$probity" merge "$dir/one" -o "$dir/one.probity.jsonl" >/dev/null

# Most of the data file is missing when the cluster begins, so the four cells that need it fail.
cp "$dir/rows.jsonl" "$dir/whole"
head -n 5 "$dir/whole" >"$dir/rows.jsonl"
submitted=$("$probity" submit --slurm "$dir/grid.toml" "$dir/own.toml" --out "$dir/parts" --array 8 -- --comment "of a test" --partition main)
echo "$submitted"
job=$(echo "$submitted" | sed -n 's/^job //p')
scontrol show job "${job}_1" | grep -q 'Comment=of a test' || fail "sbatch did not take the options"

running() { squeue --noheader --array --states=R --format=%K --jobs="$job"; }
left_by() { # succeeds if a shard has unfinished cells
  "$probity" follow "$dir/parts" --once --json | grep -o "\"shard\":\"$1/8\",\"pace\":\"[a-z]*\",\"cells\":[0-9]*,\"done\":[0-9]*" |
    sed -E 's/.*"cells":([0-9]*),"done":([0-9]*)/\1 \2/' | { read -r total finished && [ "$total" -gt "$finished" ]; }
}
# Kills one shard while it has unfinished cells. If a shard ended before the signal arrived, another one is tried.
killed=
until_says 120 '[1-9][0-9]* running' "$probity" follow "$dir/parts" --once
while [ -z "$killed" ]; do
  task=$(running | head -n 1)
  [ -n "$task" ] || fail "every shard ended before one was killed"
  scancel --batch --signal=KILL "${job}_$task"
  until_says 60 '^gone$' sh -c "squeue --noheader --array --states=R,CG --format=%K --jobs=$job | grep -qx $task || echo gone"
  if scontrol show job "${job}_$task" | grep -q 'ExitCode=0:9' && left_by "$task"; then killed=$task; fi
done
echo "shard $killed was killed"

# Drains the node for a while: running jobs end, waiting jobs do not begin.
scontrol update nodename="$node" state=drain reason=test
until_says 300 '^drained' sinfo --noheader --format=%T
waiting=$(squeue --noheader --array --states=PD --jobs="$job" | wc -l)
[ "$waiting" -gt 0 ] || fail "nothing was left to wait for the node"
sleep 3
[ -z "$(running)" ] || fail "a drained node has begun a shard"
echo "the node is drained, $waiting shards wait"
"$probity" follow "$dir/parts" --once | head -n 1
scontrol update nodename="$node" state=resume
until_says 600 '^0$' sh -c "squeue --noheader --jobs=$job | wc -l"
until_says 180 '^silent ' "$probity" follow "$dir/parts" --once
"$probity" follow "$dir/parts" --once >"$dir/seen"
cut -c 1-160 "$dir/seen"
grep -q ', 4 failed' "$dir/seen" || fail "four cells have failed"
[ "$(grep -c '^failed .*rows.jsonl' "$dir/seen")" = 4 ] || fail "failed cells are told of with their reason"
grep -q "^silent    shard $killed/8" "$dir/seen" || fail "it is shard $killed that was killed"
if "$probity" merge "$dir/parts" -o "$dir/x.probity.jsonl" 2>"$dir/missing"; then fail "there is nothing to merge yet"; fi
grep -q '^missing: ' "$dir/missing" || fail "what the killed shard left is not told of"
grep -q '^failed: 4 of' "$dir/missing" || fail "what failed is not told of"

cp "$dir/whole" "$dir/rows.jsonl"
again=$("$probity" submit --again --out "$dir/parts")
echo "$again"
second=$(echo "$again" | sed -n 's/^job \([0-9]*\):.*/\1/p')
scontrol show job "${second}_$killed" | grep -q 'Comment=of a test' || fail "the options were forgotten, or shard $killed"
until_says 600 '^0$' sh -c "squeue --noheader --jobs=$second | wc -l"
"$probity" follow "$dir/parts" --once
"$probity" merge "$dir/parts" -o "$dir/parts.probity.jsonl"

numbers() { # findings of a session without times, device and cache use
  "$probity" replay "$1" --headless --json |
    sed -E 's/"(t|seconds)":[-0-9.e+]+,?//g; s/"cached":(true|false),?//g; s/"device":"[^"]*",?//g'
}
numbers "$dir/one.probity.jsonl" >"$dir/one.txt"
numbers "$dir/parts.probity.jsonl" >"$dir/parts.txt"
lines=$(wc -l <"$dir/one.txt")
[ "$lines" -gt $((2 * cells)) ]
cmp "$dir/one.txt" "$dir/parts.txt"
echo "equal: $lines findings of $cells cells, in one run and in 8 shards"
