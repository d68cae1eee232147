#!/bin/sh
# The commands of OmniOS that image/omnios/native and initialboot call, over the folder $FAKE: each is a link to this file. They
# hold to the order that the real ones demand: a device before its pool, nothing exported while it is mounted, and so on.
#   lofi    DEVICE FILE        pools   a line each       datasets   NAME PROPERTIES
#   mounts  FOLDER DATASET     calls   what was called   be         what the boot environment holds while it is not mounted
# FAKE_FAIL_AT=N makes the Nth call fail; FAKE_KILL_AT=N ends the program (its id is in $FAKE/pid) with SIGKILL there.
set -u
name=${0##*/}
echo "$name $*" >>"$FAKE/calls"
read -r at <"$FAKE/at"
at=$((at + 1))
echo $at >"$FAKE/at"
[ "$at" != "${FAKE_FAIL_AT:-}" ] || {
  echo "$name: it fails" >&2
  exit 1
}
[ "$at" != "${FAKE_KILL_AT:-}" ] || {
  kill -9 "$(cat "$FAKE/pid")"
  exit 137
}
no() {
  echo "$name: $*" >&2
  exit 1
}
unknown() {
  echo "fake $name does not know: $*" >>"$FAKE/unknown"
  exit 99
}
last() {
  for last_one; do :; done
  echo "$last_one"
}
has() { grep -qxF -- "$2" "$FAKE/$1" 2>/dev/null; }          # FILE LINE
begins() { grep -qE -- "^$2( |\$)" "$FAKE/$1" 2>/dev/null; } # FILE FIRST-WORD
without() {                                                  # FILE FIRST-WORD
  awk -v first="$2" '$1 != first' "$FAKE/$1" >"$FAKE/$1.new" && /bin/mv "$FAKE/$1.new" "$FAKE/$1"
}
image() { # the root of the image, mounted
  awk '{print $1; exit}' "$FAKE/mounts"
}
# What the real one refuses is refused in its words. The rest are the same everywhere.
case $name in
mv | mkdir | ln | cp | chown | df | openssl | curl | zstd | qemu-img) ;;
*)
  "$FAKE_COMMAND" "$FAKE_TABLE" "$name" "$@"
  code=$?
  [ $code = 200 ] || exit $code
  ;;
esac
case $name in
uname) echo "${FAKE_UNAME:-SunOS}" ;;
zonename) echo "${FAKE_ZONE:-global}" ;;
id) echo "uid=${FAKE_UID:-0}(root) gid=0(root)" ;;
df) printf 'Filesystem 1024-blocks Used Available Capacity Mounted\nrpool 9999999 1 %s 1%% /\n' "${FAKE_FREE:-19000000}" ;;
chown) [ "$FAKE_RUNS_AS" != 0 ] || /bin/chown "$@" ;;
uuidgen) echo 9f4c2f0e-7a53-4b0e-8a55-0f6a1c7f1f11 ;;
mkfile) [ "$1" = -n ] && truncate -s 1M "$3" ;; # with holes, and smaller than asked for
lofiadm)
  case $# in
  0) echo 'Block Device             File                           Options' && cat "$FAKE/lofi" 2>/dev/null ;;
  *)
    case $1 in
    -l)
      [ -f "$3" ] || no "$3: no such file"
      echo "/dev/dsk/c7t1d0p0 $3 Labeled" >>"$FAKE/lofi"
      echo /dev/dsk/c7t1d0p0
      ;;
    -d)
      [ ! -s "$FAKE/pools" ] || no "$2: busy"
      : >"$FAKE/lofi"
      ;;
    *) unknown "$@" ;;
    esac
    ;;
  esac
  ;;
zpool)
  case $1 in
  list) has pools "$(last "$@")" ;;
  create)
    [ "$(last "$@")" = c7t1d0 ] && [ -s "$FAKE/lofi" ] || no "cannot open '$(last "$@")': no such device"
    case "$*" in "create -t cistern-native -B -R /"*" rpool c7t1d0") ;; *) unknown "$@" ;; esac
    ! has pools cistern-native || no "pool 'cistern-native' exists"
    echo cistern-native >>"$FAKE/pools"
    : >"$FAKE/datasets"
    ;;
  set) has pools "$3" && begins datasets "${2#bootfs=}" ;;
  export)
    [ ! -s "$FAKE/mounts" ] || no 'cannot unmount: busy'
    : >"$FAKE/pools"
    ;;
  status) printf '  pool: rpool\n state: ONLINE\nconfig:\n\n\tNAME      STATE     READ WRITE CKSUM\n\trpool     ONLINE       0     0     0\n\t  c1t0d0  ONLINE       0     0     0\n' ;;
  online) [ "$*" = 'online -e rpool c1t0d0' ] || unknown "$@" ;;
  reguid) [ "$*" = 'reguid rpool' ] || unknown "$@" ;;
  *) unknown "$@" ;;
  esac
  ;;
zfs)
  case $1 in
  create)
    dataset=$(last "$@")
    [ "${dataset%%/*}" = rpool ] || has pools "${dataset%%/*}" || no "no such pool '${dataset%%/*}'"
    ! begins datasets "$dataset" || no "dataset '$dataset' exists"
    echo "$dataset $*" >>"$FAKE/datasets"
    ;;
  set) begins datasets "$3" && echo "set $*" >>"$FAKE/properties" ;;
  list) begins datasets "$2" ;;
  *) unknown "$@" ;;
  esac
  ;;
mount)
  case $# in
  0) : ;;
  *)
    begins datasets "$3" && [ -d "$4" ] || no "$3: no such dataset"
    echo "$4 $3" >>"$FAKE/mounts"
    ;;
  esac
  ;;
