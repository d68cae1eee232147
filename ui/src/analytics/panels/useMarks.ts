// What happened in the time that is shown: alerts, snapshots, scrubs, changes, and notes on the worksheet.
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { answerOf, client, type Schemas } from '../../api/client.ts';
import type { Settled } from '../../charts/axis.ts';
import type { PlotMark } from '../../charts/pen.ts';

export type Mark = Schemas['Mark'];
export interface PageMark extends PlotMark {
  readonly detail: string;
  readonly page: string | null;
}

const REFRESH_MS = 10_000;

export function useMarks(settled: Settled, annotations: Schemas['Annotation'][]) {
  const { range, end } = settled;
  const found = useQuery({
    queryKey: ['marks', range, end ?? 'live'],
    queryFn: ({ signal }) => {
      const to = Math.ceil(end ?? Date.now() / 1000) + range / 2;
      const from = Math.max(0, Math.floor(to - 2 * range));
      return answerOf(client.GET('/api/marks', { params: { query: { from, to } }, signal }));
    },
    refetchInterval: REFRESH_MS,
    placeholderData: keepPreviousData,
  });
  return useMemo((): readonly PageMark[] => {
    const seconds = (time: string) => Date.parse(time) / 1000;
    const marks = (found.data?.items ?? []).map(
      (mark): PageMark =>
        ({ ...mark, time: seconds(mark.time), endTime: mark.endTime && seconds(mark.endTime) }) as PageMark,
    );
    const notes = annotations.map(
      ({ time, text, by }): PageMark => ({
        time: seconds(time),
        endTime: null,
        severity: 'info',
        kind: 'note',
        title: text,
        detail: `noted by ${by}`,
        page: null,
      }),
    );
    return [...marks, ...notes].sort((a, b) => a.time - b.time);
  }, [found.data, annotations]);
}
