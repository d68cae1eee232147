#!/usr/bin/env bash
# The OmniOS payload, as far as it can be made on Linux: what turns a stock OmniOS into the appliance.
#
#   makes   $IMAGE_DIR/cistern-VERSION-omnios-payload.tar.zst and packages/*.p5m
#   needs   Go, node_modules, zstd; $OMNIOS_PARTS filled by omnios_parts (no root, nothing of Debian)

. image/common/stage.sh

# The oldest OmniOS that the packages are for (an LTS).
OMNIOS_RELEASE=151054
OMNIOS_PARTS=$PWD/out/omnios-parts

omnios_image() { # VERSION
  VERSION=$1
  omnios_parts
  stage omnios "$(stage_key "$VERSION" "$OMNIOS_RELEASE" "@$OMNIOS_PARTS" @image/omnios)" omnios_payload
  # shellcheck disable=SC2034 # for build.sh
  IMAGE_DIR=$STAGE_DIR
}

# omnios_parts: the tree of files as it will lie on OmniOS
omnios_parts() {
  local tree=$OMNIOS_PARTS opt=$OMNIOS_PARTS/opt/cistern command
  say "building our own parts for illumos"
  toolchain_go
  toolchain_node
  rm -rf "$tree"
  mkdir -p "$opt/bin" "$opt/lib/nginx-dtrace" "$tree/usr/lib/dtrace" "$tree/lib/svc/manifest/application/cistern" "$tree/lib/svc/method"
  (cd services && GOOS=illumos GOARCH=amd64 go build -ldflags "-s -w -X main.version=$VERSION" -o "$opt/bin/" ./cmd/...)
  rm "$opt/bin/"{smf2systemd,installer} # for the Debian image
  build_pages "$opt"
  build_commands "$opt/command-line" illumos-amd64 "$opt/bin/cistern"
  # Node itself is OmniOS' own. akd is one file of JavaScript: nothing in it may be for another system.
  command=$(find "$opt/akd" "$opt/ui" \( -name '*.node' -o -name '*.so' \) -print)
  [ -z "$command" ] || die "the management plane has programs of another system in it: $command"
  cp LICENSE "$opt/"
  echo "$VERSION" >"$opt/version"
  cp image/omnios/{selftest,calls} "$opt/lib/"
  # A module for illumos' nginx cannot be built here: its source, and what builds it there.
  cp services/nginx-dtrace/{README.md,config,conninfo.d,httpproto.h,ngx_http_dtrace_module.c,probes.d} "$opt/lib/nginx-dtrace/"
  cp image/omnios/nginx-modules "$opt/lib/nginx-dtrace/build"
  cp services/nginx-dtrace/http.d "$tree/usr/lib/dtrace/"
  cp smf/manifest/*.xml smf/illumos/*.xml "$tree/lib/svc/manifest/application/cistern/"
  cp smf/method/* "$tree/lib/svc/method/"
  cp -R image/omnios/files/. "$tree/"
  sed -f image/common/nginx/omnios.sed image/common/nginx/cistern.conf.in >"$tree/etc/opt/cistern/nginx.conf"
  cp image/common/nginx/cistern-store.conf image/common/nginx/cistern-asked.conf "$tree/etc/opt/cistern/"
  command=$(grep -v '^ *#' "$tree/etc/opt/cistern/nginx.conf" | grep -o '@[A-Z0-9_]*@' | sort -u) || true # none is found
  [ -z "$command" ] || die "the web server's configuration has placeholders left: $command" "Give them a value in image/common/nginx/omnios.sed."
}

omnios_payload() { # the stage: fills $1
  local name=cistern-$VERSION-omnios folder=$1/work/cistern-$VERSION-omnios
  mkdir -p "$folder"
  node image/omnios/packages.ts "$VERSION" "$OMNIOS_RELEASE" "$OMNIOS_PARTS" "$folder" || die "the packages do not fit the files"
  cp -a "$OMNIOS_PARTS" "$folder/tree"
  cp image/omnios/{install,native,initialboot} "$folder/"
  echo "$VERSION" >"$folder/version"
  cp -a "$folder/packages" "$1/packages"
  # Nothing of the machine that made it: no names, no times of its files.
  tar -C "$1/work" --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 --format=ustar -cf - "$name" | zstd -q -T0 -10 -o "$1/$name-payload.tar.zst"
  rm -rf "$1/work"
}
