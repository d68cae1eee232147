// The distribution of one column of a heatmap, or of all of it: bars by value, and its quantiles.
import type { Bins } from '../api/columns.ts';
import { cellsOf, countWords, extentOf, quantileOf, type Scale, shownQuantiles, valueAtPlace } from './bins.ts';
import type { Figure } from './units.ts';

const ROWS = 24;

export interface DistributionProps {
  /** null: not known yet. */
  bins: Bins | null;
  figure: Figure;
  scale: Scale;
  title: string;
  /** The title of its chart: one page may have several. */
  of: string;
}

export function Distribution({ bins, figure, scale, title, of }: DistributionProps) {
  const extent = bins === null ? null : extentOf(bins, scale, 0);
  const counts = bins === null || extent === null ? new Float64Array() : cellsOf([bins], extent, ROWS);
  const largest = Math.max(...counts);
  return (
    <section className="cistern-distribution" aria-label={`Distribution of ${of}: ${title}`}>
      <h3>{title}</h3>
      {bins !== null && <p className="cistern-quiet">{countWords(bins.total)}</p>}
      {bins !== null && extent !== null && bins.total > 0 && (
        <>
          <div className="cistern-bars" aria-hidden>
            {Array.from(counts, (value, row) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a row is its place
              <div key={row} title={`${figure(valueAtPlace(row / ROWS, extent))}: ${Math.round(value)}`}>
                <i style={{ width: value > 0 ? `${Math.max(2, (100 * value) / largest)}%` : 0 }} />
              </div>
            )).reverse()}
          </div>
          <dl>
            {shownQuantiles.map(([name, q]) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{figure(quantileOf(bins, q))}</dd>
              </div>
            ))}
          </dl>
        </>
      )}
    </section>
  );
}
