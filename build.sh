#!/usr/bin/env bash
# Cistern's one entry point: ./build.sh help
set -Eeuo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
. image/common/stage.sh
. build/toolchain.sh
. build/parts.sh
. build/bench.sh

usage() {
  cat <<'TEXT'
./build.sh VERB
  image              make the bootable image (out/image/: raw.zst, qcow2, vmdk); --os omnios: what can be made on Linux for
                     OmniOS (out/omnios/: the payload that turns a stock OmniOS into the appliance, and its IPS manifests);
                     on OmniOS, with that payload in out/omnios/: the bootable image (see image/omnios/native for options)
  run                boot it under QEMU with four data disks; prints the URL and the set-up code
  dev                the whole product natively on this machine, with the simulated platform, for working on it
  test [PART…]       lint, unit, browser, vm (all of them without a PART); ends with "N passed, N failed"
  test PART FILE [NAME]
                     one file, and those of its tests that the pattern NAME matches; parts with files: go PACKAGE, kit, ui,
                     browser, vm, omnios, run; test changed: what differs from main touches; --stress N: N times under
                     load, and how often each failed (docs/TESTING.md)
  bench [PART…]      measure: image, nginx, storage, alerts, alert-log, store, why, storaged, analytics, views, support, access (all of them without a PART), beside what is asked for;
                     --no-cold leaves out the image build with an empty cache;
                     storaged: Cistern and its peers in one run, into tests/bench/RESULTS.md; --quick, --only NAME,…,
                     --repeats N, --minutes N (of the section names), --profile DIR (CPU profiles of storaged), --temp DIR (where the data lie)
  nightly            what takes hours, in parts of at most --minutes M (60) each: fuzz, crash, hostile, soak, access, race, clients, vm, image, browser; --only PART
  prepare WHAT       what tests start from, as the test run makes it: tools PART…, programs, pages, image, omnios, machines,
                     prometheus, schemathesis
  generate           writes what is made from the code and checked in: OpenAPI and its types, printed tables, the bundle's viewer
  screenshots        the README's pictures (docs/screenshots/), out of those that `test browser` has left in out/screenshots/
  clean              remove out/, node_modules and the caches under ~/.cache/cistern
  help               this text
It installs what it lacks with apt-get, after saying what. Environment: CISTERN_CACHE (cache directory),
CISTERN_KERNEL_FLAVOUR (amd64; cloud-amd64: smaller, for virtual machines only), CISTERN_MOK_KEY and CISTERN_MOK_CERT (the private key
and the certificate that the kernel modules are signed with; without them a key is made in the cache), CISTERN_NO_INSTALL=1 (say what is missing and stop).
TEXT
}

# verb_prepare: what the test run asks for before its tests, each of it once
verb_prepare() {
  local what=${1:-}
  [ $# = 0 ] || shift
  case $what in
  tools) test_tools "$@" ;;
  programs) build_go ;;
  pages) toolchain_go && toolchain_node && node tests/stack/build.ts --pages ;;
  image) verb_image ;;
  omnios) verb_image --os omnios ;;
  machines) toolchain_node && saved_machines ;;
  prometheus) prometheus_program ;;
  schemathesis) schemathesis_program ;;
  *) die "there is nothing called '$what' to prepare" "There is: tools programs pages image omnios machines prometheus schemathesis" ;;
  esac
}

