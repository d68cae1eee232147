// The stacks of a profile as a flame graph. A click makes a frame the whole.
import { Button } from '@patternfly/react-core';
import { useQuery } from '@tanstack/react-query';
import { type RefObject, useEffect, useMemo, useState } from 'react';
import { answerOf, client } from '../../api/client.ts';
import { useAxis, useSettled } from '../../charts/axis.ts';
import { csv, download, type Exporter, fileName, picture } from '../../charts/download.ts';
import { blocksOf, flameCanvas, flameOf, ROW } from '../../charts/flame.ts';
import { seriesColour } from '../../charts/palette.ts';
import { useDark } from '../../theme/theme.ts';
import { percent, plural } from '../../words/format.ts';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { shown } from '../statistics/statistic.ts';

const MAX_SECONDS = 600;

export function FlameGraph({
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
  const seconds = Math.round(Math.min(settled.range, MAX_SECONDS));
  const { data, error, refetch } = useQuery({
    queryKey: ['analytics', 'stacks', name, seconds],
    queryFn: ({ signal }) =>
      answerOf(
        client.GET('/api/statistic-datasets/{name}/stacks', { params: { path: { name }, query: { seconds } }, signal }),
      ),
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
      png: () =>
        void picture(flameCanvas(blocks, shown, dark), title, [], dark).then((blob) =>
          download(blob, fileName(title, 'png')),
        ),
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
