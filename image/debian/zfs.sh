#!/usr/bin/env bash
# The ZFS kernel modules, built from Debian's zfs-dkms source for the image's kernel, as one small package that
# "Provides: zfs-modules" (without it zfs-zed drags dkms and a compiler into the image).

# cloud-amd64 is smaller, and starts on a hypervisor's own devices only.
ZFS_FLAVOUR=${CISTERN_KERNEL_FLAVOUR:-amd64}

# zfs_versions: sets KERNEL (release), KERNEL_VERSION (package version), ZFS_VERSION from the archive as it is now
zfs_versions() {
  run "$CISTERN_CACHE/log/apt-update.log" in_tools apt-get update
  KERNEL=$(in_tools apt-cache depends "linux-image-$ZFS_FLAVOUR" | sed -n 's/.*Depends: linux-image-\([^ ]*\)$/\1/p' | head -n 1)
  KERNEL_VERSION=$(in_tools apt-cache policy "linux-image-$KERNEL" | sed -n 's/.*Candidate: //p')
  ZFS_VERSION=$(in_tools apt-cache policy zfs-dkms | sed -n 's/.*Candidate: //p')
  if [ -z "$KERNEL" ] || [ -z "$ZFS_VERSION" ]; then
    die "the archive has no kernel or no ZFS for '$ZFS_FLAVOUR'" "Is 'contrib' there? Try 'apt-get update' and again."
  fi
}

zfs_modules() { # the stage: fills $1 with cistern-zfs-modules.deb
  local out=$1 tree=/tmp/zfs-build log=$CISTERN_CACHE/log/zfs.log source build
  : >"$log"
  rm -rf "${TOOLS:?}$tree"
  mkdir -p "$TOOLS$tree/debs" "$TOOLS$tree/root"
  run "$log" in_tools sh -c 'cd "$1/debs" && shift && exec apt-get -o APT::Sandbox::User=root download "$@"' sh "$tree" \
    "linux-headers-$KERNEL" "$(in_tools apt-cache depends "linux-headers-$KERNEL" | sed -n 's/.*Depends: \(linux-headers-.*-common\)$/\1/p')" \
    "$(in_tools apt-cache depends "linux-headers-$KERNEL" | sed -n 's/.*Depends: \(linux-kbuild-[^ ]*\)$/\1/p')" zfs-dkms
  local deb
  for deb in "$TOOLS$tree"/debs/*.deb; do run "$log" in_tools dpkg -x "$tree/debs/$(basename "$deb")" "$tree/root"; done
  # The headers' makefiles name absolute places; give them those places inside the tools tree.
  cp -a "$TOOLS$tree/root/usr/src/." "$TOOLS/usr/src/"
  cp -a "$TOOLS$tree/root/usr/lib/." "$TOOLS/usr/lib/"
  source=/lib/modules/$KERNEL/source
  build=/lib/modules/$KERNEL/build
  cp -a "$TOOLS"/usr/src/zfs-[0-9]* "$TOOLS$tree/src"
  say "zfs: configure (about 5 minutes)"
  run "$log" in_tools sh -c 'cd "$1/src" && { [ -x configure ] || sh autogen.sh; } && exec ./configure --with-config=kernel --with-linux="$2" --with-linux-obj="$3" KERNEL_CC=gcc-14 CC=gcc-14' \
    sh "$tree" "$source" "$build"
  say "zfs: make (about 7 minutes)"
  run "$log" in_tools sh -c 'cd "$1/src" && exec make -j"$2"' sh "$tree" "$(nproc)"
  local package=$TOOLS$tree/package
  mkdir -p "$package/DEBIAN" "$package/usr/lib/modules/$KERNEL/extra"
  cp "$TOOLS$tree"/src/module/{spl,zfs}.ko "$package/usr/lib/modules/$KERNEL/extra/"
  run "$log" in_tools sh -c 'exec strip --strip-debug "$1"/spl.ko "$1"/zfs.ko' sh "$tree/package/usr/lib/modules/$KERNEL/extra"
  cat >"$package/DEBIAN/control" <<CONTROL
Package: cistern-zfs-modules
Version: $ZFS_VERSION+$KERNEL_VERSION
Architecture: amd64
Maintainer: Cistern
Provides: zfs-modules
Depends: linux-image-$KERNEL
Description: OpenZFS kernel modules for $KERNEL
CONTROL
  run "$log" in_tools dpkg-deb -Zxz --root-owner-group --build "$tree/package" "$tree/cistern-zfs-modules.deb"
  cp "$TOOLS$tree/cistern-zfs-modules.deb" "$out/"
  rm -rf "${TOOLS:?}$tree"
}
