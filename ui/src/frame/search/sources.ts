// What is searched, by kinds. Pages, settings, the manual and worksheets are here once they were read; alerts, hosts and metrics
// are asked for: the active ones, a few at a time, when typing has stopped, and no longer once something else is typed.
import { queryOptions, useQuery } from '@tanstack/react-query';
import { use, useEffect, useState } from 'react';
import { applicationsQuery, KINDS, pathOf, TIMES } from '../../analytics/applications/application.ts';
import { worksheetsQuery } from '../../analytics/worksheets/queries.ts';
import { answerOf, client } from '../../api/client.ts';
import { mayBe, SessionContext, type User } from '../../api/session.ts';
import { listMetrics } from '../../api/telemetry.ts';
import { places, roleAt } from '../places.ts';
import type { FoundSetting, ManualSection } from './built.ts';
import { type Group, type Hit, wordsOf } from './ranking.ts';

/** As many of a kind are asked for at once. */
export const MOST = 25;
const PAUSE_MS = 150;

/** What it was for a while. */
function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}

export const pagesFor = (user: User): Hit[] =>
  places.filter(({ path }) => mayBe(user, roleAt(path))).map(({ title, about, path }) => ({ title, about, to: path }));

export const settingsFor = (user: User, settings: readonly FoundSetting[]): Hit[] =>
  settings
    .filter(({ path }) => mayBe(user, roleAt(path)))
    .flatMap(({ title, path, fields }) => {
      const about = places.find((place) => place.path === path)?.title ?? '';
      const whole: Hit = { title, about: title === about ? '' : about, to: path };
      return [whole, ...fields.map((field) => ({ title: field, about: title, to: path }))];
    });

export const sectionHits = (sections: readonly ManualSection[]): Hit[] =>
  sections.map(({ title, page, path }) => ({ title, about: title === page ? '' : page, to: path }));

const labelText = ({ __name__: _, ...labels }: Readonly<Record<string, string>>) =>
  Object.entries(labels)
    .map(([label, value]) => `${label}=${value}`)
    .join(' ');

/** Of several words the longest is asked for: the others are looked for in what is answered. */
const askedFor = (text: string): { word: string; limit: number } => {
  const words = wordsOf(text);
  const word = words.reduce((longest, one) => (one.length > longest.length ? one : longest), '');
  return { word: word.slice(0, 200), limit: words.length > 1 ? 4 * MOST : MOST };
};

const builtQuery = queryOptions({
  queryKey: ['search', 'built'],
  queryFn: () => import('virtual:search'),
  staleTime: Number.POSITIVE_INFINITY,
});

const answers = {
  retry: false,
  placeholderData: <T>(before: T | undefined) => before,
} as const;

export interface Found {
  readonly kinds: readonly Group[];
  /** Something is still asked for. */
  readonly busy: boolean;
  /** Kinds that cannot be searched just now. */
  readonly failed: readonly string[];
}

export function useFound(text: string): Found {
  const user = use(SessionContext);
  const settled = useSettled(text.trim());
  const { word, limit } = askedFor(settled);
  const enabled = word !== '';
  const built = useQuery(builtQuery);
  const worksheets = useQuery({ ...worksheetsQuery, retry: false });
  const alerts = useQuery({
    queryKey: ['alerts', 'search', word, limit],
    queryFn: async ({ signal }) => {
      const query = { state: 'active', search: word, limit } as const;
      return (await answerOf(client.GET('/api/alerts', { params: { query }, signal }))).items.map(
        ({ id, title, labels, text, severity }): Hit => ({
          ...{
            title,
            about: labelText(labels) || severity,
            also: `${labels.__name__ ?? ''} ${text} ${severity}`,
            to: `/alerts/${id}`,
          },
        }),
      );
    },
    ...{ enabled, ...answers },
  });
  const hosts = useQuery({
    queryKey: ['hosts', 'search', word, limit],
    queryFn: async ({ signal }) => {
      const query = { search: word, limit };
      return (await answerOf(client.GET('/api/hosts', { params: { query }, signal }))).items.map(
        ({ name, state, note, labels }): Hit => ({
          ...{ title: name, about: `host, ${state}`, also: `${note} ${labelText(labels)}` },
          to: `/hosts/${encodeURIComponent(name)}`,
        }),
      );
    },
    ...{ enabled, ...answers },
  });
  const applications = useQuery({
    ...applicationsQuery(TIMES[0][0]),
    refetchInterval: false,
    ...{ enabled, ...answers },
  });
  const metrics = useQuery({
    queryKey: ['metrics', 'search', word, limit],
    // What is sent here comes before the appliance's own.
    queryFn: async ({ signal }) => {
      const asked = (['sent', 'own'] as const).map((of) => listMetrics({ match: word, of, limit }, signal));
      return (await Promise.all(asked))
        .flatMap((found) => found.metrics)
        .map(
          ({ name, type, description }): Hit => ({
            ...{ title: name, about: type, also: description ?? '' },
            to: `/analytics/explore?metric=${encodeURIComponent(name)}`,
          }),
        );
    },
    ...{ enabled, ...answers },
  });
  const searching = text.trim() !== '';
  const answeredBy = (hits: readonly Hit[] = []) => ({ hits, cut: hits.length >= limit });
  const kinds: Group[] = [
    { kind: 'Pages', hits: pagesFor(user) },
    { kind: 'Alerts', ...answeredBy(alerts.data) },
    { kind: 'Hosts', ...answeredBy(hosts.data) },
    {
      kind: 'Applications',
      hits: (applications.data?.items ?? []).map(({ name, parts }) => ({
        ...{ title: name, about: parts.map(({ kind }) => KINDS[kind]).join(', '), also: '', to: pathOf(name) },
      })),
    },
    { kind: 'Metrics', ...answeredBy(metrics.data) },
    { kind: 'Settings', hits: settingsFor(user, built.data?.settings ?? []) },
    {
      kind: 'Worksheets',
      hits: (worksheets.data ?? []).map(({ id, name, description, owner, ready }) => ({
        ...{
          title: name,
          about: ready ? 'ready' : `of ${owner}`,
          also: description,
          to: `/analytics/worksheets/${id}`,
        },
      })),
    },
    { kind: 'Manual', hits: sectionHits(built.data?.sections ?? []) },
  ];
  const asked = [
    ['Settings', built],
    ['Manual', built],
    ['Worksheets', worksheets],
    ['Alerts', alerts],
    ['Hosts', hosts],
    ['Applications', applications],
    ['Metrics', metrics],
  ] as const;
  return {
    kinds: searching ? kinds : kinds.slice(0, 1),
    busy: searching && (settled !== text.trim() || asked.some(([, { isFetching }]) => isFetching)),
    failed: searching ? asked.filter(([, { isError }]) => isError).map(([kind]) => kind) : [],
  };
}
