#!/usr/bin/env bash
# What of Debian's generic kernel stays in the image: the drivers of whatever a server or a virtual machine has, and the
# firmware that just these ask for. What an appliance never has goes, which is half of the kernel's modules.

# Firmware and microcode: from Debian's non-free-firmware, which its makers allow to be handed on unchanged; the licences
# are under /usr/share/doc/PACKAGE/copyright. Network and storage cards and the BMCs' graphics; no wireless, no sound.
HARDWARE_PACKAGES=intel-microcode,amd64-microcode,firmware-linux-free,firmware-misc-nonfree,firmware-intel-misc,firmware-bnx2,firmware-bnx2x
HARDWARE_PACKAGES+=,firmware-qlogic,firmware-cavium,firmware-myricom,firmware-netxen,firmware-realtek,firmware-ast

# Folders and modules under /usr/lib/modules/RELEASE/kernel that are removed.
HARDWARE_REMOVED=(
  # Sound, pictures, radio
  sound drivers/media drivers/net/wireless drivers/net/wwan drivers/net/ieee802154 drivers/bluetooth drivers/nfc
  net/bluetooth net/mac80211 net/wireless net/nfc net/ieee802154 net/6lowpan net/mac802154 net/rfkill
  # Graphics beyond a frame buffer; the BMCs' and hypervisors' simple ones stay
  drivers/gpu/drm/{amd,i915,xe,nouveau,radeon,gma500,etnaviv,loongson,panel,bridge,scheduler,xen,gud,udl,vgem,vkms,mxsfb}
  drivers/accel drivers/video/fbdev drivers/video/backlight drivers/auxdisplay drivers/gpu/host1x
  # What hangs on desktops, phones and instruments
  drivers/comedi drivers/iio drivers/staging drivers/firewire drivers/pcmcia drivers/parport drivers/isdn drivers/memstick drivers/thunderbolt
  drivers/input/{joystick,touchscreen,tablet,gameport,misc} drivers/platform/chrome drivers/platform/surface drivers/soundwire drivers/slimbus
  drivers/usb/{gadget,atm,image,misc,usbip} drivers/mtd/{chips,devices,lpddr,maps,nand,parsers,spi-nor,tests,ubi} drivers/w1 drivers/leds/flash drivers/greybus drivers/most drivers/counter drivers/hsi
  # Networks that are history or a speciality
  drivers/infiniband drivers/atm drivers/net/{can,hamradio,arcnet,fddi,plip,slip,ppp,fjes} net/{can,atm,appletalk,ax25,netrom,rose,x25,lapb,phonet,caif}
  net/{batman-adv,tipc,rds,smc,sctp,l2tp,ceph,9p,rxrpc,qrtr,mctp,nsh,openvswitch,hsr,mpls,lib80211,dccp,sunrpc,kcm,ife}
  # File systems that nothing here reads; FAT, exFAT, ext4, NTFS and ISO 9660 stay for USB sticks and the image itself
  fs/{9p,adfs,affs,afs,befs,bfs,btrfs,ceph,coda,dlm,ecryptfs,efs,erofs,f2fs,freevxfs,gfs2,hfs,hfsplus,hpfs,jffs2,jfs,lockd,minix,netfs}
  fs/{nfs,nfs_common,nfsd,nilfs2,ocfs2,omfs,orangefs,qnx4,qnx6,reiserfs,romfs,smb,sysv,ubifs,ufs,vboxsf,xfs,bcachefs,cachefiles,gfs2,quota,zonefs}
  # ZFS is what pools are made of
  drivers/md drivers/block/drbd drivers/target
  # Nothing works without firmware that Debian may not hand on, or has not: cards of before 2008, boxes of serial ports, parts of
  # boards that are no servers. Netronome's is 144 MB, for cards that are no longer made.
  drivers/net/ethernet/{alteon,adaptec,netronome} drivers/scsi/aic94xx drivers/scsi/wd719x.ko.xz drivers/tty/moxa.ko.xz
  drivers/usb/serial/{io_edgeport,io_ti,ti_usb_3410_5052}.ko.xz drivers/mfd/cs42l43.ko.xz drivers/ptp/ptp_idt82p33.ko.xz
)

# Modules that stay though firmware that they name is in no package, each with the reason.
HARDWARE_WITHOUT_FIRMWARE="cassini            only cards with one of its transceivers (DP83065) load it; the others have none
xhci-pci-renesas   only cards without a memory of their own load it; the others have theirs there"

