// Stacks as a flame graph: as wide as the share of samples they were met in, callers below. A click makes a frame the whole.
import { Button } from '@patternfly/react-core';
import { useQuery } from '@tanstack/react-query';
import { type RefObject, useEffect, useMemo, useState } from 'react';
import { answerOf, client } from '../../api/client.ts';
import { useAxis, useSettled } from '../../charts/axis.ts';
import { csv, download, fileName, picture } from '../../charts/download.ts';
import { seriesColour } from '../../charts/palette.ts';
import { useDark } from '../../theme/theme.ts';
import { percent, plural } from '../../words/format.ts';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { shown } from '../statistics/statistic.ts';
import type { Exporter } from './SeriesBody.tsx';

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

/** The same blocks on a canvas. */
function flamePicture(blocks: readonly Block[], title: string, dark: boolean): Promise<Blob> {
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
  return picture(canvas, title, [], dark);
}

const ROW = 20;
const MOST_SECONDS = 600;

export function Flame({
  name,
  title,
  exporter,
}: {
  name: string;
  title: string;
  exporter: RefObject<Exporter | null>;
}) {
  const settled = useSettled(useAxis());
  const dark = useDark();
  const [zoomed, setZoomed] = useState<readonly string[]>([]);
  const seconds = Math.round(Math.min(settled.range, MOST_SECONDS));
  const { data, error, refetch } = useQuery({
    queryKey: ['analytics', 'stacks', name, seconds],
    queryFn: ({ signal }) =>
      answerOf(client.GET('/api/analytics/stacks', { params: { query: { name, seconds } }, signal })),
    refetchInterval: 2_000,
    placeholderData: (before) => before,
  });
  const root = useMemo(() => flameOf(data?.stacks ?? []), [data]);
  const blocks = useMemo(() => {
    let node = root;
    const path: string[] = [];
    for (const frame of zoomed) {
      const child = node.children.get(frame);
      if (child === undefined) break;
      node = child;
      path.push(frame);
    }
    return blocksOf(node, path);
  }, [root, zoomed]);
  useEffect(() => {
    exporter.current = {
      png: () => void flamePicture(blocks, title, dark).then((blob) => download(blob, fileName(title, 'png'))),
      csv: () => {
        const rows = (data?.stacks ?? []).map(({ frames, count }) => [frames.join(';'), count]);
        download(new Blob([csv([['stack', 'samples'], ...rows])], { type: 'text/csv' }), fileName(title, 'csv'));
      },
    };
  }, [data, blocks, dark, title, exporter]);
  if (error && data === undefined) return <ProblemAlert error={error} retry={() => void refetch()} />;
  const depth = Math.max(1, ...blocks.map((block) => block.depth + 1));
  return (
    <>
      <p className="cistern-quiet">
        {data === undefined
          ? 'Waiting for the first samples.'
          : `${plural(data.samples, 'sample')} of the last ${plural(seconds, 'second')}; stacks are kept for ten minutes, in memory only.`}{' '}
        {zoomed.length > 0 && (
          <Button variant="link" isInline onClick={() => setZoomed([])}>
            Show all
          </Button>
        )}
      </p>
      <section className="cistern-flame" style={{ height: depth * ROW }} aria-label={`Flame graph of ${title}`}>
        {blocks.map((block) => {
          const share = root.count === 0 ? 0 : block.count / root.count;
          const text = `${shown(block.name)}: ${percent(share)} of all samples`;
          return (
            <button
              type="button"
              key={block.path.join('\u0000')}
              title={text}
              aria-label={text}
              style={{
                left: `${block.left * 100}%`,
                width: `${block.width * 100}%`,
                bottom: block.depth * ROW,
                height: ROW - 1,
                borderInlineStartColor: seriesColour(block.path.length + block.name.length, dark),
              }}
              onClick={() => setZoomed(block.path)}
            >
              {shown(block.name)}
            </button>
          );
        })}
      </section>
    </>
  );
}
