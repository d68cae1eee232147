#!/usr/bin/env bash
# The Debian image, as an ordered list of steps. Each is a cached stage (image/common/stage.sh) keyed by what it is
# made of; a change in our code only costs the last one.
#
#   makes   $IMAGE_DIR/cistern-VERSION-debian-amd64.{raw.zst,iso,qcow2,vmdk,vhdx,ova}, their SHA256SUMS, and .manifest
#   needs   root, mmdebstrap, Go, node_modules; $PARTS filled by build_parts (build.sh)

. image/common/stage.sh
. image/debian/apt.sh
. image/debian/tools.sh
. image/debian/zfs.sh
. image/debian/secureboot.sh
. image/debian/hardware.sh
. image/debian/rootfs.sh
. image/debian/nginx_dtrace.sh
. image/debian/product.sh
. image/debian/disk.sh
. image/debian/iso.sh
. image/debian/formats.sh

tools() {
  stage tools "$(stage_key "$TOOLS_PACKAGES" @image/debian/tools.sh)" tools_tree
  TOOLS=$STAGE_DIR/root
}

debian_image() { # VERSION
  VERSION=$1
  tools
  zfs_versions
  stage zfs "$(stage_key "$KERNEL" "$KERNEL_VERSION" "$ZFS_VERSION" @image/debian/zfs.sh)" zfs_modules
  ZFS_DEB=$STAGE_DIR/cistern-zfs-modules.deb
  # The month is part of the key: a root file system older than that lacks security updates.
  stage rootfs "$(stage_key "$(date +%Y-%m)" "$ZFS_DEB" "$ROOTFS_PACKAGES" @image/debian/rootfs.sh @image/debian/hardware.sh @image/debian/apt.sh @image/debian/files/etc/initramfs-tools)" rootfs
  ROOTFS=$STAGE_DIR/root
  stage nginx-dtrace "$(stage_key "$ROOTFS" @image/debian/nginx_dtrace.sh @services/nginx-dtrace)" nginx_dtrace
  NGINX_DTRACE=$STAGE_DIR
  secureboot_versions
  stage secureboot "$(stage_key "${SECUREBOOT_PACKAGES[@]}" @image/debian/secureboot.sh)" secureboot_files
  SECUREBOOT=$STAGE_DIR
  mok_key
  build_parts
  stage image "$(stage_key "$ROOTFS" "$NGINX_DTRACE" "$SECUREBOOT" "$MOK_FINGERPRINT" "$VERSION" "@$PARTS" @image/debian @image/common @smf/manifest)" debian_disk
  # shellcheck disable=SC2034 # for build.sh
  IMAGE_DIR=$STAGE_DIR
}

debian_disk() { # the stage: fills $1
  local work=$CISTERN_CACHE/work/root name=$1/cistern-$VERSION-debian-amd64
  rm -rf "$work"
  mkdir -p "$(dirname "$work")"
  cp -a "$ROOTFS" "$work"
  : >"$CISTERN_CACHE/log/product.log"
  run "$CISTERN_CACHE/log/product.log" product_files "$work" "$PARTS" "$VERSION"
  nginx_dtrace_files "$work" "$NGINX_DTRACE"
  sign_modules "$work"
  image_check "$work"
  disk_squashfs "$work" "$1/system.squashfs"
  disk_image "$work" "$1/system.squashfs" "$1/disk.raw" "$VERSION"
  disk_iso "$1/system.squashfs" "$1/disk.raw" "$name.iso"
  image_files "$1/disk.raw" "$name" "$VERSION"
  {
    echo "Cistern $VERSION, Debian image, made $(date -u +%Y-%m-%dT%H:%M:%SZ)"
    echo "kernel $KERNEL_VERSION, OpenZFS $ZFS_VERSION"
    echo "for Secure Boot: ${SECUREBOOT_PACKAGES[*]:0:3}"
    echo "kernel modules signed with the key SHA-256 $MOK_FINGERPRINT"
    echo "system image SHA-256 $(sha256sum "$1/system.squashfs" | cut -d' ' -f1)"
    cat "$1/SHA256SUMS"
    echo
    echo "firmware that a kernel module names and that is not in the image"
    hardware_wanting "$work"
    echo
    chroot "$work" dpkg-query -W
  } >"$name.manifest"
  rm -rf "$work" "$1/disk.raw" "$1/system.squashfs"
}

# image_check ROOT: what a shipped image must never hold
image_check() {
  local root=$1 bad
  bad=$(cd "$root" && find etc/ssh -name 'ssh_host_*' && find root -name authorized_keys && find var/lib/cistern -type f)
  [ -z "$bad" ] || die "the image would hold keys or state: $bad"
  [ ! -s "$root/etc/machine-id" ] || die "the image would hold a machine id"
  bad=$(awk -F: '$2 !~ /^[!*]/ {print $1}' "$root/etc/shadow")
  [ -z "$bad" ] || die "the image would hold a password for: $bad"
}
