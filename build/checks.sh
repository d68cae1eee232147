#!/usr/bin/env bash
# build/checks.sh NAME: one check of `./build.sh test lint`, in the environment that build.sh makes (Go and Node found).
# tests/run/checks.ts lists them.
set -Eeuo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# shell_files [SHELL]: the scripts of bash and sh, or of another shell
shell_files() { git ls-files -co --exclude-standard | while read -r f; do [ -f "$f" ] && head -c 64 "$f" | grep -aqE "^#!.*(${1:-bash|/sh})" && echo "$f"; done; }

shellcheck_bash() {
  local files
  mapfile -t files < <(shell_files)
  shellcheck -x -S warning "${files[@]}"
}

shellcheck_ksh() {
  local files
  mapfile -t files < <(shell_files ksh93)
  shellcheck -s ksh -S warning "${files[@]}"
}

shfmt() {
  local files difference
  mapfile -t files < <(shell_files)
  difference=$(cd services && go tool shfmt -i 2 -d "${files[@]/#/../}")
  [ -z "$difference" ] || {
    printf '%s\n' "$difference"
    return 1
  }
}

ksh_syntax() {
  local file said bad=0
  while read -r file; do
    said=$(ksh93 -n "$file" 2>&1) && [ -z "$said" ] || {
      echo "$file: $said"
      bad=1
    }
  done < <(shell_files ksh93)
  return $bad
}

gofmt_all() {
  local files
  files=$(gofmt -l services tests)
  [ -z "$files" ] || {
    printf '%s\n' "$files"
    return 1
  }
}

openapi() {
  node appliance-kit/scripts/write-openapi.ts
  git diff --exit-code --stat appliance-kit/openapi.json
}

# smilint prints its complaints and ends with 0 all the same
mib_is_clean() {
  local said
  said=$(SMIPATH=appliance-kit/mib/base smilint -s -l 6 appliance-kit/mib/CISTERN-MIB.txt 2>&1) && [ -z "$said" ] || {
    echo "$said"
    return 1
  }
}

smf_well_formed() { xmllint --noout --nonet smf/manifest/*.xml smf/illumos/*.xml; }

# the hosts of this machine's package sources stand nowhere in the repository
no_hosts() {
  local host bad=0
  for host in $( (
    npm config get registry 2>/dev/null
    go env GOPROXY | tr ',|' '\n\n'
    apt-get indextargets --format '$(REPO_URI)' 2>/dev/null
  ) |
    sed -n 's#^https\{0,1\}://\([^/:]*\).*#\1#p' | sort -u); do
    if git grep -nF "$host" -- .; then bad=1; fi
  done
  return $bad
}

# Past 600 lines a file has a second concern. Generated: the page's types of the API.
files_are_short() {
  ! git ls-files -co --exclude-standard '*.go' '*.ts' '*.tsx' '*.css' '*.sh' '*.js' build.sh | grep -vxF ui/src/api/schema.d.ts |
    while read -r file; do [ ! -f "$file" ] || printf '%s %s\n' "$(wc -l <"$file")" "$file"; done | awk '$1 > 600' | grep .
}

# Whoever clones the repository fetches every picture that it ever had.
screenshots_small() {
  local bytes
  bytes=$(cat docs/screenshots/*.png | wc -c)
  [ "$bytes" -le 1500000 ] || {
    echo "docs/screenshots is $bytes bytes, more than 1.5 MB"
    return 1
  }
}

no_conflict_marks() { ! git grep -nE "^(<<<<<<<|>>>>>>>)( |$)" -- .; }

# The commits that are not on main yet. On main itself, or where there is no main: those since the check came to be.
commit_subjects() {
  local base='' ref introduction commit message bad=0
  introduction=$(git log --diff-filter=A --format=%H -- build/hooks/commit-msg | tail -n 1)
  [ -n "$introduction" ] || return 0
  for ref in main origin/main; do
    git rev-parse -q --verify "$ref^{commit}" >/dev/null || continue
    base=$(git merge-base "$ref" HEAD) && [ "$base" != "$(git rev-parse HEAD)" ] && break
    base=
  done
  message=$(mktemp)
  for commit in $(git rev-list --no-merges "${base:-$introduction}..HEAD" --); do
    # What was committed before the check, or beside it, could not know of it.
    git merge-base --is-ancestor "$introduction" "$commit" && [ "$commit" != "$introduction" ] || continue
    git log -1 --format=%B "$commit" >"$message"
    build/hooks/commit-msg "$message" || {
      echo "    in commit $(git log -1 --format='%h %an' "$commit")"
      bad=1
    }
  done
  rm -f "$message"
  return $bad
}

"$1"
