#!/usr/bin/env bash
# Secure Boot. Firmware with Microsoft's keys starts shim, which starts Debian's signed GRUB, which starts Debian's signed
# kernel; MokManager is the program that shim has for the keys that a machine's owner adds. That kernel loads modules
# only with a signature that it can check: ours are signed with a key of the build (docs/decisions/0019-secure-boot.md).

# secureboot_versions: sets SECUREBOOT_PACKAGES, each NAME=VERSION, from the archive as it is now
secureboot_versions() {
  local kbuild name
  kbuild=$(in_tools apt-cache depends "linux-headers-$KERNEL" | sed -n 's/.*Depends: \(linux-kbuild-[^ ]*\)$/\1/p')
  SECUREBOOT_PACKAGES=()
  for name in shim-signed shim-helpers-amd64-signed grub-efi-amd64-signed "$kbuild"; do
    SECUREBOOT_PACKAGES+=("$name=$(in_tools apt-cache policy "$name" | sed -n 's/.*Candidate: //p')")
  done
  case "${SECUREBOOT_PACKAGES[*]} " in
  *'= '*) die "the archive lacks one of: ${SECUREBOOT_PACKAGES[*]}" "Try 'apt-get update' and again." ;;
  esac
}

# secureboot_files: the stage: fills $1 with shim, MokManager and GRUB as firmware wants to find them, and sign-file. Out of the
# packages and not installed: their scripts would look for a boot loader to replace.
secureboot_files() {
  local out=$1 tree=/tmp/secureboot log=$CISTERN_CACHE/log/secureboot.log deb
  : >"$log"
  rm -rf "${TOOLS:?}$tree"
  mkdir -p "$TOOLS$tree"
  run "$log" in_tools sh -c 'cd "$1" && shift && exec apt-get -o APT::Sandbox::User=root download "$@"' sh "$tree" "${SECUREBOOT_PACKAGES[@]}"
  for deb in "$TOOLS$tree"/*.deb; do run "$log" in_tools dpkg -x "$tree/$(basename "$deb")" "$tree/root"; done
  cp "$TOOLS$tree/root/usr/lib/shim/shimx64.efi.signed" "$out/BOOTX64.EFI"
  cp "$TOOLS$tree/root/usr/lib/shim/mmx64.efi.signed" "$out/mmx64.efi"
  cp "$TOOLS$tree/root/usr/lib/grub/x86_64-efi-signed/grubx64.efi.signed" "$out/grubx64.efi"
  cp "$TOOLS$tree"/root/usr/lib/linux-kbuild-*/scripts/sign-file "$out/sign-file"
  rm -rf "${TOOLS:?}$tree"
}

# mok_key: sets MOK_KEY, MOK_CERT (DER) and MOK_FINGERPRINT (SHA-256): what CISTERN_MOK_KEY and CISTERN_MOK_CERT name, or a key that
# is made once in the build cache. It leaves the build machine in no file.
mok_key() {
  local work=$CISTERN_CACHE/work/mok
  if [ -n "${CISTERN_MOK_KEY:-}${CISTERN_MOK_CERT:-}" ]; then
    [ -r "${CISTERN_MOK_KEY:-}" ] && [ -r "${CISTERN_MOK_CERT:-}" ] ||
      die "CISTERN_MOK_KEY and CISTERN_MOK_CERT must both name a file that can be read" "The private key as PEM, the certificate as PEM or DER."
    MOK_KEY=$CISTERN_MOK_KEY
    mkdir -p "$work"
    MOK_CERT=$work/cistern.der
    tools_bin /usr/bin/openssl x509 -in "$CISTERN_MOK_CERT" -outform DER -out "$MOK_CERT" || die "$CISTERN_MOK_CERT is no certificate"
  else
    stage mok "$(stage_key 1)" mok_make
    MOK_KEY=$STAGE_DIR/key.pem
    MOK_CERT=$STAGE_DIR/cistern.der
  fi
  [ "$(tools_bin /usr/bin/openssl pkey -in "$MOK_KEY" -pubout)" = "$(tools_bin /usr/bin/openssl x509 -in "$MOK_CERT" -noout -pubkey)" ] ||
    die "the key $MOK_KEY is not the one of its certificate" "See CISTERN_MOK_KEY and CISTERN_MOK_CERT."
  MOK_FINGERPRINT=$(sha256sum "$MOK_CERT" | cut -d' ' -f1)
  say "the kernel modules' key: SHA-256 $MOK_FINGERPRINT"
}

mok_make() { # the stage: fills $1 with key.pem and cistern.der
  local log=$CISTERN_CACHE/log/mok.log
  : >"$log"
  # 1.3.6.1.4.1.2312.16.1.2: shim takes such a key for modules, and for no program that it starts.
  cat >"$1/openssl.cnf" <<'CONFIG'
[req]
distinguished_name = name
x509_extensions = extensions
prompt = no
string_mask = utf8only
[name]
CN = Cistern kernel modules
[extensions]
basicConstraints = critical,CA:FALSE
keyUsage = critical,digitalSignature
extendedKeyUsage = codeSigning,1.3.6.1.4.1.2312.16.1.2
subjectKeyIdentifier = hash
CONFIG
  (umask 077 && run "$log" tools_bin /usr/bin/openssl req -config "$1/openssl.cnf" -x509 -newkey rsa:2048 -nodes -sha256 -days 36500 \
    -keyout "$1/key.pem" -outform DER -out "$1/cistern.der")
  rm "$1/openssl.cnf"
  chmod 600 "$1/key.pem"
  chmod 644 "$1/cistern.der"
}

# sign_modules ROOT: sign the modules that are not Debian's, and put the certificate beside them
sign_modules() {
  local root=$1 module found=0
  for module in "$root/usr/lib/modules/$KERNEL"/extra/*.ko; do
    "$TOOLS/usr/lib64/ld-linux-x86-64.so.2" --library-path "$TOOLS/usr/lib/x86_64-linux-gnu" "$SECUREBOOT/sign-file" sha256 "$MOK_KEY" "$MOK_CERT" "$module" ||
      die "$module could not be signed"
    tail -c 28 "$module" | grep -qx '~Module signature appended~' || die "$module has no signature after it was signed"
    found=$((found + 1))
  done
  [ $found -ge 2 ] || die "there are no modules of ours in the root file system"
  install -D -m 0644 "$MOK_CERT" "$root/usr/lib/cistern/cistern.der"
}

# efi_files FAT CONFIG: what firmware starts, and the key to enrol, into a FAT image (as mtools name it). CONFIG is what GRUB reads
# first: Debian's signed one has the prefix /EFI/debian built in.
efi_files() {
  run "$log" tools_bin /usr/bin/mmd -i "$1" ::/EFI ::/EFI/BOOT ::/EFI/debian ::/EFI/cistern
  run "$log" tools_bin /usr/bin/mcopy -i "$1" "$SECUREBOOT/BOOTX64.EFI" "$SECUREBOOT/grubx64.efi" "$SECUREBOOT/mmx64.efi" ::/EFI/BOOT/
  run "$log" tools_bin /usr/bin/mcopy -i "$1" "$2" ::/EFI/debian/grub.cfg
  run "$log" tools_bin /usr/bin/mcopy -i "$1" "$MOK_CERT" ::/EFI/cistern/cistern.der
}
