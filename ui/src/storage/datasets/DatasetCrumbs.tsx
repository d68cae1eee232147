// From a page about a dataset back to those that it lies in, and to all of them.
import { type Crumb, Crumbs } from '../../shells/PageShell.tsx';
import { datasetPath } from './queries.ts';

export function DatasetCrumbs({ name, last }: { name: string; last?: string }) {
  const parts = name.split('/');
  const above = last === undefined ? parts.slice(0, -1) : parts;
  const way = above.map((part, at): Crumb => [part, datasetPath(parts.slice(0, at + 1).join('/'))]);
  return <Crumbs way={[['Datasets', '/storage/datasets'], ...way]} here={last ?? (parts.at(-1) as string)} />;
}
