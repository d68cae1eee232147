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

# Whose signature counts. That apt looks at the dates of a list is said for each source, whatever the build machine's own apt does:
# a list that somebody holds back to hide a fix is signed as well.
DEBIAN_OPTIONS='signed-by=/usr/share/keyrings/debian-archive-keyring.gpg check-date=yes'

# debian_valid_until SUITE → what apt is to do about the end that a list names. Of the testing suite alone it is not looked at:
# a kept copy of the archive is soon beyond its week. How old it may be is checked here (debian_release_age).
debian_valid_until() {
  if [ "$1" = "$ROOTFS_NEXT_SUITE" ]; then echo no; else echo yes; fi
}

# debian_release_age FILE SUITE DAYS → the day on which the suite's list (an InRelease file) was made; stops when that is more than DAYS
# ago, or cannot be said
debian_release_age() {
  local file=$1 suite=$2 most=$3 made seconds age
  [ -s "$file" ] || die "there is no list of the suite $suite, so nobody can say how old its packages are: $file"
  made=$(sed -n 's/^Date: //p' "$file" | head -n 1)
  seconds=$(date -d "${made:-none}" +%s 2>/dev/null) || die "the list of the suite $suite does not say when it was made: $file"
  age=$((($(date +%s) - seconds) / 86400))
  [ "$age" -le "$most" ] || die "the list of the suite $suite was made on $(date -ud "@$seconds" +%F), $age days ago; an image may be built of one that is $most days old" \
    "Have the copy of the archive that apt reads on this machine brought up to date, and run 'apt-get update'."
  date -ud "@$seconds" +%F
}

# debian_sources SUITE COMPONENTS → sources.list lines for the suite (with its security updates when this machine
# reads them for its own suite)
debian_sources() {
  local suite=$1 components=$2 main security options
  main=$(debian_mirror main)
  security=$(debian_mirror security)
  options="$DEBIAN_OPTIONS check-valid-until=$(debian_valid_until "$suite")"
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
