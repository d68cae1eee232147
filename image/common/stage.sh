#!/usr/bin/env bash
# Cached stages. A stage is a function that fills a directory; its key is a hash of everything it depends on.
#
#   stage_key  PART…            → a 24-digit key made of the parts (strings, and files given as @path)
#   stage      NAME KEY FUNC    → prints nothing; sets STAGE_DIR to a directory that FUNC has filled
#
# A stage directory appears under its final name only when FUNC succeeded (it is filled under a temporary name and
# renamed), so a killed build never leaves a half-made stage behind that a later run would trust. Two builds at the
# same time are kept apart by a lock. Older keys of the same stage are removed after KEEP_STAGES newer ones.

CISTERN_CACHE=${CISTERN_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/cistern}
KEEP_STAGES=${CISTERN_KEEP_STAGES:-2} # more of them where several work trees are built beside each other

say() { printf '%s  %s\n' "$(date +%H:%M:%S)" "$*" >&2; }

# die MESSAGE [WHAT TO DO]
die() {
  printf '\nbuild.sh: %s\n' "$1" >&2
  [ -n "${2:-}" ] && printf '          %s\n' "$2" >&2
  exit 1
}

# run LOG COMMAND…: run a command quietly; when it fails, show the end of what it said and stop.
run() {
  local log=$1
  shift
  mkdir -p "$(dirname "$log")"
  if ! "$@" >>"$log" 2>&1 </dev/null; then
    tail -n 40 "$log" >&2
    die "'$1 ${2:-} ${3:-}' failed" "The whole log: $log"
  fi
}

stage_key() {
  local part
  for part in "$@"; do
    case $part in
    @*) (cd "${part#@}" 2>/dev/null && find . -type f -print0 | sort -z | xargs -0r sha256sum && find . -type f -perm -100 | sort) ||
      sha256sum <"${part#@}" ;;
    *) printf 'string %s\n' "$part" ;;
    esac
  done | sha256sum | cut -c1-24
}

stage() {
  local name=$1 key=$2 func=$3 root=$CISTERN_CACHE/stages started
  STAGE_DIR=$root/$name-$key
  mkdir -p "$root"
  exec {stage_lock}>"$root/.$name.lock"
  flock "$stage_lock"
  if [ ! -d "$STAGE_DIR" ]; then
    started=$SECONDS
    say "$name: building ($key)"
    find "$root" -maxdepth 1 -name "$name-*.tmp" -exec rm -rf {} +
    mkdir -p "$STAGE_DIR.tmp"
    # Not in an "if": set -e would be off inside the function.
    "$func" "$STAGE_DIR.tmp"
    mv -T "$STAGE_DIR.tmp" "$STAGE_DIR"
    say "$name: done in $((SECONDS - started)) s, $(du -sh "$STAGE_DIR" | cut -f1)"
    # shellcheck disable=SC2012 # the names are ours: letters, digits and dashes
    ls -dt "$root/$name"-* | tail -n +$((KEEP_STAGES + 1)) | xargs -r rm -rf
  else
    touch "$STAGE_DIR"
  fi
  exec {stage_lock}>&-
}
