#!/usr/bin/env bash
# The root file system without Cistern in it: Debian's packages, our ZFS modules, users, and the initramfs. Cached; the
# product is laid over a copy of it (product.sh), so that a change in our own code does not cost a bootstrap.

ROOTFS_PACKAGES=systemd,systemd-sysv,systemd-resolved,chrony,udev,dbus,kmod,initramfs-tools,zstd,libpam-systemd
ROOTFS_PACKAGES+=,iproute2,iputils-ping,openssh-server,openssl,ca-certificates,tzdata,nginx-light,snmpd,snmp,smartmontools
ROOTFS_PACKAGES+=,systemd-coredump,fdisk,util-linux,procps,less,dosfstools,mtools,pciutils,libstdc++6,libatomic1,netbase,login,passwd,hostname,qrencode
# Its own service stays off: execd loads the rules.
ROOTFS_PACKAGES+=,nftables
# What the machine's hardware is asked with.
ROOTFS_PACKAGES+=,ipmitool,rasdaemon,ethtool,dmidecode,ledmon,sg3-utils

# DTrace is newer than this Debian: these packages, and no others, come from the next one.
ROOTFS_NEXT_SUITE=forky
# Its list may be so many days old, for apt looks at no end that it names (apt.sh).
ROOTFS_NEXT_DAYS=60
ROOTFS_NEXT_PACKAGES=dtrace,libdtrace2,libctf-nobfd0,libsframe3

# Fixed ids ≥ 500, the same on OmniOS (docs/ARCHITECTURE.md).
ROOTFS_USERS="cistern:510 cistern-store:511 cistern-trace:512 cistern-replicate:513"

rootfs() { # the stage: fills $1/root; needs $ZFS_DEB and $KERNEL
  local log=$CISTERN_CACHE/log/rootfs.log root=$1/root
  : >"$log"
  mkdir -p "$CISTERN_CACHE/work"
  debian_next_sources >"$CISTERN_CACHE/work/next.list"
  debian_next_preferences >"$CISTERN_CACHE/work/next.pref"
  rm -f "$CISTERN_CACHE/work/next.release"
  run "$log" debian_bootstrap "$root" trixie "main contrib non-free-firmware" "$ROOTFS_PACKAGES,$HARDWARE_PACKAGES,$ROOTFS_NEXT_PACKAGES" \
    --setup-hook="cp '$CISTERN_CACHE/work/next.list' \"\$1/etc/apt/sources.list.d/\" && cp '$CISTERN_CACHE/work/next.pref' \"\$1/etc/apt/preferences.d/next\"" \
    --dpkgopt=path-exclude='/usr/share/doc/*' --dpkgopt=path-include='/usr/share/doc/*/copyright' \
    --dpkgopt=path-exclude='/usr/share/man/*' --dpkgopt=path-exclude='/usr/share/locale/*' --dpkgopt=path-exclude='/usr/share/info/*' \
    --dpkgopt=force-confold \
    --essential-hook='mkdir -p "$1/etc/initramfs-tools" "$1/etc/kernel" && echo update_initramfs=no >"$1/etc/initramfs-tools/update-initramfs.conf"' \
    --customize-hook="cp '$ZFS_DEB' \"\$1/tmp/zfs-modules.deb\" && cp \"\$1\"/var/lib/apt/lists/*_dists_${ROOTFS_NEXT_SUITE}_InRelease '$CISTERN_CACHE/work/next.release'" \
    --chrooted-customize-hook="DEBIAN_FRONTEND=noninteractive apt-get -y -o Dpkg::Options::=--force-confold install linux-image-$KERNEL /tmp/zfs-modules.deb zfsutils-linux zfs-zed && rm /tmp/zfs-modules.deb"
  # Which day that is stands in the image's image.cfg (disk.sh). Kept aside above: mmdebstrap leaves no lists behind.
  debian_release_age "$CISTERN_CACHE/work/next.release" "$ROOTFS_NEXT_SUITE" "$ROOTFS_NEXT_DAYS" >"$1/next-made"
  run "$log" rootfs_settle "$root"
}

# debian_next_sources → the next suite of the same archive, without its security updates: it has none of its own yet
debian_next_sources() { debian_sources "$ROOTFS_NEXT_SUITE" main | sed -n 1p; }

# debian_next_preferences → apt's rules by which nothing else of it is chosen
debian_next_preferences() {
  printf 'Package: *\nPin: release n=%s\nPin-Priority: 100\n\n' "$ROOTFS_NEXT_SUITE"
  printf 'Package: %s\nPin: release n=%s\nPin-Priority: 990\n' "${ROOTFS_NEXT_PACKAGES//,/ }" "$ROOTFS_NEXT_SUITE"
}

