#!/usr/bin/env bash
# The bootable disk: GPT with an EFI system partition (GRUB, kernel and initramfs of each slot), system slots A and B
# (squashfs), and room behind them where the first boot makes the system pool. Written with programs that work on
# plain files: no loop device, no mount, no privilege.

SLOT_MIB=512
ESP_MIB=192

disk_squashfs() { # ROOT OUT
  rm -f "$2"
  run "$CISTERN_CACHE/log/squashfs.log" tools_bin /usr/bin/mksquashfs "$1" "$2" -comp zstd -Xcompression-level 9 -b 256K -no-progress -noappend -all-time 0 -mkfs-time 0 -no-exports
  [ "$(stat -c %s "$2")" -le $((SLOT_MIB << 20)) ] || die "the system is larger than its slot of $SLOT_MIB MiB"
}

# disk_image ROOT SQUASHFS OUT VERSION: write the raw image
disk_image() {
  local root=$1 squashfs=$2 out=$3 version=$4 log=$CISTERN_CACHE/log/disk.log work
  local esp_start=2048 slot_sectors=$((SLOT_MIB * 2048)) esp_sectors=$((ESP_MIB * 2048)) a b
  : >"$log"
  a=$((esp_start + esp_sectors))
  b=$((a + slot_sectors))
  work=$(mktemp -d)
  truncate -s 0 "$out"
  truncate -s $(((b + slot_sectors + 2048) * 512)) "$out"
  tools_bin /usr/sbin/sfdisk --quiet "$out" >>"$log" 2>&1 <<TABLE || die "sfdisk could not write the partition table" "See $log"
label: gpt
start=$esp_start, size=$esp_sectors, type=C12A7328-F81F-11D2-BA4B-00A0C93EC93B, name=cistern-esp
start=$a, size=$slot_sectors, type=4F68BCE3-E8CD-4DB1-96E7-FBCAF984B709, name=cistern-a
start=$b, size=$slot_sectors, type=4F68BCE3-E8CD-4DB1-96E7-FBCAF984B709, name=cistern-b
TABLE
  # MTOOLS needs no mount; @@ is the partition's offset in the file.
  local fat="$out@@$((esp_start * 512))" slot
  export MTOOLS_SKIP_CHECK=1
  run "$log" tools_bin /usr/bin/mformat -i "$fat" -F -T $esp_sectors -h 64 -s 32 -v CISTERN ::
  cp image/debian/grub.cfg "$work/grub.cfg"
  run "$log" cp image/debian/grub.cfg "$TOOLS/tmp/grub.cfg"
  run "$log" in_tools grub-mkimage -O x86_64-efi -p /cistern -o /tmp/BOOTX64.EFI part_gpt fat normal linux configfile loadenv serial terminal echo test search search_label probe all_video gfxterm sleep reboot halt ls cat
  run "$log" in_tools grub-editenv /tmp/grubenv create
  run "$log" in_tools grub-editenv /tmp/grubenv set slot=a
  run "$log" tools_bin /usr/bin/mmd -i "$fat" ::/EFI ::/EFI/BOOT ::/cistern ::/cistern/a ::/cistern/b
  run "$log" tools_bin /usr/bin/mcopy -i "$fat" "$TOOLS/tmp/BOOTX64.EFI" ::/EFI/BOOT/BOOTX64.EFI
  run "$log" tools_bin /usr/bin/mcopy -i "$fat" "$work/grub.cfg" ::/cistern/grub.cfg
  run "$log" tools_bin /usr/bin/mcopy -i "$fat" "$TOOLS/tmp/grubenv" ::/cistern/grubenv
  printf '%s\n' "$version" >"$work/version"
  printf 'set image=%s\n' "$(sha256sum "$squashfs" | cut -d' ' -f1)" >"$work/image.cfg"
  slot=a
  run "$log" tools_bin /usr/bin/mcopy -i "$fat" "$root"/boot/vmlinuz-* ::/cistern/$slot/vmlinuz
  run "$log" tools_bin /usr/bin/mcopy -i "$fat" "$root"/boot/initrd.img-* ::/cistern/$slot/initrd
  run "$log" tools_bin /usr/bin/mcopy -i "$fat" "$work/version" ::/cistern/$slot/version
  run "$log" tools_bin /usr/bin/mcopy -i "$fat" "$work/image.cfg" ::/cistern/$slot/image.cfg
  run "$log" dd if="$squashfs" of="$out" bs=1M oflag=seek_bytes seek=$((a * 512)) conv=notrunc,sparse
  rm -rf "$work"
}
