#!/usr/bin/env bash
# The DTrace provider of nginx (services/nginx-dtrace): a dynamic module built from the sources that Debian's nginx-dev
# has, with Debian's own flags, for just the nginx that is in the root file system.

NGINX_DEV_PACKAGES="libpcre2-dev libpcre2-posix3 libssl-dev zlib1g-dev"
# What configure's tests link with; the root file system has them.
NGINX_LINKED="libssl.so.3 libcrypto.so.3 libz.so.1 libpcre2-8.so.0 libcrypt.so.1 libzstd.so.1"

nginx_dtrace() { # the stage: fills $1 with ngx_http_dtrace_module.so and http.d; needs $TOOLS and $ROOTFS
  local out=$1 tree=/tmp/nginx-dtrace log=$CISTERN_CACHE/log/nginx-dtrace.log lib=/usr/lib/x86_64-linux-gnu version one
  local source=$TOOLS$tree/module
  : >"$log"
  rm -rf "${TOOLS:?}$tree"
  mkdir -p "$TOOLS$tree"/{debs,root,dtrace} "$source"
  version=$(chroot "$ROOTFS" dpkg-query -W -f '${Version}' nginx-common)
  run "$log" in_tools apt-get update
  in_tools apt-cache show "nginx-dev=$version" >>"$log" 2>&1 ||
    die "the archive has moved on: the cached root file system has nginx $version, and nginx-dev of that version is gone" \
      "Remove $(dirname "$ROOTFS") and build again; the root file system is then made anew."
  # shellcheck disable=SC2086 # a list
  run "$log" in_tools sh -c 'cd "$1/debs" && shift && exec apt-get -o APT::Sandbox::User=root download "$@"' sh "$tree" "nginx-dev=$version" $NGINX_DEV_PACKAGES
  for one in "$TOOLS$tree"/debs/*.deb; do run "$log" in_tools dpkg -x "$tree/debs/$(basename "$one")" "$tree/root"; done
  for one in $NGINX_LINKED; do cp -L "$ROOTFS$lib/$one" "$TOOLS$tree/root$lib/"; done
  # DTrace comes out of the root file system too: it is newer than the tools tree's release. It looks for its start-up
  # object at its own absolute place.
  cp "$ROOTFS/usr/sbin/dtrace" "$TOOLS$tree/dtrace/"
  tools_bin_of_rootfs --list "$ROOTFS/usr/sbin/dtrace" | awk -v root="$ROOTFS" 'index($3, root) == 1 && $3 !~ /\/libc\.so/ {print $3}' |
    xargs -I{} cp -L {} "$TOOLS$tree/dtrace/"
  mkdir -p "$TOOLS$lib/dtrace"
  cp -a "$ROOTFS$lib/dtrace/drti" "$ROOTFS$lib/dtrace/include" "$TOOLS$lib/dtrace/"

  cp services/nginx-dtrace/{config,httpproto.h,ngx_http_dtrace_module.c} "$source/"
  nginx_dtrace_provider >"$source/http_provider.d"
  cp -a "$TOOLS$tree/root/usr/share/nginx/src" "$TOOLS$tree/src"
  # Its own /proc, which is gone with it: DTrace opens files by it.
  run "$log" env -u TMPDIR LC_ALL=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin unshare --mount sh -ec '
    mount -t proc proc "$1/proc"
    exec chroot "$1" bash -ec '\''
      cd "$1/src"
      dtrace() { LD_LIBRARY_PATH=$1/dtrace "$1/dtrace/dtrace" "${@:2}"; }
      dtrace "$1" -h -xnolibs -s "$1/module/http_provider.d" -o "$1/module/http_provider.h"
      . ./conf_flags
      bash ./configure "${NGX_CONF_FLAGS[@]}" --with-cc=gcc-14 --add-dynamic-module="$1/module" \
        --with-cc-opt="-O2 -fstack-protector-strong -D_FORTIFY_SOURCE=3 -I$1/root/usr/include -I$1/root/usr/include/x86_64-linux-gnu -I/usr/lib/x86_64-linux-gnu/dtrace/include" \
        --with-ld-opt="-L$1/root/usr/lib/x86_64-linux-gnu -Wl,-z,relro -Wl,-z,now"
      make -f objs/Makefile modules
      # Linked once more, with the object that announces the probes.
      dtrace "$1" -G -xnolibs -s "$1/module/http_provider.d" objs/addon/module/ngx_http_dtrace_module.o -o objs/http_provider.o
      gcc-14 -shared -Wl,-z,relro -Wl,-z,now -o objs/ngx_http_dtrace_module.so \
        objs/addon/module/ngx_http_dtrace_module.o objs/ngx_http_dtrace_module_modules.o objs/http_provider.o
      strip --strip-debug objs/ngx_http_dtrace_module.so
    '\'' bash "$2"
  ' sh "$TOOLS" "$tree"
  cp "$TOOLS$tree/src/objs/ngx_http_dtrace_module.so" services/nginx-dtrace/http.d "$out/"
  rm -rf "${TOOLS:?}$tree" "${TOOLS:?}$lib/dtrace"
}

# nginx_dtrace_provider → the provider's definition in one file, without any library: DTrace reads it where nothing is traced
nginx_dtrace_provider() {
  cat services/nginx-dtrace/conninfo.d
  grep -v '^#pragma D depends_on' services/nginx-dtrace/http.d
  cat services/nginx-dtrace/probes.d
}

# tools_bin_of_rootfs ARGUMENT…: the loader of the tools tree over the libraries of the root file system
tools_bin_of_rootfs() { "$TOOLS/usr/lib64/ld-linux-x86-64.so.2" --library-path "$ROOTFS/usr/lib/x86_64-linux-gnu" "$@"; }

# nginx_dtrace_files ROOT MODULE: lay the module and its library over ROOT
nginx_dtrace_files() {
  local root=$1 module=$2 newest
  newest=$(cd "$root/usr/lib/x86_64-linux-gnu/dtrace" && printf '%s\n' [0-9]* | sort -V | tail -n 1)
  mkdir -p "$root/usr/lib/nginx/modules"
  cp "$module/ngx_http_dtrace_module.so" "$root/usr/lib/nginx/modules/"
  cp "$module/http.d" "$root/usr/lib/x86_64-linux-gnu/dtrace/$newest/"
}