umount)
  folder=$(last "$@")
  begins mounts "$folder" || exit 1
  /bin/rm -rf "$FAKE/be" && /bin/mkdir "$FAKE/be"
  (cd "$folder" && find . -mindepth 1 -maxdepth 1 -exec /bin/mv {} "$FAKE/be/" \;)
  without mounts "$folder"
  ;;
pkg)
  # Whatever it does upon an image may write down who asked a publisher.
  case $1 in -R) [ ! -d "$2/var/pkg" ] || printf '[property]\nversion = 4\n\n[publisher_omnios]\nlast_uuid = 0d1f9c2e-1\nprefix = omnios\n' >"$2/var/pkg/pkg5.image" ;; esac
  case "$*" in
  'publisher -H -F tsv') printf '%b' "${FAKE_PUBLISHERS:-omnios\ttrue\tfalse\ttrue\torigin\tonline\tfile:///core\t-\nextra.omnios\ttrue\tfalse\ttrue\torigin\tonline\tfile:///extra\t-\n}" ;;
  'image-create --full --publisher omnios=file:///core '*)
    [ "$5" = "$(image)" ] || no "$5 is not where the boot environment is mounted"
    /bin/mkdir -p "$5/var/pkg/cache"
    ;;
  "-R $(image) set-publisher -g file:///extra extra.omnios" | "-R $(image) change-variant opensolaris.zone=global" | "-R $(image) purge-history")
    [ "$3" != change-variant ] || exit 4
    ;;
  "-R $(image) install -q entire "*)
    root=$2
    for one in boot dev/cfg dev/dsk dev/rdsk dev/usb etc/inet etc/ssh etc/svc/profile lib/svc/seed lib/svc/manifest/system root usr/share/lib/xml/dtd; do
      /bin/mkdir -p "$root/$one"
    done
    printf 'root::6445::::::\nnobody:NP:6445::::::\nsshd:*LK*:::::::\n' >"$root/etc/shadow"
    echo 'hosts: files dns' >"$root/etc/nsswitch.dns"
    echo 'the seed' >"$root/lib/svc/seed/global.db"
    ;;
  "-R $(image) install -q -g "*" cistern")
    [ -s "$6" ] || no "$6: no such archive"
    /bin/mkdir -p "$2/etc/opt/cistern"
    ;;
  "-R $(image) list -H") echo 'entire 11-151054.0 i--' ;;
  *) unknown "$@" ;;
  esac
  ;;
pkgrepo)
  case $1 in create) /bin/mkdir "$2" ;; set) [ -d "$3" ] ;; *) unknown "$@" ;; esac
  ;;
pkgsend) # -s file://REPO publish -d TREE MANIFEST
  [ -d "${2#file://}" ] && [ -d "$5" ] && echo "$6" >>"${2#file://}/packages"
  ;;
pkgrecv) /bin/cp "${2#file://}/packages" "$5" ;; # -s file://REPO -a -d FILE '*'
devfsadm)
  [ "$2" = "$(image)" ] && echo leaked >"$2/dev/dsk/c9t9d9s0"
  ;;
svccfg)
  [ "$(cat "$SVCCFG_REPOSITORY")" = 'the seed' ] && [ "$*" = "import -p /dev/stdout $PKG_INSTALL_ROOT/lib/svc/manifest" ] || no 'not of the seed'
  case $SVCCFG_REPOSITORY in "$PKG_INSTALL_ROOT"*) no 'the repository is inside of the image' ;; esac
  echo 'and all manifests' >>"$SVCCFG_REPOSITORY"
  # engine_import of svccfg_engine.c: it names the manifests that failed on standard error, and ends with 0.
  echo 'svccfg: Loaded 212 smf(7) service descriptions' >&2
  [ -z "${FAKE_BAD_MANIFESTS:-}" ] || printf 'svccfg: couldn'\''t parse document\nsvccfg: %s smf(7) service descriptions failed to load\n' "$FAKE_BAD_MANIFESTS" >&2
  ;;
beadm)
  case $1 in
  list) printf '%s;4b2;NR;/;5000;static;1700000000\n' "${FAKE_BE:-omnios}" ;;
  activate) begins datasets "cistern-native/ROOT/$2" || no "$2 does not exist" ;;
  *) unknown "$@" ;;
  esac
  ;;
bootadm)
  case "$*" in
  "install-bootloader -M -f -P cistern-native -R $(image)") echo loader >"$(image)/boot/loader" ;;
  "update-archive -f -R $(image)") [ -f "$(image)/etc/svc/repository.db" ] && echo archive >"$(image)/boot/archive" ;;
  *) unknown "$@" ;;
  esac
  ;;
zstd | qemu-img)
  [ ! -s "$FAKE/lofi" ] || no 'the disk is in use'
  case $name in
  zstd) echo raw >"$(last "$@")" ;;
  qemu-img) echo "$3" >"$(last "$@")" ;;
  esac
  ;;
prtconf) echo "${FAKE_MEMORY:-16384}" ;;
swap | dumpadm | coreadm) : ;;
ipadm)
  # A link that nobody answers on is waited for: 120 s when nothing is said about it (DHCP_IPC_DEFAULT_WAIT). Counted, not slept.
  case "$*" in
  "create-addr -T dhcp -w 0 "*) ;;
  "create-addr -T dhcp "*) echo 120 >>"$FAKE/waited" ;;
  esac
  [ "$1" != "${FAKE_HANGS:-}" ] || exec sleep 2
  ;;
dladm) printf 'e1000g0\nigb1\nigb2\n' ;;
*) unknown "$@" ;;
esac
