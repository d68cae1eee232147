// What the pages of a pool read, under the topic of the pools.
import { queryOptions } from '@tanstack/react-query';
import { answerOf, client, type Schemas } from '../api/client.ts';

const SAFETY_NET = 15_000;

export type Pool = Schemas['Pool'];
export type Vdev = Schemas['Vdev'];
export type Disk = Schemas['Disk'];

export const poolPath = (name: string) => `/storage/pools/${encodeURIComponent(name)}`;

/** Every second while something goes on in it: progress makes no event of its own. */
export const poolQuery = (name: string) =>
  queryOptions({
    queryKey: ['pools', name],
    queryFn: ({ signal }) => answerOf(client.GET('/api/pools/{name}', { params: { path: { name } }, signal })),
    refetchInterval: (query) => (query.state.data?.scan?.state === 'scanning' ? 1_000 : SAFETY_NET),
  });
export const scansQuery = (name: string) =>
  queryOptions({
    queryKey: ['pools', name, 'scans'],
    queryFn: async ({ signal }) =>
      (await answerOf(client.GET('/api/pools/{name}/scrubs', { params: { path: { name } }, signal }))).items,
    refetchInterval: SAFETY_NET,
  });
export const scrubScheduleQuery = (name: string) =>
  queryOptions({
    queryKey: ['pools', name, 'schedule'],
    queryFn: ({ signal }) =>
      answerOf(client.GET('/api/pools/{name}/scrub-schedule', { params: { path: { name } }, signal })),
  });
export const damagedFilesQuery = (name: string) =>
  queryOptions({
    queryKey: ['pools', name, 'damaged'],
    queryFn: async ({ signal }) =>
      (await answerOf(client.GET('/api/pools/{name}/damaged-files', { params: { path: { name } }, signal }))).items,
  });
export const historyQuery = (name: string) =>
  queryOptions({
    queryKey: ['pools', name, 'history'],
    queryFn: async ({ signal }) =>
      (await answerOf(client.GET('/api/pools/{name}/history', { params: { path: { name } }, signal }))).items,
  });
export const replaceQuery = (name: string, device: string) =>
  queryOptions({
    queryKey: ['disks', 'replace', name, device],
    queryFn: ({ signal }) =>
      answerOf(client.GET('/api/pools/{name}/replace', { params: { path: { name }, query: { device } }, signal })),
    // A disk that is plugged in appears by itself.
    refetchInterval: 2_000,
  });
export const importableQuery = queryOptions({
  queryKey: ['pools', 'importable'],
  queryFn: async ({ signal }) => (await answerOf(client.GET('/api/pools/importable', { signal }))).items,
});
