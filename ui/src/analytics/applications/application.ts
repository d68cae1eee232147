// Applications as they are asked for, and the words for what they do.
import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { answerOf, client, type Schemas } from '../../api/client.ts';
import { compact, percent, seconds } from '../../words/format.ts';
import type { Chart } from '../worksheets/sheet.ts';

export type Application = Schemas['Application'];
export type ApplicationDetail = Schemas['ApplicationDetail'];
export type ApplicationPart = Schemas['ApplicationPart'];
export type Rules = Schemas['ApplicationRules'];
export type Rule = Rules['rules'][number];
type Kind = ApplicationPart['kind'];
type Figures = Pick<ApplicationPart, 'rate' | 'errors' | 'median' | 'p99'>;
type Drawn = Pick<ApplicationPart, 'rateQuery' | 'errorsQuery' | 'durationsQuery' | 'histograms'>;

/** How often figures of the last minutes are asked for again. */
const EVERY_MS = 10_000;

export const KINDS: Readonly<Record<Kind, string>> = {
  http: 'HTTP requests served',
  rpc: 'Calls served (RPC)',
  database: 'Asked of databases',
  names: 'Known by its names',
  log: 'From its log',
};

/** Over how long it is measured: seconds, and its words. */
export const TIMES = [
  [300, 'the last 5 minutes'],
  [3600, 'the last hour'],
  [86_400, 'the last day'],
] as const;

export const applicationsQuery = (time: number, host?: string) =>
  queryOptions({
    queryKey: ['applications', time, host ?? ''],
    queryFn: async ({ signal }) => {
      const query = { seconds: time, ...(host !== undefined && { host }) };
      return answerOf(client.GET('/api/applications', { params: { query }, signal }));
    },
    refetchInterval: EVERY_MS,
    placeholderData: keepPreviousData,
  });

export const applicationQuery = (name: string, time: number) =>
  queryOptions({
    queryKey: ['applications', 'one', name, time],
    queryFn: ({ signal }) =>
      answerOf(
        client.GET('/api/applications/{name}', { params: { path: { name }, query: { seconds: time } }, signal }),
      ),
    refetchInterval: EVERY_MS,
  });

export const rulesQuery = queryOptions({
  queryKey: ['applications', 'rules'],
  queryFn: ({ signal }) => answerOf(client.GET('/api/application-naming', { signal })),
});

export const pathOf = (name: string, operation?: string) =>
  `/applications/${encodeURIComponent(name)}${operation === undefined ? '' : `/${encodeURIComponent(operation)}`}`;

export const failedShare = ({ rate, errors }: Figures) => (errors === null || rate === 0 ? null : errors / rate);

/** Small ones are not rounded to nothing: who looks for failures wants to see that there are any. */
function shareWords(share: number): string {
  if (share === 0) return '0 %';
  return share < 0.0001 ? '< 0.01 %' : percent(share, share < 0.01 ? 2 : 1);
}

export const rateWords = (rate: number) => `${compact(rate)}/s`;
export const timeWords = (value: number | null) => (value === null ? '–' : seconds(value));
export function failedWords(figures: Figures): string {
  const share = failedShare(figures);
  return share === null ? 'not told' : shareWords(share);
}

/** "31/s, 6.5 % fail, 99 of 100 within 3 s". */
export function sentenceOf(figures: Figures): string {
  const share = failedShare(figures);
  const failed = share === null ? [] : [share === 0 ? 'none fails' : `${shareWords(share)} fail`];
  const within = figures.p99 === null ? [] : [`99 of 100 within ${seconds(figures.p99)}`];
  return [rateWords(figures.rate), ...failed, ...within].join(', ');
}

/** How many a second, what failed, and how long it took. */
export function chartsOf(id: string, of: string, drawn: Drawn, unit: ApplicationPart['unit']): Chart[] {
  return [
    { id: `${id}-rate`, title: `${of}: operations a second`.slice(0, 200), query: drawn.rateQuery, unit: '/s' },
    ...(drawn.errorsQuery === null
      ? []
      : [
          { id: `${id}-failed`, title: `${of}: failures a second`.slice(0, 200), query: drawn.errorsQuery, unit: '/s' },
        ]),
    {
      id: `${id}-durations`,
      title: `${of}: ${drawn.histograms ? 'durations' : '99 of 100 take no longer'}`.slice(0, 200),
      query: drawn.durationsQuery,
      unit,
      ...(drawn.histograms && { display: 'heatmap' as const }),
    },
  ];
}

/** Of a rule what is sent: rows in which nothing was typed are none. */
export const rulesInput = (rules: readonly Rule[]) =>
  rules
    .map(({ durations, failures }) => ({ durations: durations.trim(), failures: failures.trim() }))
    .filter(({ durations, failures }) => durations !== '' || failures !== '');