# test_tools PART…: the packages that the parts of a test run need
test_tools() {
  local part wanted=()
  for part in "$@"; do
    case $part in
    lint) wanted+=(shellcheck:shellcheck xmllint:libxml2-utils jq:jq ksh93:ksh93u+m smilint:smitools) ;;
    go) wanted+=(/usr/sbin/sshd:openssh-server jq:jq sfdisk:fdisk mcopy:mtools nft:nftables ip:iproute2 nsenter:util-linux ping:iputils-ping systemd-analyze:systemd) ;;
    kit) wanted+=(openssl:openssl /usr/sbin/snmptrapd:snmptrapd /usr/sbin/snmpd:snmpd snmptrap:snmp zstd:zstd
      /usr/sbin/rsyslogd:rsyslog /usr/lib/x86_64-linux-gnu/rsyslog/lmnsd_ossl.so:rsyslog-openssl
      javac:default-jdk-headless cc:gcc /usr/include/stdlib.h:libc6-dev python3:python3) ;;
    omnios) wanted+=(ksh93:ksh93u+m zstd:zstd) ;;
    browser)
      wanted+=(chromium-headless-shell:chromium-headless-shell /usr/sbin/nginx:nginx-light openssl:openssl fc-list:fontconfig
        /usr/share/fonts/truetype/dejavu:fonts-dejavu-core)
      ;;
    vm)
      as_root 'test vm'
      wanted+=(chromium-headless-shell:chromium-headless-shell ssh:openssh-client zstd:zstd openssl:openssl /usr/sbin/snmptrapd:snmptrapd snmpwalk:snmp
        /usr/sbin/rsyslogd:rsyslog /usr/lib/x86_64-linux-gnu/rsyslog/lmnsd_ossl.so:rsyslog-openssl
        /usr/share/fonts/truetype/dejavu:fonts-dejavu-core ipmi_sim:openipmi "${IMAGE_TOOLS[@]}")
      ;;
    race) wanted+=(gcc:gcc /usr/include/stdlib.h:libc6-dev) ;;
    samba) wanted+=(/usr/sbin/samba:samba /usr/share/samba/setup/provision.ldif:samba-ad-provision
      /usr/lib/x86_64-linux-gnu/samba/ldb/samba_secrets.so:samba-dsdb-modules /usr/lib/x86_64-linux-gnu/samba/vfs/acl_xattr.so:samba-vfs-modules unshare:util-linux ip:iproute2) ;;
    esac
  done
  need "${wanted[@]}"
}

# runner PROGRAM ARGUMENT…: a program of tests/run, with Go and Node found
runner() {
  toolchain_go
  toolchain_node
  # nohup has SIGHUP ignored; Node would mind it again.
  case $(sed -n 's/^SigIgn:[[:space:]]*//p' "/proc/$$/status" 2>/dev/null) in
  *[13579bdf]) export CISTERN_NOHUP=1 ;;
  esac
  exec node "tests/run/$1.ts" "${@:2}"
}

verb_test() { runner main "$@"; }
verb_nightly() { runner nightly "$@"; }

verb_dev() {
  say "looking for what it needs: nginx, openssl, Go, Node"
  need /usr/sbin/nginx:nginx-light openssl:openssl
  toolchain_go
  toolchain_node
  exec node tests/stack/dev.ts "$@"
}

# verb_screenshots: the README's pictures; what a browser test took, under the name that says what it shows
verb_screenshots() {
  local pair from
  for pair in status:status-light-1440 worksheet:analytics-worksheet-dark-1440 heatmap:analytics-heatmap-hover-light-1440 \
    alerts:alerts-active-dark-1440 pool:pool-degraded-light-1440 phone:status-dark-390; do
    from=out/screenshots/${pair#*:}.png
    [ -f "$from" ] || die "there is no $from" "Run CISTERN_VARIANTS=1 ./build.sh test browser first: its tests take the pictures."
    install -D -m 0644 "$from" "docs/screenshots/${pair%%:*}.png"
  done
  say "docs/screenshots: $(du -cb docs/screenshots/*.png | tail -n 1 | cut -f1) bytes"
}

# verb_generate: what is written from the code and checked in
verb_generate() {
  toolchain_go
  toolchain_node
  node appliance-kit/scripts/write-openapi.ts
  node appliance-kit/scripts/write-docs.ts
  npm run --silent generate -w ui
  (cd services && go test ./daemon/problem -update && CISTERN_UPDATE=1 go test ./platform/illumos/commands/fake)
}

verb_run() {
  need ssh:openssh-client
  verb_image
  exec node tests/vm/run.ts "$@"
}

verb=${1:-help}
[ $# -eq 0 ] || shift
case $verb in
image | run | dev | test | bench | nightly | prepare | generate | screenshots) "verb_$verb" "$@" ;;
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
