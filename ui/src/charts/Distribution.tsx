// The distribution of one column of a heatmap, or of all of it: bars by value, and its quantiles.

import { quantity, type Unit } from '../words/format.ts';
import type { Bins } from './distribution.ts';
import { countWords, quantile, shownQuantiles, total } from './distribution.ts';
import { gridOf, type Scale, valueAt } from './shading.ts';

const ROWS = 24;

export interface DistributionProps {
  /** null: not known yet. */
  bins: Bins | null;
  unit: Unit;
  scale: Scale;
  title: string;
}

export function Distribution({ bins: known, unit, scale, title }: DistributionProps) {
  const bins = known ?? [];
  const count = total(bins);
  const grid = gridOf([{ time: 0, bins }], { start: 0, step: 1, columns: 1, rows: ROWS, scale, trim: 0 });
  const most = Math.max(...grid.counts);
  return (
    <section className="cistern-distribution" aria-label={`Distribution: ${title}`}>
      <h3>{title}</h3>
      {known !== null && <p className="cistern-quiet">{countWords(count)}</p>}
      {count > 0 && (
        <>
          <div className="cistern-bars" aria-hidden>
            {Array.from(grid.counts, (value, row) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a row is its place
              <div key={row} title={`${quantity(valueAt(row / ROWS, grid), unit)}: ${Math.round(value)}`}>
                <i style={{ width: value > 0 ? `${Math.max(2, (100 * value) / most)}%` : 0 }} />
              </div>
            )).reverse()}
          </div>
          <dl>
            {shownQuantiles.map(([name, q]) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{quantity(quantile(bins, q) ?? 0, unit)}</dd>
              </div>
            ))}
          </dl>
        </>
      )}
    </section>
  );
}
