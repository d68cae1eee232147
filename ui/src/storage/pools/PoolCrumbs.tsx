// From a page about a pool back to the pool, and to all of them.
import { type Crumb, Crumbs } from '../../shells/PageShell.tsx';
import { poolPath } from './queries.ts';

export const storageCrumb: Crumb = ['Storage', '/storage'];

export function PoolCrumbs({ name, last }: { name: string; last?: string }) {
  return last === undefined ? (
    <Crumbs way={[storageCrumb]} here={name} />
  ) : (
    <Crumbs way={[storageCrumb, [name, poolPath(name)]]} here={last} />
  );
}
