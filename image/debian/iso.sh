#!/usr/bin/env bash
# The medium as an ISO: for the virtual CD drive of a BMC or a hypervisor, and written to a stick it starts from that too.
# It has the files of a system disk's EFI partition (image/debian/disk.sh) in the same places, and the system as a file.

# disk_iso SQUASHFS DISK OUT: DISK is the finished disk image, whose boot files are taken
disk_iso() {
  local squashfs=$1 disk=$2 out=$3 log=$CISTERN_CACHE/log/iso.log work id fat tree
  : >"$log"
  work=$(mktemp -d)
  tree=$work/tree
  id=$(sha256sum "$squashfs" | cut -c1-12)
  mkdir -p "$tree"
  fat="$disk@@$(((1 + BIOS_MIB) << 20))"
  run "$log" tools_bin /usr/bin/mcopy -s -i "$fat" ::/EFI ::/cistern "$tree/"
  rm -rf "$tree/cistern/b" "$tree/cistern/grubenv"
  ln "$squashfs" "$tree/cistern/system.squashfs" 2>/dev/null || cp "$squashfs" "$tree/cistern/system.squashfs"
  # What GRUB finds this medium by, and no installed disk.
  : >"$tree/cistern/medium-$id"
  sed "s/@ID@/$id/g" image/debian/iso.cfg >"$tree/cistern/iso.cfg"
  printf 'search --no-floppy --set=root --file /cistern/medium-%s\nconfigfile /cistern/iso.cfg\n' "$id" >"$TOOLS/tmp/early.cfg"
  # shellcheck disable=SC2086 # a list
  run "$log" in_tools grub-mkimage -O i386-pc-eltorito -p /cistern -c /tmp/early.cfg -o /tmp/eltorito.img biosdisk iso9660 search_fs_file $GRUB_MODULES
  cp "$TOOLS/tmp/eltorito.img" "$tree/cistern/eltorito.img"
  truncate -s 8M "$work/efi.img"
  run "$log" tools_bin /usr/bin/mformat -i "$work/efi.img" -T $((8 * 2048)) -h 64 -s 32 ::
  efi_files "$work/efi.img" "$TOOLS/tmp/early.cfg"
  run "$log" tools_bin /usr/bin/xorriso -as mkisofs -quiet -R -J -V "CISTERN-$id" -o "$out" \
    -b cistern/eltorito.img -no-emul-boot -boot-load-size 4 -boot-info-table --grub2-boot-info \
    --grub2-mbr "$TOOLS/usr/lib/grub/i386-pc/boot_hybrid.img" \
    -append_partition 2 0xef "$work/efi.img" -appended_part_as_gpt -partition_offset 16 \
    -eltorito-alt-boot -e --interval:appended_partition_2:all:: -no-emul-boot "$tree"
  rm -rf "$work"
}
