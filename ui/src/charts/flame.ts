// Stacks as a flame graph: as wide as the share of samples they were met in, callers below.
import { seriesColour } from './palette.ts';

export interface FlameNode {
  readonly name: string;
  count: number;
  readonly children: Map<string, FlameNode>;
}

export function flameOf(stacks: readonly { frames: string[]; count: number }[]): FlameNode {
  const root: FlameNode = { name: 'all', count: 0, children: new Map() };
  for (const { frames, count } of stacks) {
    root.count += count;
    let node = root;
    for (const name of frames) {
      let child = node.children.get(name);
      if (child === undefined) {
        child = { name, count: 0, children: new Map() };
        node.children.set(name, child);
      }
      child.count += count;
      node = child;
    }
  }
  return root;
}

interface Block {
  readonly path: readonly string[];
  readonly name: string;
  readonly left: number;
  readonly width: number;
  readonly depth: number;
  readonly count: number;
}

/** Frames narrower than this share of the whole cannot be seen. */
const LEAST = 0.002;

export function blocksOf(
  node: FlameNode,
  path: readonly string[] = [],
  left = 0,
  depth = 0,
  whole = node.count,
): Block[] {
  const width = whole === 0 ? 1 : node.count / whole;
  if (width < LEAST) return [];
  const found: Block[] = [{ path, name: node.name, left, width, depth, count: node.count }];
  let at = left;
  for (const child of [...node.children.values()].sort((a, b) => (a.name < b.name ? -1 : 1))) {
    found.push(...blocksOf(child, [...path, child.name], at, depth + 1, whole));
    at += child.count / Math.max(1, whole);
  }
  return found;
}

/** The height of a frame, in pixels. */
export const ROW = 20;

/** The same blocks on a canvas. */
export function flameCanvas(
  blocks: readonly Block[],
  shown: (name: string) => string,
  dark: boolean,
): HTMLCanvasElement {
  const width = 1200;
  const depth = Math.max(1, ...blocks.map((block) => block.depth + 1));
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [width, depth * ROW];
  const context = canvas.getContext('2d') as CanvasRenderingContext2D;
  context.font = '12px RedHatText, sans-serif';
  context.textBaseline = 'middle';
  for (const block of blocks) {
    const [x, y, wide] = [block.left * width, (depth - 1 - block.depth) * ROW, block.width * width - 1];
    context.fillStyle = dark ? '#292929' : '#f2f2f2';
    context.fillRect(x, y, wide, ROW - 1);
    context.fillStyle = seriesColour(block.path.length + block.name.length, dark);
    context.fillRect(x, y, 3, ROW - 1);
    if (wide < 24) continue;
    context.fillStyle = dark ? '#ffffff' : '#151515';
    context.save();
    context.beginPath();
    context.rect(x, y, wide, ROW);
    context.clip();
    context.fillText(shown(block.name), x + 7, y + ROW / 2);
    context.restore();
  }
  return canvas;
}
