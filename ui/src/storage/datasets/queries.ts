// What the pages of datasets and snapshots read. All of it is under the one topic `datasets` of the live updates.
import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { answerOf, client, type Schemas } from '../../api/client.ts';
import type { operations } from '../../api/schema.d.ts';

export type Dataset = Schemas['Dataset'];
export type DatasetDetail = Schemas['DatasetDetail'];
export type Snapshot = Schemas['Snapshot'];
export type SnapshotSchedule = Schemas['SnapshotSchedule'];
export type DatasetFilter = NonNullable<operations['listDatasets']['parameters']['query']>;
export type SnapshotFilter = NonNullable<operations['listSnapshots']['parameters']['query']>;

const SAFETY_NET = 15_000;
const topic = 'datasets';

export const datasetsQuery = (query: DatasetFilter) =>
  queryOptions({
    queryKey: [topic, 'list', query],
    queryFn: ({ signal }) => answerOf(client.GET('/api/datasets', { params: { query }, signal })),
    refetchInterval: SAFETY_NET,
    // The page that is seen stays until the next one is there.
    placeholderData: keepPreviousData,
  });
export const datasetQuery = (name: string) =>
  queryOptions({
    queryKey: [topic, 'one', name],
    queryFn: ({ signal }) => answerOf(client.GET('/api/datasets/{name}', { params: { path: { name } }, signal })),
    refetchInterval: SAFETY_NET,
  });
export const hindrancesQuery = (name: string) =>
  queryOptions({
    queryKey: [topic, 'hindrances', name],
    queryFn: ({ signal }) =>
      answerOf(client.GET('/api/datasets/{name}/destroy-preview', { params: { path: { name } }, signal })),
  });
export const compressionsQuery = queryOptions({
  queryKey: ['compressions'],
  queryFn: async ({ signal }) => (await answerOf(client.GET('/api/dataset-compressions', { signal }))).items,
  staleTime: Number.POSITIVE_INFINITY,
});
export const snapshotsQuery = (query: SnapshotFilter) =>
  queryOptions({
    queryKey: [topic, 'snapshots', query],
    queryFn: ({ signal }) => answerOf(client.GET('/api/snapshots', { params: { query }, signal })),
    refetchInterval: SAFETY_NET,
    placeholderData: keepPreviousData,
  });
export const snapshotQuery = (name: string) =>
  queryOptions({
    queryKey: [topic, 'snapshot', name],
    queryFn: ({ signal }) => answerOf(client.GET('/api/snapshots/{name}', { params: { path: { name } }, signal })),
  });
export const rollbackQuery = (name: string) =>
  queryOptions({
    queryKey: [topic, 'rollback', name],
    queryFn: ({ signal }) =>
      answerOf(client.GET('/api/snapshots/{name}/rollback-preview', { params: { path: { name } }, signal })),
  });
export const filesQuery = (name: string, path: string) =>
  queryOptions({
    queryKey: ['snapshot-files', name, path],
    queryFn: ({ signal }) =>
      answerOf(client.GET('/api/snapshots/{name}/files', { params: { path: { name }, query: { path } }, signal })),
  });
/** `other`: the name of a later snapshot; without it, what there is now. */
export const diffQuery = (name: string, other: string | undefined, offset: number, limit: number) =>
  queryOptions({
    queryKey: ['snapshot-diff', name, other ?? null, offset],
    queryFn: ({ signal }) =>
      answerOf(
        client.GET('/api/snapshots/{name}/differences', {
          params: { path: { name }, query: { ...(other !== undefined && { other }), offset, limit } },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
  });
export const schedulesQuery = (dataset?: string) =>
  queryOptions({
    queryKey: [topic, 'schedules', dataset ?? null],
    queryFn: async ({ signal }) =>
      (
        await answerOf(
          client.GET('/api/snapshot-schedules', {
            params: { query: dataset === undefined ? {} : { dataset } },
            signal,
          }),
        )
      ).items,
    refetchInterval: SAFETY_NET,
  });

export const datasetPath = (name: string, tab = ''): string =>
  `/storage/datasets/${encodeURIComponent(name)}${tab && `/${tab}`}`;
export const snapshotPath = (name: string): string => {
  const at = name.indexOf('@');
  return datasetPath(name.slice(0, at), `snapshots/${encodeURIComponent(name.slice(at + 1))}`);
};