# The ways to a system disk, for the initial file system: hypervisors', then SATA and IDE, SAS and RAID controllers, USB,
# memory cards, and a CD. And keyboards, for whoever has to look at a boot that failed.
# shellcheck disable=SC2034 # for rootfs.sh
HARDWARE_BOOT="virtio_pci virtio_blk virtio_scsi vmw_pvscsi hv_storvsc hv_vmbus xen-blkfront BusLogic
  ahci ata_piix ata_generic pata_acpi sata_nv sata_sil sata_sil24 sata_via sata_mv sata_promise nvme vmd
  mptspi mptsas mpt3sas megaraid_sas megaraid_mbox aacraid hpsa smartpqi arcmsr 3w-9xxx 3w-sas mvsas isci pm80xx esas2r sym53c8xx mpi3mr
  xhci_pci ehci_pci uhci_hcd ohci_pci usb_storage uas sdhci_pci sdhci_acpi mmc_block
  sd_mod sr_mod isofs vfat nls_cp437 nls_ascii loop squashfs overlay
  usbhid hid_generic hyperv_keyboard i8042 atkbd"

# hardware_settle ROOT: remove what is not wanted, then what needs something that was removed, and then the firmware that
# no module is left to ask for
hardware_settle() {
  local root=$1 modules=$1/usr/lib/modules/$KERNEL one
  [ "$ZFS_FLAVOUR" = amd64 ] || return 0
  chroot "$root" depmod "$KERNEL"
  cp "$modules/modules.dep" "$root/tmp/modules.dep"
  for one in "${HARDWARE_REMOVED[@]}"; do rm -rf "$modules/kernel/$one"; done
  # A line is a module and all that it needs, at any depth.
  awk -F'[: ]+' -v modules="$modules" '
    function there(name) { return (getline line < (modules "/" name)) >= 0 }
    there($1) { for (i = 2; i <= NF; i++) if ($i != "" && !there($i)) { print $1; break } }
  ' "$root/tmp/modules.dep" >"$root/tmp/broken"
  ! grep '^extra/' "$root/tmp/broken" || die "the ZFS modules need something that was removed" "See HARDWARE_REMOVED in image/debian/hardware.sh."
  echo "removed as well, for what they need is: $(tr '\n' ' ' <"$root/tmp/broken")"
  (cd "$modules" && xargs -r rm <"$root/tmp/broken")
  rm "$root/tmp/broken" "$root/tmp/modules.dep"
  hardware_firmware "$root"
}

# hardware_wanting ROOT → a line for each firmware that a module names and the image has not: MODULE NAME, and the reason where
# there is one. tests/vm/image.test.ts reads them in the image's manifest, and wants a reason for each.
hardware_wanting() {
  local root=$1 module name reason
  find "$root/usr/lib/modules/$KERNEL" -name '*.ko*' -printf '%f\n' | sed 's/\.ko.*//' | sort -u |
    chroot "$root" xargs modinfo -k "$KERNEL" | awk '$1 == "filename:" { module = $2; gsub(/.*\/|\.ko.*/, "", module) } $1 == "firmware:" { print module, $2 }' | sort -u |
    while read -r module name; do
      compgen -G "$root/usr/lib/firmware/$name" >/dev/null && continue
      reason=$(sed -n "s/^$module  *//p" <<<"$HARDWARE_WITHOUT_FIRMWARE")
      printf '%s %s%s\n' "$module" "$name" "${reason:+: $reason}"
    done
}

# hardware_firmware ROOT: keep the firmware that the modules name (a name may have wildcards, a file may be a link), and
# the microcode
hardware_firmware() {
  local root=$1 dir=$1/usr/lib/firmware kept name file
  kept=$(mktemp)
  find "$root/usr/lib/modules/$KERNEL" -name '*.ko*' -printf '%f\n' | sed 's/\.ko.*//' |
    chroot "$root" xargs modinfo -k "$KERNEL" -F firmware | sort -u |
    while read -r name; do
      for file in "$dir"/$name; do
        [ -e "$file" ] || continue
        printf '%s\n' "$file"
        readlink -f "$file"
      done
    done >"$kept"
  sort -u -o "$kept" "$kept"
  find "$dir" \( -type f -o -type l \) -not -path "$dir/intel-ucode/*" -not -path "$dir/amd-ucode/*" | sort | comm -23 - "$kept" | tr '\n' '\0' | xargs -0r rm
  find "$dir" -mindepth 1 -type d -empty -delete
  echo "firmware: $(find "$dir" -type f | wc -l) files, $(du -sm "$dir" | cut -f1) MB"
  rm "$kept"
}
