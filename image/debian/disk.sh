#!/usr/bin/env bash
# The bootable disk: GPT with GRUB for BIOS, an EFI system partition (GRUB for UEFI; the kernel and initramfs of each slot and
# GRUB's environment for both), system slots A and B (squashfs), and room behind them where the first boot makes the
# system pool. Written with programs that work on plain files: no loop device, no mount, no privilege.
#
# Two others make such a disk, and a change here is a change there: the installer (services/install/layout.go; a test compares)
# and execd's system.attach (services/execd/host/linux/systemdisk_linux.go), which copies what is on the first one.

BIOS_MIB=1
ESP_MIB=255
# A system cannot outgrow its slot later without moving the pool behind it: three times of what it takes now.
SLOT_MIB=1024

# The modules of GRUB for BIOS. The one for UEFI is Debian's, with its own (image/debian/secureboot.sh).
GRUB_MODULES="part_gpt fat normal linux configfile loadenv serial terminal echo test search search_label probe all_video gfxterm sleep reboot halt ls cat"

# What the boot loader or the initial file system has read when the system starts, and nothing reads again: GRUB takes the kernel
# and the initramfs from the EFI partition, and a processor takes its microcode from the initramfs (a kernel without
# CONFIG_MICROCODE_LATE_LOADING).
DISK_BOOT_ONLY=('boot/vmlinuz-*' 'boot/initrd.img-*' 'vmlinuz*' 'initrd.img*' usr/lib/firmware/intel-ucode usr/lib/firmware/amd-ucode)

disk_squashfs() { # ROOT OUT
  rm -f "$2"
  run "$CISTERN_CACHE/log/squashfs.log" tools_bin /usr/bin/mksquashfs "$1" "$2" -comp zstd -Xcompression-level 9 -b 256K -no-progress -noappend -all-time 0 -mkfs-time 0 -no-exports \
    -wildcards -e "${DISK_BOOT_ONLY[@]}"
  [ "$(stat -c %s "$2")" -le $((SLOT_MIB << 20)) ] || die "the system is larger than its slot of $SLOT_MIB MiB"
}

# disk_image ROOT SQUASHFS OUT VERSION: write the raw image
disk_image() {
  local root=$1 squashfs=$2 out=$3 version=$4 log=$CISTERN_CACHE/log/disk.log work
  local bios_start=2048 bios_sectors=$((BIOS_MIB * 2048)) slot_sectors=$((SLOT_MIB * 2048)) esp_sectors=$((ESP_MIB * 2048)) esp_start a b
  : >"$log"
  esp_start=$((bios_start + bios_sectors))
  a=$((esp_start + esp_sectors))
  b=$((a + slot_sectors))
  work=$(mktemp -d)
  truncate -s 0 "$out"
  truncate -s $(((b + slot_sectors + 2048) * 512)) "$out"
  tools_bin /usr/sbin/sfdisk --quiet "$out" >>"$log" 2>&1 <<TABLE || die "sfdisk could not write the partition table" "See $log"
label: gpt
start=$bios_start, size=$bios_sectors, type=21686148-6449-6E6F-744E-656564454649, name=cistern-bios
start=$esp_start, size=$esp_sectors, type=C12A7328-F81F-11D2-BA4B-00A0C93EC93B, name=cistern-esp
start=$a, size=$slot_sectors, type=4F68BCE3-E8CD-4DB1-96E7-FBCAF984B709, name=cistern-a
start=$b, size=$slot_sectors, type=4F68BCE3-E8CD-4DB1-96E7-FBCAF984B709, name=cistern-b
TABLE
  # MTOOLS needs no mount; @@ is the partition's offset in the file.
  local fat="$out@@$((esp_start * 512))" slot
  export MTOOLS_SKIP_CHECK=1
  run "$log" tools_bin /usr/bin/mformat -i "$fat" -F -T $esp_sectors -h 64 -s 32 -v CISTERN ::
  cp image/debian/grub.cfg "$work/grub.cfg"
  # shellcheck disable=SC2086 # a list
  run "$log" in_tools grub-mkimage -O i386-pc -p '(,gpt2)/cistern' -o /tmp/core.img biosdisk $GRUB_MODULES
  bios_boot "$out" $bios_start $bios_sectors
  run "$log" in_tools grub-editenv /tmp/grubenv create
  run "$log" in_tools grub-editenv /tmp/grubenv set slot=a
  efi_files "$fat" image/debian/efi.cfg
  run "$log" tools_bin /usr/bin/mmd -i "$fat" ::/cistern ::/cistern/a ::/cistern/b ::/cistern/bios
  run "$log" tools_bin /usr/bin/mcopy -i "$fat" "$work/grub.cfg" ::/cistern/grub.cfg
  # For the installer, which puts them into the same places of another disk.
  run "$log" tools_bin /usr/bin/mcopy -i "$fat" "$work/boot.img" "$work/core.img" ::/cistern/bios/
  run "$log" tools_bin /usr/bin/mcopy -i "$fat" "$TOOLS/tmp/grubenv" ::/cistern/grubenv
  printf '%s\n' "$version" >"$work/version"
  image_cfg "$squashfs" "$(cat "$ROOTFS/../next-made")" >"$work/image.cfg"
  slot=a
  run "$log" tools_bin /usr/bin/mcopy -i "$fat" "$root"/boot/vmlinuz-* ::/cistern/$slot/vmlinuz
  run "$log" tools_bin /usr/bin/mcopy -i "$fat" "$root"/boot/initrd.img-* ::/cistern/$slot/initrd
  run "$log" tools_bin /usr/bin/mcopy -i "$fat" "$work/version" ::/cistern/$slot/version
  run "$log" tools_bin /usr/bin/mcopy -i "$fat" "$work/image.cfg" ::/cistern/$slot/image.cfg
  run "$log" dd if="$squashfs" of="$out" bs=1M oflag=seek_bytes seek=$((a * 512)) conv=notrunc,sparse
  rm -rf "$work"
}

