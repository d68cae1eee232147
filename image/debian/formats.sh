#!/usr/bin/env bash
# The disk in the forms that people start it from. Each is written by its own tool; tests/vm/image.test.ts reads them back.

# What the appliance is recommended to have, in the OVA.
OVA_PROCESSORS=2
OVA_MEMORY_MIB=4096
# Of the disks of virtual machines: the first boot makes the system pool on what follows the image. They are thin: what is
# not used costs nothing.
DISK_GIB=32

# image_files DISK NAME VERSION → NAME.raw.zst, .qcow2, .vmdk, .vhdx, .ova, and SHA256SUMS beside them
image_files() {
  local disk=$1 name=$2 version=$3
  tools_bin /usr/bin/zstd -q -T0 -3 "$disk" -o "$name.raw.zst"
  truncate -s "${DISK_GIB}G" "$disk"
  tools_bin /usr/bin/qemu-img convert -O qcow2 "$disk" "$name.qcow2"
  tools_bin /usr/bin/qemu-img convert -O vhdx -o subformat=dynamic "$disk" "$name.vhdx"
  tools_bin /usr/bin/qemu-img convert -O vmdk -o subformat=streamOptimized "$disk" "$name.vmdk"
  ova "$name" "$version"
  (cd "$(dirname "$name")" && sha256sum -- "$(basename "$name")".*) >"$(dirname "$name")/SHA256SUMS"
}

# ova NAME VERSION → NAME.ova: a tar of a description (OVF 1.1, DMTF DSP0243), its checksums and the disk, in that order
ova() {
  local name=$1 version=$2 work disk
  work=$(mktemp -d)
  disk=$(basename "$name")-disk1.vmdk
  ln "$name.vmdk" "$work/$disk" 2>/dev/null || cp "$name.vmdk" "$work/$disk"
  ovf "$disk" "$(stat -c %s "$name.vmdk")" "$version" >"$work/$(basename "$name").ovf"
  (
    cd "$work" || exit
    for one in ./*.ovf ./*.vmdk; do printf 'SHA256(%s)= %s\n' "${one#./}" "$(sha256sum "$one" | cut -d' ' -f1)"; done >"$(basename "$name").mf"
    tar --format=ustar --owner=0 --group=0 --mode=0644 -cf "$name.ova" "$(basename "$name").ovf" "$(basename "$name").mf" "$disk"
  )
  rm -rf "$work"
}

# ovf DISK BYTES VERSION → the description. LSI's parallel SCSI controller and Intel's gigabit card are what VMware and VirtualBox
# both know by the same name (of SATA they do not: "AHCI", "vmware.sata.ahci"); paravirtual ones can be chosen afterwards, their drivers are in the image.
ovf() {
  cat <<OVF
<?xml version="1.0" encoding="UTF-8"?>
<Envelope xmlns="http://schemas.dmtf.org/ovf/envelope/1" xmlns:ovf="http://schemas.dmtf.org/ovf/envelope/1" xmlns:rasd="http://schemas.dmtf.org/wbem/wscim/1/cim-schema/2/CIM_ResourceAllocationSettingData" xmlns:vssd="http://schemas.dmtf.org/wbem/wscim/1/cim-schema/2/CIM_VirtualSystemSettingData">
  <References>
    <File ovf:href="$1" ovf:id="file1" ovf:size="$2"/>
  </References>
  <DiskSection>
    <Info>The system disk</Info>
    <Disk ovf:capacity="$((DISK_GIB << 30))" ovf:diskId="disk1" ovf:fileRef="file1" ovf:format="http://www.vmware.com/interfaces/specifications/vmdk.html#streamOptimized"/>
  </DiskSection>
  <NetworkSection>
    <Info>The network that the page is opened from and metrics come from</Info>
    <Network ovf:name="VM Network">
      <Description>The network that the page is opened from and metrics come from</Description>
    </Network>
  </NetworkSection>
  <VirtualSystem ovf:id="cistern">
    <Info>Cistern, a telemetry appliance</Info>
    <Name>Cistern</Name>
    <OperatingSystemSection ovf:id="96">
      <Info>Debian GNU/Linux, 64-bit</Info>
      <Description>Debian GNU/Linux 13 (64-bit)</Description>
    </OperatingSystemSection>
    <VirtualHardwareSection>
      <Info>Add disks for the telemetry: a mirror of two, or more</Info>
      <System>
        <vssd:ElementName>Virtual hardware family</vssd:ElementName>
        <vssd:InstanceID>0</vssd:InstanceID>
        <vssd:VirtualSystemIdentifier>cistern</vssd:VirtualSystemIdentifier>
        <vssd:VirtualSystemType>vmx-14 virtualbox-2.2</vssd:VirtualSystemType>
      </System>
      <Item>
        <rasd:AllocationUnits>hertz * 10^6</rasd:AllocationUnits>
        <rasd:Description>Number of processors</rasd:Description>
        <rasd:ElementName>$OVA_PROCESSORS processors</rasd:ElementName>
        <rasd:InstanceID>1</rasd:InstanceID>
        <rasd:ResourceType>3</rasd:ResourceType>
        <rasd:VirtualQuantity>$OVA_PROCESSORS</rasd:VirtualQuantity>
      </Item>
      <Item>
        <rasd:AllocationUnits>byte * 2^20</rasd:AllocationUnits>
        <rasd:Description>Memory</rasd:Description>
        <rasd:ElementName>$OVA_MEMORY_MIB MiB of memory</rasd:ElementName>
        <rasd:InstanceID>2</rasd:InstanceID>
        <rasd:ResourceType>4</rasd:ResourceType>
        <rasd:VirtualQuantity>$OVA_MEMORY_MIB</rasd:VirtualQuantity>
      </Item>
      <Item>
        <rasd:Address>0</rasd:Address>
        <rasd:Description>SCSI controller</rasd:Description>
        <rasd:ElementName>scsiController0</rasd:ElementName>
        <rasd:InstanceID>3</rasd:InstanceID>
        <rasd:ResourceSubType>lsilogic</rasd:ResourceSubType>
        <rasd:ResourceType>6</rasd:ResourceType>
      </Item>
      <Item>
        <rasd:AddressOnParent>0</rasd:AddressOnParent>
        <rasd:ElementName>disk1</rasd:ElementName>
        <rasd:HostResource>ovf:/disk/disk1</rasd:HostResource>
        <rasd:InstanceID>4</rasd:InstanceID>
        <rasd:Parent>3</rasd:Parent>
        <rasd:ResourceType>17</rasd:ResourceType>
      </Item>
      <Item>
        <rasd:AddressOnParent>1</rasd:AddressOnParent>
        <rasd:AutomaticAllocation>true</rasd:AutomaticAllocation>
        <rasd:Connection>VM Network</rasd:Connection>
        <rasd:Description>Network card</rasd:Description>
        <rasd:ElementName>ethernet0</rasd:ElementName>
        <rasd:InstanceID>5</rasd:InstanceID>
        <rasd:ResourceSubType>E1000</rasd:ResourceSubType>
        <rasd:ResourceType>10</rasd:ResourceType>
      </Item>
    </VirtualHardwareSection>
    <ProductSection>
      <Info>What is in it</Info>
      <Product>Cistern</Product>
      <FullVersion>$3</FullVersion>
    </ProductSection>
  </VirtualSystem>
</Envelope>
OVF
}