# Packages of which nothing that runs here needs anything, though others depend on them: Python is for zfsutils' reports, Perl's
# modules and sqlite3 for rasdaemon's. perl-base stays, and the library that snmpd is linked with. The first one is removed by
# a program of the others.
ROOTFS_UNUSED=(python3 'libpython3*' python3-minimal 'python3.*' perl perl-modules-5.40 libdbi-perl libdbd-sqlite3-perl sqlite3)

# rootfs_unused ROOT: remove them, and what is left without its interpreter. The sources of udev's database go as well: it is compiled.
rootfs_unused() {
  local root=$1
  chroot "$root" dpkg --purge --force-depends "${ROOTFS_UNUSED[0]}"
  # The patterns are dpkg-query's.
  chroot "$root" dpkg-query -W -f '${Package}\n' "${ROOTFS_UNUSED[@]:1}" 2>/dev/null | chroot "$root" xargs dpkg --purge --force-depends
  rm -rf "$root"/usr/lib/x86_64-linux-gnu/perl "$root"/usr/sbin/ras-mc-ctl "$root"/usr/lib/systemd/system/ras-mc-ctl.service
  (cd "$root" && grep -rlI '^#!.*python' usr/bin usr/sbin | xargs -r rm)
  [ -s "$root/usr/lib/udev/hwdb.bin" ] || die "udev's database is not compiled"
  rm -rf "$root"/usr/lib/udev/hwdb.d
}

rootfs_settle() {
  local root=$1 user
  local -x PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8
  unset TMPDIR
  chroot "$root" groupadd --system --gid 520 cistern-web
  for user in $ROOTFS_USERS; do
    chroot "$root" groupadd --system --gid "${user#*:}" "${user%:*}"
    chroot "$root" useradd --system --uid "${user#*:}" --gid "${user#*:}" --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin "${user%:*}"
  done
  chroot "$root" usermod -aG cistern,cistern-web cistern
  chroot "$root" usermod -aG cistern-web www-data
  chroot "$root" usermod -aG cistern-web cistern-store
  chroot "$root" usermod -aG cistern-web cistern-trace
  # What must be this machine's own is made at first boot; nothing of the build machine stays.
  rm -f "$root"/etc/ssh/ssh_host_* "$root"/etc/hostname "$root"/etc/resolv.conf "$root"/etc/apt/sources.list "$root"/etc/apt/sources.list.d/next.list "$root"/etc/apt/preferences.d/next "$root"/etc/apt/apt.conf.d/99mmdebstrap
  rm -rf "$root"/var/lib/apt/lists/* "$root"/var/cache/* "$root"/var/log/* "$root"/tmp/* "$root"/var/lib/dbus/machine-id
  # Scripts of another age that load what udev loads, and wait for it.
  rm -f "$root"/etc/init.d/{openipmi,ipmievd}
  rm -f "$root"/etc/nginx/sites-enabled/default "$root"/etc/localtime "$root"/etc/timezone
  ln -s ../run/systemd/resolve/stub-resolv.conf "$root/etc/resolv.conf"
  ln -s /usr/share/zoneinfo/Etc/UTC "$root/etc/localtime"
  : >"$root/etc/machine-id"
  : >"$root/etc/fstab"
  echo zfs >"$root/etc/modules-load.d/zfs.conf"
  cp -a image/debian/files/etc/initramfs-tools "$root/etc/"
  sed -i 's/^MODULES=.*/MODULES=list/; s/^COMPRESS=.*/COMPRESS=zstd/' "$root/etc/initramfs-tools/initramfs.conf"
  # shellcheck disable=SC2086 # a list
  printf '%s\n' $HARDWARE_BOOT >"$root/etc/initramfs-tools/modules"
  # For every processor, not just for the one that this is built on.
  sed -i 's/^#\?IUCODE_TOOL_INITRAMFS=.*/IUCODE_TOOL_INITRAMFS=early/; s/^#\?IUCODE_TOOL_SCANCPUS=.*/IUCODE_TOOL_SCANCPUS=no/' "$root/etc/default/intel-microcode"
  sed -i 's/^#\?AMD64UCODE_INITRAMFS=.*/AMD64UCODE_INITRAMFS=early/' "$root/etc/default/amd64-microcode"
  hardware_settle "$root"
  chroot "$root" depmod "$KERNEL"
  sed -i 's/update_initramfs=no/update_initramfs=all/' "$root/etc/initramfs-tools/update-initramfs.conf"
  chroot "$root" update-initramfs -c -k "$KERNEL"
  rootfs_unused "$root"
  mkdir -p "$root/srv/telemetry" "$root/var/lib/cistern" "$root/opt/cistern"
}
