// The map of squares: where each host stands, and how it is drawn. 5,000 of them are one canvas.
import { chartColours, rampColour } from '../../charts/palette.ts';
import type { Group, Host, Values } from './view.ts';

const GAP = 2;
const HEADING = 24;
const BETWEEN = 10;
const [LEAST, MOST] = [8, 22];

export interface Square {
  readonly host: Host;
  readonly x: number;
  readonly y: number;
}

export interface Layout {
  readonly size: number;
  readonly squares: readonly Square[];
  readonly headings: readonly { readonly text: string; readonly y: number }[];
  readonly columns: number;
  readonly height: number;
}

/** The largest squares with which all are about as high as the window, within what can be seen and pointed at. */
export function layoutOf(groups: readonly Group[], width: number): Layout {
  const total = groups.reduce((sum, { hosts }) => sum + hosts.length, 0);
  const fitting = Math.floor(Math.sqrt((width * 600) / Math.max(1, total)));
  const size = Math.min(Math.max(fitting, LEAST), MOST);
  const columns = Math.max(1, Math.floor((width + GAP) / (size + GAP)));
  const squares: Square[] = [];
  const headings: { text: string; y: number }[] = [];
  let y = 0;
  for (const { title, hosts } of groups) {
    if (title !== '') {
      headings.push({ text: `${title} (${hosts.length})`, y: y + 16 });
      y += HEADING;
    }
    hosts.forEach((host, at) => {
      squares.push({ host, x: (at % columns) * (size + GAP), y: y + Math.floor(at / columns) * (size + GAP) });
    });
    y += Math.ceil(hosts.length / columns) * (size + GAP) + BETWEEN;
  }
  return { size, squares, headings, columns, height: y };
}

export function squareAt({ squares, size }: Layout, x: number, y: number): number {
  return squares.findIndex((one) => x >= one.x && x < one.x + size && y >= one.y && y < one.y + size);
}

/** The next square in the direction of an arrow key: the nearest one of the next row, or the next in the row. */
export function neighbour({ squares, size }: Layout, from: number, key: string): number {
  const here = squares[from];
  if (here === undefined) return 0;
  if (key === 'ArrowRight') return Math.min(from + 1, squares.length - 1);
  if (key === 'ArrowLeft') return Math.max(from - 1, 0);
  if (key === 'Home') return 0;
  if (key === 'End') return squares.length - 1;
  const down = key === 'ArrowDown';
  let best = from;
  let distance = Number.POSITIVE_INFINITY;
  squares.forEach((one, at) => {
    const rows = down ? one.y - here.y : here.y - one.y;
    if (rows <= 0) return;
    const away = rows * 10_000 + Math.abs(one.x - here.x);
    if (away < distance) [best, distance] = [at, away];
  });
  return distance < Number.POSITIVE_INFINITY && size > 0 ? best : from;
}

/** The range of what is filled; one that is empty has no shades. */
export function rangeOf(values: Values, hosts: readonly Host[], waiting: boolean): readonly [number, number] {
  let [least, most] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const { name } of hosts) {
    const value = values.get(name)?.value;
    if (value === undefined) continue;
    least = Math.min(least, value);
    most = Math.max(most, value);
  }
  if (least > most) return [0, 1];
  // A share of time means the same on each day.
  if (waiting) return [0, Math.max(most, 0.1)];
  const bottom = Math.min(0, least);
  return [bottom, most === bottom ? bottom + 1 : most];
}

export function paintMap(
  pen: CanvasRenderingContext2D,
  layout: Layout,
  given: {
    values: Values;
    range: readonly [number, number];
    dark: boolean;
    current: number;
    ratio: number;
    width: number;
  },
): void {
  const { values, range, dark, current, ratio, width } = given;
  const colours = chartColours(dark);
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, layout.height);
  pen.fillStyle = colours.text;
  pen.font = '14px "Red Hat Text", sans-serif';
  for (const { text, y } of layout.headings) pen.fillText(text, 0, y, width);
  const { size } = layout;
  layout.squares.forEach(({ host, x, y }, at) => {
    const value = values.get(host.name);
    if (value === undefined) {
      pen.strokeStyle = colours.dim;
      pen.lineWidth = 1;
      pen.strokeRect(x + 0.5, y + 0.5, size - 1, size - 1);
    } else {
      const [red, green, blue] = rampColour((value.value - range[0]) / (range[1] - range[0]), dark);
      pen.fillStyle = `rgb(${red} ${green} ${blue})`;
      pen.fillRect(x, y, size, size);
    }
    // States are shapes, so that no colour has to be told from another.
    if (host.state === 'absent' || host.state === 'late') {
      pen.strokeStyle = colours.text;
      pen.lineWidth = 1.5;
      pen.beginPath();
      pen.moveTo(x + 1, y + 1);
      pen.lineTo(x + size - 1, y + size - 1);
      if (host.state === 'absent') {
        pen.moveTo(x + size - 1, y + 1);
        pen.lineTo(x + 1, y + size - 1);
      }
      pen.stroke();
    }
    if (value?.unlike) {
      pen.strokeStyle = colours.limit;
      pen.lineWidth = 2;
      pen.strokeRect(x + 1, y + 1, size - 2, size - 2);
    }
    if (at === current) {
      pen.strokeStyle = colours.text;
      pen.lineWidth = 2;
      pen.strokeRect(x - 1, y - 1, size + 2, size + 2);
    }
  });
}
