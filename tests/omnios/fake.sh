#!/bin/sh
# The commands of OmniOS that the installer and the methods call, over the folder $FAKE: each is a link to this file.
#   root/      the system's tree        packages   installed ones, a line each
#   datasets   NAME MOUNTPOINT MADE     services   FMRI STATE
#   pools      imported ones, NAME      calls      what was called, a line each; at: how many they are
#   labels     NAME CACHEFILE [WHY NOT]: what is on the disks; which file lists it (none or cache), and what import says
#   unmounted  datasets of pools that were imported with -N, until zfs mount -a
# FAKE_KILL_AT=N ends the installer (its id is in $FAKE/pid) with SIGKILL at the Nth call, before it, or after it with
# FAKE_KILL_AFTER=1. Numbers and texts that tests change: FAKE_UNAME, FAKE_MACHINE, FAKE_ZONE, FAKE_PUBLISHERS, FAKE_FREE.
set -u
name=${0##*/}
root=$FAKE/root
trapped=
echo "$name $*" >>"$FAKE/calls"
read -r at <"$FAKE/at"
at=$((at + 1))
echo $at >"$FAKE/at"
if [ "$at" = "${FAKE_KILL_AT:-}" ]; then
  [ -n "${FAKE_KILL_AFTER:-}" ] || {
    kill -9 "$(cat "$FAKE/pid")"
    exit 137
  }
  trap 'kill -9 "$(cat "$FAKE/pid")"' EXIT
  trapped=yes
fi
# Those that are the same everywhere are by far the most calls: with no process more than there must be.
case $name in
mv | mkdir | ln | cp)
  [ -n "$trapped" ] || exec "/bin/$name" "$@"
  "/bin/$name" "$@"
  exit
  ;;
chown) # who is not root cannot, and the tests do not look then
  [ "$FAKE_RUNS_AS" = 0 ] || exit 0
  [ -n "$trapped" ] || exec /bin/chown "$@"
  /bin/chown "$@"
  exit
  ;;
*) ;;
esac
last() {
  for last_one; do :; done
  echo "$last_one"
}
without() { # FILE FIXED-BEGINNING: the lines that do not begin so
  awk -v begin="$2" 'index($0, begin) != 1' "$1" >"$1.new" && /bin/mv "$1.new" "$1"
}
unknown() {
  echo "fake $name does not know: $*" >>"$FAKE/unknown"
  exit 99
}
service() { # SERVICE OR INSTANCE → the instance
  case $1 in *:*:*) echo "$1" ;; *) echo "$1:default" ;; esac
}
# What the real one refuses is refused in its words. The rest are the same everywhere.
case $name in
df | openssl | curl | zstd | qemu-img) ;;
*)
  "$FAKE_COMMAND" "$FAKE_TABLE" "$name" "$@"
  code=$?
  [ $code = 200 ] || exit $code
  ;;
esac
case $name in
uname) case ${1:-} in -s) echo "${FAKE_UNAME:-SunOS}" ;; -m) echo "${FAKE_MACHINE:-i86pc}" ;; *) unknown "$@" ;; esac ;;
zonename) echo "${FAKE_ZONE:-global}" ;;
id) echo "uid=${FAKE_UID:-0}(root) gid=0(root)" ;;
df) printf 'Filesystem 1024-blocks Used Available Capacity Mounted\nrpool/ROOT/omnios 9999999 1 %s 1%% /\n' "${FAKE_FREE:-9000000}" ;;
coreadm) # file: the pattern, then enabled or disabled
  if [ $# = 0 ]; then
    printf '     global core file pattern: %s\n     global core file content: default\n       init core file pattern: core\n            global core dumps: %s\n       per-process core dumps: enabled\n' "$(sed -n 1p "$FAKE/coreadm")" "$(sed -n 2p "$FAKE/coreadm")"
  elif [ "$1 $3 $4" = "-g -e global" ]; then
    printf '%s\nenabled\n' "$2" >"$FAKE/coreadm"
  elif [ "$1 $2 $3" = "-d global -g" ]; then
    printf '%s\ndisabled\n' "$4" >"$FAKE/coreadm"
  else
    unknown "$@"
  fi
  ;;
hostname) if [ $# = 0 ]; then cat "$FAKE/hostname"; else echo "$1" >"$FAKE/hostname"; fi ;;
pkg)
  case $1 in
  publisher) printf '%s\n' ${FAKE_PUBLISHERS:-omnios extra.omnios} | sed 's/$/ origin online F -/' ;;
  list) grep -qx "$3" "$FAKE/packages" ;;
  install)
    shift 2
    for one; do grep -qx "$one" "$FAKE/packages" || echo "$one" >>"$FAKE/packages"; done
    /bin/mkdir -p "$root/opt/ooce/nginx-1.30/sbin"
    printf '#!/bin/sh\necho "configure arguments: %s" >&2\n' "${FAKE_NGINX:---with-http_auth_request_module}" >"$root/opt/ooce/nginx-1.30/sbin/nginx"
    chmod +x "$root/opt/ooce/nginx-1.30/sbin/nginx"
    ;;
  uninstall)
    shift 2
    for one; do
      grep -vx "$one" "$FAKE/packages" >"$FAKE/packages.new"
      /bin/mv "$FAKE/packages.new" "$FAKE/packages"
    done
    rm -rf "$root/opt/ooce"
    ;;
  *) unknown "$@" ;;
  esac
  ;;
dtrace) # the files of which it does not take: their names in the file dtrace-refuses, or "all"
  for library in $(cat "$FAKE/dtrace-refuses" 2>/dev/null); do
    [ "$library" = all ] || [ -f "$root/usr/lib/dtrace/$library" ] || continue
    echo "dtrace: invalid probe specifier BEGIN: \"/usr/lib/dtrace/$library\", line 12: syntax error" >&2
    exit 1
  done
  printf '   ID   PROVIDER            MODULE                          FUNCTION NAME\n    1     dtrace                                                     BEGIN\n'
  ;;
