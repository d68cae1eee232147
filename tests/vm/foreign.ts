// Disks of somebody else, as files: just enough of their metadata for libblkid (util-linux) to know them by.
import { closeSync, ftruncateSync, openSync, rmSync, writeSync } from 'node:fs';
import { qemuImg } from './qemu.ts';

/** Linux' software RAID, metadata 1.2 (include/uapi/linux/raid/md_p.h). */
function softwareRaid(): [number, Buffer] {
  const block = Buffer.alloc(256);
  block.writeUInt32LE(0xa92b4efc, 0);
  block.writeUInt32LE(1, 4); // major version
  Buffer.from('0123456789abcdef').copy(block, 16); // of the array
  block.write('nas:0', 32);
  block.writeUInt32LE(1, 72); // level
  block.writeUInt32LE(2, 92); // disks
  block.writeBigUInt64LE(8n, 144); // where this stands, in sectors
  Buffer.from('fedcba9876543210').copy(block, 168); // of the disk
  let sum = 0n;
  for (let i = 0; i < block.length; i += 4) sum += BigInt(block.readUInt32LE(i));
  block.writeUInt32LE(Number(((sum & 0xffffffffn) + (sum >> 32n)) & 0xffffffffn), 216);
  return [4096, block];
}

/** LVM's label in the second sector. Its checksum is CRC-32 from another start, without the inversion at the end. */
function lvm(): [number, Buffer] {
  const label = Buffer.alloc(512);
  label.write('LABELONE', 0);
  label.writeBigUInt64LE(1n, 8);
  label.writeUInt32LE(32, 20);
  label.write('LVM2 001', 24);
  label.write('abcdefghijklmnopqrstuvwxyz012345', 32);
  let crc = 0xf597a6cf;
  for (const byte of label.subarray(20)) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  label.writeUInt32LE(crc >>> 0, 16);
  return [512, label];
}

/** Intel's RAID of mainboards: a signature in the last sector but one. */
function intelRaid(bytes: number): [number, Buffer] {
  const sector = Buffer.alloc(512);
  sector.write('Intel Raid ISM Cfg Sig. 1.1.00', 0);
  return [bytes - 1024, sector];
}

/** Makes the file (qcow2) of a disk that has been used by something else. */
export function foreignDisk(file: string, bytes: number, kind: 'software RAID' | 'LVM' | 'RAID controller'): void {
  const [at, content] = kind === 'LVM' ? lvm() : kind === 'software RAID' ? softwareRaid() : intelRaid(bytes);
  const raw = `${file}.raw`;
  const fd = openSync(raw, 'w');
  ftruncateSync(fd, bytes);
  writeSync(fd, content, 0, content.length, at);
  closeSync(fd);
  qemuImg('convert', '-f', 'raw', '-O', 'qcow2', raw, file);
  rmSync(raw);
}
