#!/usr/bin/env bash
#SBATCH --job-name=qfsim-sweep
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --requeue
#SBATCH --open-mode=append
set -euo pipefail

usage() {
  cat <<'END'
A sweep as a Slurm job array: each task simulates one shard, then a job merges them into DIR/results.csv.
SWEEP.yaml, DIR and qfsim must be on a file system that all nodes share.

  sim/sweep/slurm-array.sh --shards N SWEEP.yaml DIR [-- SBATCH_OPTION...]
      submits the array of N tasks and, after it, the merge; the options (--cpus-per-task=8, --time=2:00:00,
      --partition=...) are those of both

The same by hand, or a part of it:

  sbatch --array=1-N [SBATCH_OPTION...] sim/sweep/slurm-array.sh SWEEP.yaml DIR
  sbatch --array=3,5 [SBATCH_OPTION...] sim/sweep/slurm-array.sh --shards N SWEEP.yaml DIR
      two of N shards, once more: a task goes on where it was interrupted
  sbatch --dependency=afterany:JOB sim/sweep/slurm-array.sh --merge SWEEP.yaml DIR

  --qfsim PATH   the program; without it build/qfsim beside this script or in the folder that it is called from,
                 or else the qfsim of the search path
END
}

refuse() {
  echo "slurm-array.sh: $*; --help says more" >&2
  exit 2
}

is_count() { [[ $1 =~ ^[1-9][0-9]{0,8}$ ]]; }

find_qfsim() {
  local candidate
  for candidate in "$(dirname "${BASH_SOURCE[0]}")/../../build/qfsim" build/qfsim "$(command -v qfsim)"; do
    if [[ -f $candidate && -x $candidate ]]; then
      realpath -- "$candidate"
      return
    fi
  done
}

# Which shard this task is of how many: --shards if given, or else the tasks of the array, which must be 1 to N then.
simulate_shard() {
  local shard=$SLURM_ARRAY_TASK_ID
  if [[ -z $shards ]]; then
    shards=$SLURM_ARRAY_TASK_COUNT
    local range="$SLURM_ARRAY_TASK_MIN to $SLURM_ARRAY_TASK_MAX"
    [[ $range == "1 to $shards" ]] ||
      refuse "the array has $shards tasks, from $range; legal: --array=1-N, or --shards N"
  fi
  ((shard >= 1 && shard <= shards)) ||
    refuse "task $shard of the array is no shard of $shards; legal: from 1 to $shards"
  echo "shard $shard of $shards of $sweep into $folder, on $HOSTNAME, ${SLURM_CPUS_ON_NODE:-1} at a time"
  exec "$qfsim" sweep "$sweep" --out "$folder" --shard "$shard/$shards" --jobs "${SLURM_CPUS_ON_NODE:-1}"
}

# The merge runs whatever became of the tasks: a point that failed is a line of the results, and a shard that is not
# complete is named by the merge.
submit() {
  [[ -n $shards ]] || refuse "not in an array job; legal: --shards N, --merge, or sbatch --array=1-N"
  command -v sbatch >/dev/null || refuse "there is no sbatch here; a shard by itself: qfsim sweep --shard i/n"
  local script array merge
  script=$(realpath -- "${BASH_SOURCE[0]}")
  array=$(sbatch --parsable --array="1-$shards" "${options[@]}" "$script" --shards "$shards" \
    --qfsim "$qfsim" "$sweep" "$folder")
  array=${array%%;*}  # a cluster's name may follow
  echo "job $array: $shards shards of $sweep"
  merge=$(sbatch --parsable "${options[@]}" --dependency="afterany:$array" --job-name=qfsim-merge "$script" \
    --merge --qfsim "$qfsim" "$sweep" "$folder")
  echo "job ${merge%%;*}: merges them into $folder/results.csv when they have ended; squeue --me shows both"
}

shards='' merging='' qfsim='' options=() words=()
while (($#)); do
  case $1 in
    -h | --help) usage; exit 0 ;;
    --merge) merging=yes ;;
    --shards | --qfsim)
      (($# > 1)) || refuse "$1 has no value"
      if [[ $1 == --shards ]]; then shards=$2; else qfsim=$2; fi
      shift ;;
    --) shift; options=("$@"); break ;;
    -*) refuse "$1: legal: --shards N, --merge, --qfsim PATH, -- SBATCH_OPTION..." ;;
    *) words+=("$1") ;;
  esac
  shift
done

((${#words[@]} == 2)) || refuse "${#words[@]} arguments; legal: SWEEP.yaml DIR"
sweep=${words[0]} folder=${words[1]}
[[ -z $shards ]] || is_count "$shards" || refuse "--shards $shards: legal: a whole number from 1"
[[ -z $merging || -z $shards ]] || refuse "--merge and --shards exclude each other"
[[ -f $sweep && -r $sweep ]] || refuse "$sweep is no file that can be read"
[[ ! -e $folder || -d $folder ]] || refuse "$folder is no folder"
qfsim=${qfsim:-$(find_qfsim)}
[[ -f $qfsim && -x $qfsim ]] || refuse "${qfsim:-qfsim} is no program; legal: --qfsim PATH"

if [[ $merging ]]; then
  [[ -z ${SLURM_ARRAY_TASK_ID:-} ]] || refuse "--merge is for one job, not for each task of an array"
  exec "$qfsim" sweep "$sweep" --out "$folder" --merge
elif [[ ${SLURM_ARRAY_TASK_ID:-} ]]; then
  simulate_shard
else
  submit
fi
