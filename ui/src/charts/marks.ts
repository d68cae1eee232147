// Marks of a chart, of which many become counted groups: side by side they would cover what is drawn, and say nothing.
import { plural } from '../words/format.ts';

/** More marks in view than this are drawn in groups. */
const MOST_SINGLE = 50;
const rank = { info: 0, warning: 1, critical: 2 } as const;

interface Marked {
  readonly time: number;
  readonly severity: keyof typeof rank;
  readonly kind: string;
  readonly title: string;
}

/** Marks beside each other: one of them, or a group that is drawn as their number. */
export interface MarkGroup {
  /** Of the first of them, seconds. */
  readonly time: number;
  /** Of the last of them. */
  readonly last: number;
  /** The worst. */
  readonly severity: Marked['severity'];
  readonly marks: readonly Marked[];
}

/**
 * What begins within the time that is shown, by its time.
 * @param width as many seconds at most are one group when there are more than fifty
 */
export function groupsOf(marks: readonly Marked[], start: number, end: number, width: number): MarkGroup[] {
  const inView = marks.filter(({ time }) => time >= start && time <= end).sort((a, b) => a.time - b.time);
  const apart = inView.length > MOST_SINGLE ? width : -1;
  const groups: MarkGroup[] = [];
  for (const mark of inView) {
    const before = groups.at(-1);
    if (before === undefined || mark.time - before.time > apart) {
      groups.push({ time: mark.time, last: mark.time, severity: mark.severity, marks: [mark] });
      continue;
    }
    const severity = rank[mark.severity] > rank[before.severity] ? mark.severity : before.severity;
    groups[groups.length - 1] = { ...before, last: mark.time, severity, marks: [...before.marks, mark] };
  }
  return groups;
}

/** "12 events: 10 alerts, 2 snapshots", or what a single one is called. */
export function groupInWords({ marks }: MarkGroup): string {
  const [first] = marks;
  if (marks.length === 1 && first !== undefined) return first.title;
  const kinds = [...Map.groupBy(marks, ({ kind }) => kind)].sort(([, a], [, b]) => b.length - a.length);
  return `${plural(marks.length, 'event')}: ${kinds.map(([kind, all]) => plural(all.length, kind)).join(', ')}`;
}
