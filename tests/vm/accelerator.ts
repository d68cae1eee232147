// Prints what the machines of this host run on: a saved memory fits no other.
import { cpus } from 'node:os';
import { kvmWorks } from './qemu.ts';

console.log((await kvmWorks()) ? `kvm, ${cpus()[0]?.model}` : 'tcg');
