// What the pages of one pool and one disk read, under the topics `pools` and `disks` of the live updates.
import { queryOptions } from '@tanstack/react-query';
import { answerOf, client, type Schemas } from '../../api/client.ts';

export type Disk = Schemas['Disk'];
export type Job = Schemas['Job'];
export type Pool = Schemas['Pool'];
export type Scan = Schemas['Scan'];
export type Vdev = Schemas['Vdev'];

const SAFETY_NET = 15_000;

/** Each second while it is scanned: no live update reports the progress. */
export const poolQuery = (name: string) =>
  queryOptions({
    queryKey: ['pools', 'one', name],
    queryFn: ({ signal }) => answerOf(client.GET('/api/pools/{name}', { params: { path: { name } }, signal })),
    refetchInterval: (query) =>
      query.state.data?.scan?.state === 'scanning' && !query.state.data.scan.paused ? 1_000 : SAFETY_NET,
  });
export const scansQuery = (name: string) =>
  queryOptions({
    queryKey: ['pools', 'scans', name],
    queryFn: async ({ signal }) =>
      (await answerOf(client.GET('/api/pools/{name}/scans', { params: { path: { name } }, signal }))).items,
    refetchInterval: SAFETY_NET,
  });
export const scrubScheduleQuery = (name: string) =>
  queryOptions({
    queryKey: ['pools', 'scrub-schedule', name],
    queryFn: ({ signal }) =>
      answerOf(client.GET('/api/pools/{name}/scrub-schedule', { params: { path: { name } }, signal })),
  });
export const damagedFilesQuery = (name: string) =>
  queryOptions({
    queryKey: ['pools', 'damaged', name],
    queryFn: async ({ signal }) =>
      (await answerOf(client.GET('/api/pools/{name}/damaged-files', { params: { path: { name } }, signal }))).items,
  });
export const poolHistoryQuery = (name: string) =>
  queryOptions({
    queryKey: ['pools', 'history', name],
    queryFn: async ({ signal }) =>
      (await answerOf(client.GET('/api/pools/{name}/history', { params: { path: { name } }, signal }))).items,
  });
/** Under `disks`: a disk that is plugged in changes it. An operator in front of the machine waits for that. */
export const replaceQuery = (name: string, device: string) =>
  queryOptions({
    queryKey: ['disks', 'replace', name, device],
    queryFn: ({ signal }) =>
      answerOf(client.GET('/api/pools/{name}/replacements', { params: { path: { name }, query: { device } }, signal })),
    refetchInterval: 3_000,
    retry: false,
  });
export const importableQuery = queryOptions({
  queryKey: ['disks', 'importable'],
  queryFn: async ({ signal }) => (await answerOf(client.GET('/api/importable-pools', { signal }))).items,
  refetchInterval: SAFETY_NET,
});
export const diskHealthQuery = (id: string) =>
  queryOptions({
    queryKey: ['disks', 'health', id],
    queryFn: ({ signal }) => answerOf(client.GET('/api/disks/{id}/health', { params: { path: { id } }, signal })),
    refetchInterval: (query) => (query.state.data?.testRunning ? 5_000 : 60_000),
  });

export const poolPath = (name: string, tab = ''): string =>
  `/storage/pools/${encodeURIComponent(name)}${tab && `/${tab}`}`;
export const replacePath = (name: string, device: string): string =>
  `${poolPath(name, 'replace')}?device=${encodeURIComponent(device)}`;
export const diskPath = (id: string): string => `/storage/disks/${encodeURIComponent(id)}`;

/** What a device is called in the API: its disk's id, or the name that the pool's tree has for it. */
export const deviceOf = (vdev: Vdev): string => vdev.diskId ?? vdev.name;

/** Every device with the group that it is in. */
export function devices(vdevs: readonly Vdev[], parent: Vdev | null = null): { leaf: Vdev; parent: Vdev | null }[] {
  return vdevs.flatMap((vdev) =>
    vdev.children.length > 0 ? devices(vdev.children, vdev) : vdev.type === 'disk' ? [{ leaf: vdev, parent }] : [],
  );
}

/** Devices that are out of use, and so want replacing. */
export function broken(vdevs: readonly Vdev[]): Vdev[] {
  return devices(vdevs)
    .filter(({ leaf }) => ['REMOVED', 'UNAVAIL', 'FAULTED'].includes(leaf.state))
    .map(({ leaf }) => leaf);
}

/** The jobs about a pool name it in their title; the one that gives the system a second disk is the system pool's. */
export function isAbout(job: Job, pool: Pick<Pool, 'name' | 'system'>): boolean {
  return (
    job.title.includes(`pool “${pool.name}”`) ||
    (pool.system && job.kind === 'disk.attach' && !job.title.includes('pool “'))
  );
}
