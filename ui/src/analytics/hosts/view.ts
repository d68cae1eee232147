// What the page of the hosts shows is wholly in its address: filters, fill, groups, order, table or map. Read and written here.
import type { Schemas } from '../../api/client.ts';

export type Host = Schemas['Host'];
export type HostState = Host['state'];
export type HostValue = Schemas['HostValues']['items'][number];

export const STATES = ['reporting', 'late', 'absent', 'retired'] as const satisfies readonly HostState[];
export const STATE_WORDS: Readonly<Record<HostState, string>> = {
  reporting: 'Reporting',
  late: 'Late',
  absent: 'Absent',
  retired: 'Retired',
};
const SORTS = ['value', 'name', 'state', 'lastAt', 'series', 'alerts'] as const;
const AGGREGATES = ['max', 'sum', 'avg', 'min'] as const;

export interface HostsView {
  readonly search: string;
  /** None: all but the retired ones. */
  readonly states: readonly HostState[];
  readonly labels: readonly string[];
  /** Empty: how long work waits. */
  readonly metric: string;
  readonly as: 'value' | 'rate';
  readonly of: (typeof AGGREGATES)[number];
  readonly group: readonly string[];
  readonly sort: (typeof SORTS)[number];
  readonly show: 'table' | 'map';
  readonly unlike: boolean;
  /** What the metric is measured in; the store says it, it is not in the address. */
  readonly unit?: string;
}

const oneOf = <T extends string>(known: readonly T[], text: string | null, otherwise: T): T =>
  known.includes(text as T) ? (text as T) : otherwise;

export function readHostsView(query: URLSearchParams): HostsView {
  return {
    search: query.get('search') ?? '',
    states: STATES.filter((state) => query.getAll('state').includes(state)),
    labels: query.getAll('label').filter((text) => text.includes('=')),
    metric: query.get('metric') ?? '',
    as: query.get('as') === 'rate' ? 'rate' : 'value',
    of: oneOf(AGGREGATES, query.get('of'), 'max'),
    group: query
      .getAll('group')
      .filter((text) => text !== '')
      .slice(0, 2),
    sort: oneOf(SORTS, query.get('sort'), 'value'),
    show: query.get('show') === 'map' ? 'map' : 'table',
    unlike: query.get('unlike') === '1',
  };
}

export function writeHostsView(view: HostsView): URLSearchParams {
  const query = new URLSearchParams();
  if (view.search) query.set('search', view.search);
  for (const state of view.states) query.append('state', state);
  for (const label of view.labels) query.append('label', label);
  if (view.metric) query.set('metric', view.metric);
  if (view.as !== 'value') query.set('as', view.as);
  if (view.of !== 'max') query.set('of', view.of);
  for (const label of view.group) query.append('group', label);
  if (view.sort !== 'value') query.set('sort', view.sort);
  if (view.show !== 'table') query.set('show', view.show);
  if (view.unlike) query.set('unlike', '1');
  return query;
}

export type Values = ReadonlyMap<string, HostValue>;

const textOf = ({ name, note, labels }: Host) =>
  [name, note, ...Object.entries(labels).map(([label, value]) => `${label}=${value}`)].join('\n').toLowerCase();

const byName = (a: Host, b: Host) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0);
/** What has to be looked at comes first. */
const URGENCY: Readonly<Record<HostState, number>> = { absent: 0, late: 1, reporting: 2, retired: 3 };

function orderOf(sort: HostsView['sort'], values: Values): (a: Host, b: Host) => number {
  const value = ({ name }: Host) => values.get(name)?.value ?? Number.NEGATIVE_INFINITY;
  switch (sort) {
    case 'name':
      return byName;
    case 'state':
      return (a, b) => URGENCY[a.state] - URGENCY[b.state] || byName(a, b);
    case 'lastAt':
      return (a, b) => a.lastAt.localeCompare(b.lastAt) || byName(a, b);
    case 'series':
      return (a, b) => b.series - a.series || byName(a, b);
    case 'alerts':
      return (a, b) => b.alerts - a.alerts || byName(a, b);
    case 'value':
      return (a, b) => {
        const [left, right] = [value(a), value(b)];
        return left === right ? byName(a, b) : right > left ? 1 : -1;
      };
  }
}

/** The hosts that a view shows, in its order. */
export function shownHosts(hosts: Iterable<Host>, view: HostsView, values: Values): Host[] {
  const wanted = view.labels.map((text) => {
    const at = text.indexOf('=');
    return [text.slice(0, at), text.slice(at + 1)] as const;
  });
  const search = view.search.trim().toLowerCase();
  const shown: Host[] = [];
  for (const host of hosts) {
    if (view.states.length === 0 ? host.state === 'retired' : !view.states.includes(host.state)) continue;
    if (!wanted.every(([name, value]) => (host.labels[name] ?? '') === value)) continue;
    if (search !== '' && !textOf(host).includes(search)) continue;
    if (view.unlike && !values.get(host.name)?.unlike) continue;
    shown.push(host);
  }
  return shown.sort(orderOf(view.sort, values));
}

export interface Group {
  readonly title: string;
  readonly hosts: readonly Host[];
}

/** By the values of up to two labels, in their order; one group without a title when there are none. */
export function groupsOf(hosts: readonly Host[], labels: readonly string[]): Group[] {
  if (labels.length === 0) return [{ title: '', hosts }];
  const groups = new Map<string, Host[]>();
  for (const host of hosts) {
    const title = labels.map((label) => `${label}=${host.labels[label] ?? '–'}`).join(', ');
    const group = groups.get(title);
    if (group === undefined) groups.set(title, [host]);
    else group.push(host);
  }
  return [...groups]
    .sort(([a], [b]) => a.localeCompare(b, undefined, { numeric: true }))
    .map(([title, list]) => ({ title, hosts: list }));
}

/** Names of the labels that some host has. */
export function labelNames(hosts: Iterable<Host>): string[] {
  const names = new Set<string>();
  for (const { labels } of hosts) for (const name of Object.keys(labels)) names.add(name);
  return [...names].sort();
}
