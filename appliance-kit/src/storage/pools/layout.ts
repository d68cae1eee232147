// How disks are laid out in a pool: the one rule for making a pool and for adding to one.

import type { VdevPlan } from '../../platform/pool.ts';
import type { VdevKind } from '../../platform/poolActions.ts';
import { advise, type LayoutId } from '../disks/index.ts';
import type { Disk } from '../inventory/index.ts';

/**
 * The vdevs that `disks` make as `kind`, as disk ids. `there` is the type of the pool's data vdevs; null: these are
 * its first. What will not do is thrown as `wrong` makes it of the reason.
 */
export function laidOut(
  kind: VdevKind,
  id: LayoutId,
  disks: readonly Disk[],
  there: string | null,
  wrong: (reason: string) => Error,
): readonly VdevPlan[] {
  if ((kind === 'spare' || kind === 'cache') && id !== 'stripe') {
    throw wrong(`A ${kind} has no layout; every disk stands for itself (stripe).`);
  }
  const layout = advise(disks).layouts.find((one) => one.id === id);
  if (layout === undefined || !layout.allowed) throw wrong(layout?.reason ?? 'It is not known.');
  const type = vdevType(layout.vdevs);
  if (kind === 'log' && type.startsWith('raidz')) throw wrong('A log is a mirror, or disks by themselves (stripe).');
  if ((kind === 'data' || kind === 'special') && there !== null && there !== 'disk') {
    // A pool is as safe as its weakest vdev: losing that one loses all.
    if (type === 'disk') {
      throw wrong('The pool keeps everything twice or more; a disk without a second copy would put all of it at risk.');
    }
    if (kind === 'data' && type !== there) throw wrong(`The pool is made of ${there} groups; add the same kind.`);
  }
  return layout.vdevs;
}

/** As a pool's tree names it: a vdev of one disk is a disk. */
export function vdevType(vdevs: readonly VdevPlan[]): string {
  const type = vdevs[0]?.type ?? 'stripe';
  return type === 'stripe' ? 'disk' : type;
}
