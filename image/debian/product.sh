#!/usr/bin/env bash
# Cistern on top of the root file system: our binaries, the management plane, the pages, the units made from the SMF
# manifests, and the configuration files. Everything that a change in this repository changes.

# product_files ROOT PARTS VERSION: lay the product over ROOT. PARTS is the directory that build_product filled.
product_files() {
  local root=$1 parts=$2 version=$3
  local -x PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8
  unset TMPDIR
  mkdir -p "$root/opt/cistern"
  cp -a "$parts/." "$root/opt/cistern/"
  echo "$version" >"$root/opt/cistern/version"
  # Not etc/initramfs-tools: that went into the root file system's initramfs already, and is kept in step by its key.
  cp -a image/debian/files/. "$root/"
  ln -sf /opt/cistern/bin/cistern "$root/usr/bin/cistern"
  chroot "$root" groupadd --system --gid 515 cistern-support
  chroot "$root" useradd --system --uid 515 --gid 515 --groups cistern-web --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin cistern-support
  # Who comes in by ssh, while it is switched on: the shell is the program itself. “*” is no password, and yet not locked, as sshd has it.
  ln -sf cistern "$root/opt/cistern/bin/cistern-shell"
  chroot "$root" groupadd --system --gid 514 cistern-ssh
  chroot "$root" useradd --system --uid 514 --gid 514 --groups systemd-journal --password '*' --no-create-home --home-dir / --shell /opt/cistern/bin/cistern-shell cistern-ssh
  rm -f "$root"/etc/systemd/system/{nginx,snmpd}.service
  "$parts/bin/smf2systemd" --out "$root/etc/systemd/system" smf/manifest/*.xml
  rm "$root/opt/cistern/bin/smf2systemd"
  akd_compiled "$root"
  sed -f image/common/nginx/image.sed image/common/nginx/cistern.conf.in >"$root/etc/nginx/cistern.conf"
  cp image/common/nginx/cistern-store.conf image/common/nginx/cistern-asked.conf "$root/etc/nginx/"
  chown -R 0:0 "$root/opt/cistern" "$root/usr/lib/cistern" "$root/etc/systemd" "$root/etc/udev" "$root/etc/nginx" "$root/etc/snmp"
  chroot "$root" systemctl preset-all
  chroot "$root" systemctl mask systemd-udev-settle.service systemd-firstboot.service zfs-load-module.service zfs-import-cache.service zfs-import-scan.service \
    zfs-mount.service zfs-share.service getty@.service serial-getty@.service autovt@.service apt-daily.timer apt-daily-upgrade.timer
  # On serial ports as well: when there is one, udev starts it (usr/lib/udev/rules.d/99-zz-cistern-console.rules).
  chroot "$root" systemctl enable cistern-console@tty1.service cistern-install@tty1.path
}

# akd_compiled ROOT: what V8 compiles of akd until it is ready, beside the program and read-only as that is. Without it akd compiles at each
# start, and keeps 15 MB of what that took. V8 takes it only for the same options, which are those of the unit, and Node for the same user.
akd_compiled() {
  local root=$1 folder=/opt/cistern/akd/compile-cache work=/tmp/akd-compiled command id user tries=0
  command=$(sed -n 's/^ExecStart=//p' "$root/etc/systemd/system/cistern-akd.service")
  command=${command%%/akd.js*}/akd.js
  user=(setpriv --reuid=cistern --regid=cistern-web --clear-groups env "NODE_COMPILE_CACHE=$folder" NODE_ENV=production)
  mkdir -p "$root$work/run/akd" "$root$work/state" "$root$folder"
  chroot "$root" chown -R cistern "$work" "$folder"
  # shellcheck disable=SC2086 # words of a unit's command line
  chroot "$root" "${user[@]}" $command --platform sim --run "$work/run" --state "$work/state" --places-file "$work/places" \
    --setup-code-file "$work/code" --cistern "$work/none" >"$root$work/log" 2>&1 &
  id=$!
  until grep -q msg=ready "$root$work/log"; do
    if ! kill -0 "$id" || [ $((tries += 1)) -gt 600 ]; then die "akd does not start in the image" "$(tail -n 5 "$root$work/log")"; fi
    sleep 0.2
  done
  kill "$id"
  wait "$id" || true
  chmod -R a+rX "$root$folder"
  # shellcheck disable=SC2086
  chroot "$root" "${user[@]}" NODE_DEBUG_NATIVE=COMPILE_CACHE $command --version >"$root$work/log" 2>&1
  grep -q 'was accepted' "$root$work/log" || die "V8 does not take what it has compiled of akd" "$(grep -i compile "$root$work/log" | tail -n 5)"
  rm -rf "${root:?}$work"
}
