// What the lines and shades of a chart stand for, each with its value: that under the cursor, or without one the last.
import { useRef } from 'react';
import { seriesColour } from './palette.ts';

export interface LegendItem {
  readonly key: string;
  readonly text: string;
  /** With its unit; null: what it stands for has no single value. */
  readonly value: string | null;
  /** `colour` is a place among the series' colours (−1: grey). */
  readonly swatch: { readonly colour: number } | 'plain' | 'dashed' | 'limit' | 'hatched' | 'ramp';
}

/** Most values are no longer than "1,023 MiB/s". */
const RESERVED = 6;
const clock = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' });

export function Swatch({ swatch, dark }: { swatch: LegendItem['swatch']; dark: boolean }) {
  if (typeof swatch === 'string') return <i className={`cistern-swatch cistern-swatch-${swatch}`} aria-hidden />;
  const background = swatch.colour < 0 ? 'var(--cistern-line)' : seriesColour(swatch.colour, dark);
  return <i className="cistern-swatch" style={{ background }} aria-hidden />;
}

export function Legend(props: {
  /** Of what it is the legend. */
  title: string;
  items: readonly LegendItem[];
  /** Where the cursor is; null: the values are the last ones. */
  cursor: number | null;
  dark: boolean;
  /** Lines can be picked out: those that are. */
  highlight?: readonly string[];
  onHighlight?: (key: string) => void;
}) {
  const { items, cursor, dark, highlight = [], onHighlight } = props;
  /** A value that was long once keeps its room: nothing moves while values change. */
  const widths = useRef(new Map<string, number>());
  if (items.length === 0) return null;
  const widthOf = ({ key, value }: LegendItem): string => {
    const known = Math.max(widths.current.get(key) ?? RESERVED, value?.length ?? 0);
    widths.current.set(key, known);
    return `${known}ch`;
  };
  const content = (item: LegendItem) => (
    <>
      <Swatch swatch={item.swatch} dark={dark} />
      <span className="cistern-legend-text">{item.text}</span>
      {item.value !== null && (
        <span className="cistern-legend-value" style={{ minWidth: widthOf(item) }}>
          {item.value}
        </span>
      )}
    </>
  );
  return (
    <div className="cistern-legend">
      <span className="cistern-legend-when">{cursor === null ? 'Last' : clock.format(cursor * 1000)}</span>
      <ul aria-label={`Legend of ${props.title}`}>
        {items.map((item) => (
          <li key={item.key} data-dim={highlight.length > 0 && !highlight.includes(item.key)}>
            {onHighlight !== undefined && typeof item.swatch !== 'string' ? (
              <button
                type="button"
                aria-pressed={highlight.includes(item.key)}
                title={`${item.text}: highlights the line`}
                onClick={() => onHighlight(item.key)}
              >
                {content(item)}
              </button>
            ) : (
              <span>{content(item)}</span>
            )}
          </li>
        ))}
      </ul>
    </div>
  );
}
