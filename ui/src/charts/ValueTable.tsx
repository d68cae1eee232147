// The values of a breakdown beside their chart: how much each was over the time that is seen. Sorted by what one likes;
// while the pointer is in it, rows keep their places.
import { useRef, useState } from 'react';
import { useDark } from '../theme/theme.ts';
import { compact } from '../words/format.ts';
import { baseUnit, scaleOf } from '../words/units.ts';
import { Swatch } from './Legend.tsx';
import type { NamedLine, Stats } from './lines.ts';
import type { Figure } from './units.ts';

export interface Row {
  readonly line: NamedLine;
  readonly stats: Stats;
  /** At the cursor, or the last one. */
  readonly now: number;
}
type Column = 'text' | 'now' | 'average' | 'min' | 'max' | 'sum';

const SHOWN = 12;

export function ValueTable(props: {
  label: string;
  rows: readonly Row[];
  figure: Figure;
  /** A sum over time: only where adding up seconds means something. */
  sum: Figure | null;
  atCursor: boolean;
  highlight: readonly string[];
  onHighlight: (key: string) => void;
  onDrill: ((key: string) => void) | undefined;
}) {
  const { rows, figure, sum } = props;
  const [sort, setSort] = useState<{ by: Column; descending: boolean }>({ by: 'average', descending: true });
  const [all, setAll] = useState(false);
  const [held, setHeld] = useState(false);
  const order = useRef<string[]>([]);
  const dark = useDark();

  const sortedBy = ({ line, stats, now }: Row): number | string =>
    sort.by === 'text' ? line.text : sort.by === 'now' ? now : stats[sort.by];
  const sorted = [...rows].sort((a, b) => {
    const [x, y] = [sortedBy(a), sortedBy(b)];
    const way =
      typeof x === 'string' || typeof y === 'string'
        ? String(x).localeCompare(String(y), undefined, { numeric: true })
        : (Number.isNaN(x) ? -Infinity : x) - (Number.isNaN(y) ? -Infinity : y) || 0;
    return (sort.descending ? -way : way) || a.line.key.localeCompare(b.line.key);
  });
  const place = new Map(order.current.map((key, index) => [key, index]));
  const inPlace =
    held && order.current.length > 0
      ? [...sorted].sort((a, b) => (place.get(a.line.key) ?? 1e9) - (place.get(b.line.key) ?? 1e9))
      : sorted;
  order.current = inPlace.map(({ line }) => line.key);
  const shown = all ? inPlace : inPlace.slice(0, SHOWN);

  const columns: [Column, string, string][] = [
    ['now', props.atCursor ? 'At cursor' : 'Last', 'cistern-number'],
    ['average', 'Average', 'cistern-number'],
    ['min', 'Min', 'cistern-number cistern-wide-cell'],
    ['max', 'Max', 'cistern-number'],
    ...(sum === null ? [] : ([['sum', 'Sum', 'cistern-number cistern-wide-cell']] as [Column, string, string][])),
  ];
  const head = ([by, text, className]: [Column, string, string]) => (
    <th
      key={by}
      scope="col"
      className={className}
      aria-sort={sort.by === by ? (sort.descending ? 'descending' : 'ascending') : undefined}
    >
      <button
        type="button"
        onClick={() => {
          // A new order is what was asked for, also by a pointer that is in the table.
          order.current = [];
          setSort({ by, descending: sort.by === by ? !sort.descending : by !== 'text' });
        }}
      >
        {text}
        <span aria-hidden>{sort.by === by ? (sort.descending ? ' ↓' : ' ↑') : ''}</span>
      </button>
    </th>
  );
  return (
    <div className="cistern-valuetable" onPointerEnter={() => setHeld(true)} onPointerLeave={() => setHeld(false)}>
      <table aria-label={props.label}>
        <thead>
          <tr>
            {head(['text', 'Value', ''])}
            {columns.map(head)}
          </tr>
        </thead>
        <tbody>
          {shown.map(({ line, stats, now }) => {
            const bright = props.highlight.includes(line.key);
            const number = (value: number, write: Figure = figure) => (Number.isNaN(value) ? '–' : write(value));
            const cells: Record<Exclude<Column, 'text'>, string> = {
              now: number(now),
              average: number(stats.average),
              min: number(stats.min),
              max: number(stats.max),
              sum: sum === null ? '' : number(stats.sum, sum),
            };
            return (
              <tr
                key={line.key}
                data-highlight={bright}
                onDoubleClick={() => line.drillable && props.onDrill?.(line.key)}
              >
                <th scope="row">
                  <button
                    type="button"
                    aria-pressed={bright}
                    title={
                      props.onDrill && line.drillable
                        ? `${line.text}: click highlights, Enter or a double click drills down`
                        : `${line.text}: click highlights`
                    }
                    onClick={(event) => {
                      // Enter is a click too, for a button: here it drills.
                      if (event.detail === 0 && props.onDrill && line.drillable) props.onDrill(line.key);
                      else props.onHighlight(line.key);
                    }}
                    onKeyDown={(event) => {
                      if (event.key !== ' ') return;
                      event.preventDefault();
                      props.onHighlight(line.key);
                    }}
                  >
                    <Swatch swatch={{ colour: line.colour }} dark={dark} />
                    <span>{line.text}</span>
                  </button>
                </th>
                {columns.map(([by, , className]) => (
                  <td key={by} className={className}>
                    {cells[by as Exclude<Column, 'text'>]}
                  </td>
                ))}
              </tr>
            );
          })}
        </tbody>
      </table>
      {rows.length > SHOWN && (
        <button type="button" className="cistern-linkbutton" onClick={() => setAll(!all)}>
          {all ? `Only the first ${SHOWN}` : `All ${rows.length} values`}
        </button>
      )}
    </div>
  );
}

/** Sums have no "per second", and are long. */
export function sumFigure(unit: string, figure: (unit: string, perSecond: boolean) => Figure): Figure {
  return scaleOf(unit)?.base === 'bytes' ? figure(baseUnit(unit), false) : (value) => compact(value);
}