# image_cfg SQUASHFS DAY → what GRUB hands over of an image; and of which day the packages are whose list has no end that was checked
image_cfg() {
  printf 'set image=%s\n' "$(sha256sum "$1" | cut -d' ' -f1)"
  printf '# of the suite %s: %s, from a list of %s; it may be %s days old when the image is built\n' "$ROOTFS_NEXT_SUITE" "$ROOTFS_NEXT_PACKAGES" "$2" "$ROOTFS_NEXT_DAYS"
}

# bios_boot DISK START SECTORS: put GRUB's first stage into the disk's first sector and its second one (/tmp/core.img of the
# tools tree) into the BIOS boot partition. That is what grub-bios-setup does to a disk; it takes no plain file. The
# places are GRUB's own (include/grub/i386/pc/boot.h): where the first stage finds the second one, the jump that keeps the BIOS'
# drive number only for disks, and where the second stage's first sector finds its rest.
bios_boot() {
  local disk=$1 start=$2 sectors=$3 boot=$work/boot.img core=$work/core.img
  cp "$TOOLS/usr/lib/grub/i386-pc/boot.img" "$boot"
  cp "$TOOLS/tmp/core.img" "$core"
  [ "$(stat -c %s "$core")" -le $((sectors * 512)) ] || die "GRUB for BIOS is larger than its partition"
  put "$boot" $((0x5c)) "$(le64 "$start")"
  put "$boot" $((0x66)) '\x90\x90'
  put "$core" $((0x1f4)) "$(le64 $((start + 1)))"
  # The partition table's own sector: the first stage's code ends where the table begins.
  run "$log" dd if="$boot" of="$disk" bs=440 count=1 conv=notrunc
  run "$log" dd if="$core" of="$disk" bs=512 seek="$start" conv=notrunc
}

# put FILE OFFSET BYTES (as printf writes them)
put() {
  # shellcheck disable=SC2059 # the bytes are the format
  printf "$3" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

# le64 NUMBER → eight bytes, the lowest first, as printf writes them
le64() {
  local byte
  for byte in 0 8 16 24 32 40 48 56; do printf '\\x%02x' $((($1 >> byte) & 255)); done
}
