#!/usr/bin/env bash
# The tools tree: a small Debian 13 that holds what makes and boots the image (mksquashfs, mtools, GRUB, QEMU 10,
# OVMF, and the compiler for the ZFS modules), so that the build does not depend on the build machine's release.
# QEMU 7.2 of Debian 12 corrupts this guest under emulation; that alone is reason enough.

TOOLS_PACKAGES=ca-certificates,squashfs-tools,mtools,xorriso,fdisk,dosfstools,grub-pc-bin,grub-common,zstd,xz-utils,qemu-system-x86,qemu-utils,ovmf,seabios,gcc-14,make,libc6-dev,libelf-dev,pahole,bc,kmod,python3-minimal,perl-base,autoconf,automake,libtool,flex,bison,gawk,cpio

tools_tree() { # the stage: fills $1
  mkdir -p "$CISTERN_CACHE/log"
  run "$CISTERN_CACHE/log/tools.log" debian_bootstrap "$1/root" trixie "main contrib" "$TOOLS_PACKAGES" \
    --dpkgopt=path-exclude='/usr/share/doc/*' --dpkgopt=path-exclude='/usr/share/man/*' --dpkgopt=path-exclude='/usr/share/locale/*'
}

# in_tools COMMAND…: run a command inside the tools tree (chroot), with /work bound to nothing: hand files over by
# copying them to $TOOLS/tmp.
in_tools() { env -u TMPDIR LC_ALL=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin chroot "$TOOLS" "$@"; }

# tools_bin COMMAND ARGUMENT…: run a program of the tools tree on the build machine's own files, with the tree's
# loader and libraries.
tools_bin() {
  local program=$1
  shift
  "$TOOLS/usr/lib64/ld-linux-x86-64.so.2" --library-path "$TOOLS/usr/lib/x86_64-linux-gnu:$TOOLS/usr/lib/x86_64-linux-gnu/pulseaudio" "$TOOLS$program" "$@"
}

# qemu_env: what QEMU out of the tools tree needs beside its loader
qemu_env() { printf '%s\n' "QEMU_MODULE_DIR=$TOOLS/usr/lib/x86_64-linux-gnu/qemu"; }
