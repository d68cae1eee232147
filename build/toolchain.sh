#!/usr/bin/env bash
# What the machine must have: packages of its own, the Go that go.mod asks for, and Node with all that package-lock.json
# pins. For build.sh, which sources it after image/common/stage.sh.

# need COMMAND:PACKAGE…: install the packages whose command is missing
need() {
  local pair missing=()
  for pair in "$@"; do
    case ${pair%%:*} in
    /*) [ -e "${pair%%:*}" ] || missing+=("${pair#*:}") ;;
    *) PATH=$PATH:/usr/sbin:/sbin command -v "${pair%%:*}" >/dev/null || missing+=("${pair#*:}") ;;
    esac
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  say "this machine lacks: ${missing[*]}"
  [ -z "${CISTERN_NO_INSTALL:-}" ] || die "CISTERN_NO_INSTALL is set" "Install them with: apt-get install ${missing[*]}"
  command -v apt-get >/dev/null || die "there is no apt-get here" "Install these by hand: ${missing[*]}"
  local sudo=()
  [ "$(id -u)" = 0 ] || sudo=(sudo)
  say "installing them with apt-get"
  mkdir -p "$CISTERN_CACHE/log"
  run "$CISTERN_CACHE/log/apt.log" "${sudo[@]}" apt-get update
  # Programs are wanted, not services: a policy of "no" keeps the packages from starting theirs.
  local policy=/usr/sbin/policy-rc.d made=
  if [ ! -e $policy ]; then
    printf '#!/bin/sh\nexit 101\n' | "${sudo[@]}" tee $policy >/dev/null
    "${sudo[@]}" chmod +x $policy
    made=1
  fi
  local status=0
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}" >>"$CISTERN_CACHE/log/apt.log" 2>&1 </dev/null || status=$?
  [ -z "$made" ] || "${sudo[@]}" rm -f $policy
  [ $status = 0 ] || {
    tail -n 20 "$CISTERN_CACHE/log/apt.log" >&2
    die "apt-get could not install: ${missing[*]}" "The whole log: $CISTERN_CACHE/log/apt.log"
  }
}

as_root() {
  [ "$(id -u)" = 0 ] || die "'$1' needs root: the image is made in a chroot" "Run: sudo ./build.sh $1"
}

# Go: the version that go.mod asks for. A Go of 1.21 or newer fetches it by itself as a module; an older one (Debian
# 12) is told to fetch that module, and the toolchain in it is used.
toolchain_go() {
  need go:golang-go git:git /etc/ssl/certs/ca-certificates.crt:ca-certificates
  local have want
  have=$(go env GOVERSION 2>/dev/null | sed 's/^go//')
  want=$(sed -n 's/^go //p' services/go.mod)
  if [ "$(printf '%s\n%s\n' 1.21 "$have" | sort -V | head -n 1)" != 1.21 ]; then
    go_as_module() {
      say "Go $have is too old; fetching Go $want as a module"
      local module=golang.org/toolchain@v0.0.1-go$want.linux-amd64
      (cd / && run "$CISTERN_CACHE/log/go.log" env GO111MODULE=on go mod download "$module")
      cp -a "$(go env GOMODCACHE)/$module/." "$1/"
      chmod -R u+w "$1"
      # What newer Go does itself when it fetches a toolchain: modules carry no execute bits, and no nested go.mod.
      find "$1/bin" "$1/pkg/tool" -type f -exec chmod a+x {} +
      cp "$1/src/_go.mod" "$1/src/go.mod"
      cp "$1/src/cmd/_go.mod" "$1/src/cmd/go.mod"
    }
    stage go "$(stage_key "$want")" go_as_module
    PATH=$STAGE_DIR/bin:$PATH
  fi
  export GOTOOLCHAIN=auto
  # The same for programs, tests and vet, so that each package is compiled once: Go's cache keeps what was built with other
  # flags apart. grpcnotrace leaves out gRPC's page of traces, with which the linker could leave out nothing else: six
  # megabytes of storaged.
  export GOFLAGS='-buildvcs=false -trimpath -tags=grpcnotrace' CGO_ENABLED=0
}

# Node and everything from npm: pinned in package-lock.json, Node 24 itself too (node_modules/.bin/node).
toolchain_node() {
  need npm:npm
  local lock
  lock=$(cat package-lock.json package.json ./*/package.json | sha256sum | cut -c1-24)
  if [ "$(cat node_modules/.cistern-lock 2>/dev/null)" != "$lock" ]; then
    say "npm: installing what package-lock.json pins"
    # No package runs a script of its own at its installation: none of those that are pinned needs it.
    run "$CISTERN_CACHE/log/npm.log" npm ci --ignore-scripts --no-audit --no-fund --cache "$CISTERN_CACHE/npm"
    echo "$lock" >node_modules/.cistern-lock
  fi
  PATH=$PWD/node_modules/.bin:$PATH
  # What Node has made of our TypeScript is kept: loading the management plane, as each file of its tests does, takes half as long.
  export NODE_COMPILE_CACHE=$CISTERN_CACHE/node
}