groupadd) # -g ID NAME
  ! grep -q "^$3:" "$root/etc/group" || exit 9
  echo "$3::$2:" >>"$root/etc/group"
  ;;
groupdel) without "$root/etc/group" "$1:" ;;
useradd) # -u ID -g GROUP [-G GROUPS] -d / -s SHELL NAME
  ! grep -q "^$(last "$@"):" "$root/etc/passwd" || exit 9
  grep -q "^$4:" "$root/etc/group" || exit 6
  echo "$(last "$@"):x:$2:$(awk -F: -v g="$4" '$1 == g {print $3}' "$root/etc/group")::/:/usr/bin/false" >>"$root/etc/passwd"
  ;;
userdel) without "$root/etc/passwd" "$1:" ;;
zpool)
  pool=$(last "$@")
  case $1 in
  list) grep -qx "$pool" "$FAKE/pools" || { echo "cannot open '$pool': no such pool" >&2 && exit 1; } ;;
  import)
    shift
    cache=cache mount=yes
    while getopts :aCc:d:DEfFlmnNo:R:tT:VX option; do
      case $option in
      N) mount=no ;;
      o) case $OPTARG in cachefile=*) cache=${OPTARG#cachefile=} ;; esac ;;
      '?') echo "invalid option '$OPTARG'" >&2 && exit 2 ;;
      *) ;;
      esac
    done
    [ $# = "$OPTIND" ] || unknown import "$@"
    why=$(awk -v name="$pool" '$1 == name {found = 1; $1 = $2 = ""; sub(/^ +/, ""); print} END {exit !found}' "$FAKE/labels") || why='no such pool available'
    ! grep -qx "$pool" "$FAKE/pools" || why='a pool with that name already exists'
    [ -z "$why" ] || { echo "cannot import '$pool': $why" >&2 && exit 1; }
    echo "$pool" >>"$FAKE/pools"
    without "$FAKE/labels" "$pool " && echo "$pool $cache" >>"$FAKE/labels"
    [ $mount = yes ] || awk -v begin="$pool/" 'index($1, begin) == 1 {print $1}' "$FAKE/datasets" >>"$FAKE/unmounted"
    ;;
  *) unknown "$@" ;;
  esac
  ;;
zfs)
  dataset=$(last "$@")
  case $1 in
  load-key) ;;
  mount) [ "$2" = -a ] && : >"$FAKE/unmounted" ;;
  list)
    case $* in
    *mountpoint*) # of what is mounted there: of a pool that is imported, and not left unmounted
      awk -v root="$root" -v path="$dataset" 'FILENAME ~ /pools$/ {pool[$1] = 1} FILENAME ~ /unmounted$/ {not[$1] = 1}
        FILENAME ~ /datasets$/ && root $2 == path && !not[$1] {split($1, part, "/"); if (pool[part[1]]) {print $2; found = 1}} END {exit !found}' \
        "$FAKE/pools" "$FAKE/unmounted" "$FAKE/datasets"
      ;;
    *) awk -v name="$dataset" '$1 == name {found = 1} END {exit !found}' "$FAKE/datasets" ;;
    esac
    ;;
  get)
    case $5 in
    mounted) echo yes ;;
    cistern:appliance) awk -v name="$dataset" '$1 == name {print $3}' "$FAKE/datasets" ;;
    *) unknown "$@" ;;
    esac
    ;;
  create)
    ! grep -q "^$dataset " "$FAKE/datasets" || exit 1
    place=$(echo "$*" | sed 's/.*mountpoint=\([^ ]*\).*/\1/')
    /bin/mkdir -p "$root$place"
    case $* in *cistern:appliance=yes*) made=yes ;; *) made=- ;; esac
    echo "$dataset $place $made" >>"$FAKE/datasets"
    ;;
  destroy)
    place=$(awk -v name="$dataset" '$1 == name {print $2}' "$FAKE/datasets")
    rm -rf "${root:?}$place"
    without "$FAKE/datasets" "$dataset "
    ;;
  *) unknown "$@" ;;
  esac
  ;;
svcs)
  case $* in
  *http*) grep '^svc:/network/http:' "$FAKE/services" | awk '{print $2, $1}' ;;
  '-H -o state '*) awk -v f="$4" '$1 == f {print $2; found = 1} END {exit !found}' "$FAKE/services" ;;
  '-H -o fmri '*) awk -v f="$(service "$4")" '$1 == f {print $1; found = 1} END {exit !found}' "$FAKE/services" ;;
  *) unknown "$@" ;;
  esac
  ;;
svcadm)
  fmri=$(service "$(last "$@")")
  case $1 in
  refresh | restart) ;;
  enable | disable)
    grep -q "^$fmri " "$FAKE/services" || exit 1
    [ "$1" = enable ] && state=online || state=disabled
    sed "s|^$fmri .*|$fmri $state|" "$FAKE/services" >"$FAKE/services.new" && /bin/mv "$FAKE/services.new" "$FAKE/services"
    ;;
  *) unknown "$@" ;;
  esac
  ;;
svccfg)
  case $1 in
  import)
    fmri=svc:/$(sed -n 's/.*<service name="\([^"]*\)".*/\1/p' "$2"):default
    [ "$fmri" != svc:/:default ] || exit 1
    grep -q "^$fmri " "$FAKE/services" || echo "$fmri online" >>"$FAKE/services"
    ;;
  delete) without "$FAKE/services" "$(service "$3") " ;;
  *) unknown "$@" ;;
  esac
  ;;
*) unknown "$@" ;;
esac
