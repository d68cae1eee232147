// How a set of disks can be laid out, what each way costs and survives, and which one is recommended.
import { fail } from '../../base/problems/problem.ts';
import { plural, size } from '../../base/words.ts';
import type { VdevPlan } from '../../platform/pool.ts';
import type { Disk } from '../inventory/index.ts';
import type { Layout, LayoutAdvice, LayoutId } from './schema.ts';

/**
 * What is left of the raw size for data: ZFS keeps 1/32 back so that deleting still works on a full pool, and a
 * little for labels and its own structures. An estimate, shown as one.
 */
const KEPT = 0.96;

/** The disk, if a pool may be made of it; else the problem that names it. */
export function usable(disks: readonly Disk[], id: string): Disk {
  const disk = disks.find((one) => one.id === id);
  if (disk === undefined) {
    throw fail('disk_missing', `The disk ${id} is not there.`, 'Check its cabling, or choose another disk.');
  }
  const name = `${disk.path} (${disk.model} ${disk.serial})`;
  if (disk.state === 'too_small') {
    throw fail('disk_too_small', `The disk ${name} cannot be used. ${disk.reason}`, 'Choose a larger disk.');
  }
  if (disk.state !== 'available') {
    throw fail('disk_in_use', `The disk ${name} cannot be used. ${disk.reason}`, 'Choose another disk.');
  }
  return disk;
}

/** Disks of like size side by side, since the smallest of a vdev decides. */
function bySize(disks: readonly Disk[]): Disk[] {
  return [...disks].sort((a, b) => a.bytes - b.bytes || (a.id < b.id ? -1 : 1));
}

/** Groups of `width`; what is left over joins the last one. */
function groups(disks: readonly Disk[], width: number): Disk[][] {
  const made: Disk[][] = [];
  for (let at = 0; at + width <= disks.length; at += width) made.push(disks.slice(at, at + width));
  made.at(-1)?.push(...disks.slice(made.length * width));
  return made;
}

const smallest = (disks: readonly Disk[]) => Math.min(...disks.map((disk) => disk.bytes));

interface Shape {
  readonly id: LayoutId;
  readonly title: string;
  readonly explanation: string;
  readonly fewest: number;
  /** For instance: a number that can be divided by three. */
  readonly fits?: (count: number) => string | null;
  readonly vdev: VdevPlan['type'];
  readonly survives: number;
  readonly group: (disks: Disk[]) => Disk[][];
  readonly space: (group: Disk[]) => number;
}

const whole = (disks: Disk[]) => [disks];
const raidz = (parity: 1 | 2 | 3, explanation: string): Shape => ({
  id: `raidz${parity}`,
  title: `RAID-Z${parity}`,
  explanation,
  fewest: parity + 2,
  vdev: `raidz${parity}`,
  survives: parity,
  group: whole,
  space: (group) => smallest(group) * (group.length - parity),
});

const shapes: readonly Shape[] = [
  {
    id: 'mirror',
    title: 'Mirrors',
    explanation:
      'Each piece of data is on two disks. Fast to read and to write, quick to rebuild, and easy to extend by two disks at a time. One disk of each mirror may fail.',
    fewest: 2,
    vdev: 'mirror',
    survives: 1,
    group: (disks) => groups(disks, 2),
    space: smallest,
  },
  {
    id: 'mirror3',
    title: 'Three-way mirrors',
    explanation:
      'Each piece of data is on three disks. Two disks of each mirror may fail, at the price of two thirds of the space.',
    fewest: 3,
    fits: (count) => (count % 3 === 0 ? null : 'It needs a number of disks that can be divided by three.'),
    vdev: 'mirror',
    survives: 2,
    group: (disks) => groups(disks, 3),
    space: smallest,
  },
  raidz(1, 'One disk’s worth of space goes to parity. Any one disk may fail; rebuilding reads every other disk.'),
  raidz(
    2,
    'Two disks’ worth of space go to parity. Any two disks may fail. More space than mirrors, slower for small writes.',
  ),
  raidz(3, 'Three disks’ worth of space go to parity. Any three disks may fail. For many large disks.'),
  {
    id: 'stripe',
    title: 'No redundancy',
    explanation: 'All space is used and nothing is kept twice. When any one disk fails, all data on the pool is lost.',
    fewest: 1,
    vdev: 'stripe',
    survives: 0,
    group: whole,
    space: (group) => group.reduce((sum, disk) => sum + disk.bytes, 0),
  },
];

function layout(shape: Shape, disks: Disk[]): Layout {
  const reason =
    disks.length < shape.fewest
      ? `It needs ${plural(shape.fewest, 'disk')} or more; ${disks.length === 0 ? 'none is' : `${disks.length} ${disks.length === 1 ? 'is' : 'are'}`} chosen.`
      : (shape.fits?.(disks.length) ?? null);
  const made = reason === null ? shape.group(disks) : [];
  return {
    id: shape.id,
    title: shape.title,
    explanation: shape.explanation,
    usableBytes: Math.floor(made.reduce((sum, group) => sum + shape.space(group), 0) * KEPT),
    survives: shape.survives,
    allowed: reason === null,
    reason,
    vdevs: made.map((group) => ({ type: shape.vdev, disks: group.map((disk) => disk.id) })),
  };
}

export function advise(disks: readonly Disk[]): LayoutAdvice {
  const sorted = bySize(disks);
  const layouts = shapes.map((shape) => layout(shape, sorted));
  const warnings: string[] = [];
  const [first, last] = [sorted[0], sorted.at(-1)];
  if (sorted.length === 1)
    warnings.push('One disk has no second copy: when it fails, all data is lost. Choose two or more.');
  if (first !== undefined && last !== undefined && last.bytes > first.bytes * 1.01) {
    warnings.push(
      `The disks differ in size (${size(first.bytes)} to ${size(last.bytes)}). In a mirror or RAID-Z group only as much as the smallest holds is used of each.`,
    );
  }
  if (sorted.length > 2 && sorted.length % 2 === 1) {
    warnings.push(
      'The number of disks is odd: the last mirror gets three disks. One disk more would add space instead.',
    );
  }
  if (new Set(sorted.map((disk) => disk.rotational)).size > 1) {
    warnings.push('Some disks rotate and some do not. A pool is as slow as its slowest disks.');
  }
  const recommended = layouts.find(({ id, allowed }) => id === 'mirror' && allowed)?.id ?? '';
  return { recommended, warnings, layouts };
}
