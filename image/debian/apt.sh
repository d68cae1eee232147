#!/usr/bin/env bash
# Where packages come from: the build machine's own apt configuration, and nothing else. No host name is written
# down here; whoever builds the image decides by what their apt reads.

# debian_mirror main|security → the address that this machine uses for Debian's archive (or its security archive)
debian_mirror() {
  local label=Debian url
  [ "$1" = security ] && label=Debian-Security
  url=$(apt-get indextargets --format '$(LABEL)|$(REPO_URI)' 'Created-By: Packages' 2>/dev/null | sed -n "s/^$label|//p" | head -n 1)
  printf '%s' "$url"
}

# debian_options → what stands in brackets in a line of sources.list: whose signature counts, and that the date of a list is not
# looked at where this machine's own apt does not look at it either. A list that is old on purpose, as a kept copy of the archive
# is, and one that somebody holds back to hide a fix look the same: only who set up this machine knows.
debian_options() {
  local options='signed-by=/usr/share/keyrings/debian-archive-keyring.gpg' one
  for one in Check-Valid-Until Check-Date; do
    case $(apt-config dump --format '%v' "Acquire::$one") in
    false | no | 0 | off) options+=" ${one,,}=no" ;;
    esac
  done
  printf '%s' "$options"
}

# debian_sources SUITE COMPONENTS → sources.list lines for the suite (with its security updates when this machine
# reads them for its own suite)
debian_sources() {
  local suite=$1 components=$2 main security options
  main=$(debian_mirror main)
  security=$(debian_mirror security)
  options=$(debian_options)
  [ -n "$main" ] || die "apt on this machine names no Debian archive" "Run 'apt-get update' and look at /etc/apt/sources.list.d/."
  printf 'deb [%s] %s %s %s\n' "$options" "$main" "$suite" "$components"
  [ -z "$security" ] || printf 'deb [%s] %s %s-security %s\n' "$options" "$security" "$suite" "$components"
}

# debian_bootstrap TARGET SUITE COMPONENTS PACKAGE,… [mmdebstrap options…]
# Makes TARGET (a directory, or a tar by its name) from the archive. Packages are kept in the cache between builds.
debian_bootstrap() {
  local target=$1 suite=$2 components=$3 packages=$4 debs=$CISTERN_CACHE/debs/$2
  shift 4
  mkdir -p "$debs"
  env -u TMPDIR mmdebstrap --mode=root --variant=apt --format="${BOOTSTRAP_FORMAT:-directory}" \
    --aptopt='APT::Install-Recommends "false"' --aptopt='Acquire::Retries "4"' \
    --skip=essential/unlink --skip=download/empty \
    --setup-hook="mkdir -p \"\$1\"/var/cache/apt/archives/; find '$debs' -name '*.deb' -exec cp -lft \"\$1\"/var/cache/apt/archives/ {} + 2>/dev/null || find '$debs' -name '*.deb' -exec cp -t \"\$1\"/var/cache/apt/archives/ {} +" \
    --include="$packages" "$@" \
    --customize-hook="find \"\$1\"/var/cache/apt/archives -name '*.deb' -exec cp -nt '$debs' {} +; find \"\$1\"/var/cache/apt/archives -name '*.deb' -delete" \
    "$suite" "$target" - < <(debian_sources "$suite" "$components")
}
