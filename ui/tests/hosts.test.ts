import assert from 'node:assert/strict';
import { test } from 'node:test';
import { layoutOf, neighbour, rangeOf, squareAt } from '../src/analytics/hosts/paintMap.ts';
import { merged } from '../src/analytics/hosts/useHosts.ts';
import {
  groupsOf,
  type Host,
  type HostsView,
  type HostValue,
  readHostsView,
  shownHosts,
  writeHostsView,
} from '../src/analytics/hosts/view.ts';
import { hostOf } from '../src/analytics/hosts/words.ts';
import type { Schemas } from '../src/api/client.ts';

const host = (name: string, change: Partial<Host> = {}): Host => ({
  ...{ name, note: '', ownLabels: {}, state: 'reporting', by: ['host'], series: 1, inputs: [], labels: {} },
  ...{ firstAt: '2026-01-01T00:00:00.000Z', lastAt: '2026-01-01T00:00:00.000Z', intervalSeconds: 10 },
  ...{ retired: null, silencedUntil: null, alerts: 0, worst: null },
  ...change,
});
const value = (name: string, of: number): [string, HostValue] => [
  name,
  { name, value: of, measure: 'pressure', unlike: null },
];
const view = (text: string): HostsView => readHostsView(new URLSearchParams(text));
const names = (hosts: readonly Host[]) => hosts.map(({ name }) => name);

test('what is shown of hosts survives the way through the address', () => {
  const all: HostsView = {
    ...{
      search: 'a b',
      states: ['late', 'absent'],
      labels: ['site=berlin', 'x=a=b'],
      metric: 'node_load1',
      as: 'rate',
    },
    ...{ of: 'sum', group: ['site', 'rack'], sort: 'series', show: 'map', unlike: true },
  };
  assert.deepEqual(view(writeHostsView(all).toString()), all);
  assert.equal(writeHostsView(view('')).toString(), '');
  assert.deepEqual(view('state=odd&sort=odd&show=odd&group=a&group=b&group=c&label=x').group, ['a', 'b']);
});

test('hosts are filtered, and those that wait longest come first', () => {
  const hosts = [
    host('a', { labels: { site: 'oslo' } }),
    host('b', { labels: { site: 'berlin' }, state: 'absent' }),
    host('c', { labels: { site: 'berlin' }, note: 'below the stairs' }),
    host('d', { state: 'retired' }),
  ];
  const values = new Map([value('a', 0.1), value('c', 0.9)]);
  assert.deepEqual(names(shownHosts(hosts, view(''), values)), ['c', 'a', 'b']);
  assert.deepEqual(names(shownHosts(hosts, view('state=retired'), values)), ['d']);
  assert.deepEqual(names(shownHosts(hosts, view('label=site%3Dberlin&sort=name'), values)), ['b', 'c']);
  assert.deepEqual(names(shownHosts(hosts, view('search=STAIRS'), values)), ['c']);
  assert.deepEqual(names(shownHosts(hosts, view('sort=state'), values)), ['b', 'a', 'c']);
  assert.deepEqual(names(shownHosts(hosts, view('unlike=1'), values)), []);
  assert.deepEqual(
    groupsOf(hosts, ['site']).map(({ title, hosts: own }) => [title, own.length]),
    [
      ['site=–', 1],
      ['site=berlin', 2],
      ['site=oslo', 1],
    ],
  );
});

test('an answer of what has changed is put into what is known', () => {
  const answer = (change: Partial<Schemas['HostList']>): Schemas['HostList'] => ({
    ...{ items: [], total: 0, version: 'v1', full: false, gone: [], error: null },
    ...{ states: { reporting: 0, late: 0, absent: 0, retired: 0 } },
    ...change,
  });
  const first = merged(undefined, answer({ full: true, items: [host('a'), host('b')] }));
  const second = merged(first, answer({ version: 'v2', items: [host('b', { series: 7 })], gone: ['a'] }));
  assert.deepEqual([...second.hosts.keys()], ['b']);
  assert.equal(second.hosts.get('b')?.series, 7);
  assert.equal(first.hosts.size, 2, 'what was known stays as it was');
  assert.deepEqual([...merged(second, answer({ full: true, items: [host('c')] })).hosts.keys()], ['c']);
});

test('the squares of the map: where they are, and where the keys lead', () => {
  const hosts = Array.from({ length: 50 }, (_, at) => host(`h${at}`));
  const layout = layoutOf(
    [
      { title: 'x=1', hosts },
      { title: 'x=2', hosts: [host('last')] },
    ],
    240,
  );
  assert.equal(layout.squares.length, 51);
  const { columns, size } = layout;
  const one = layout.squares[columns] as { x: number; y: number };
  assert.equal(squareAt(layout, one.x + 1, one.y + 1), columns);
  assert.equal(squareAt(layout, one.x - 1, one.y - 1), -1);
  assert.equal(neighbour(layout, 0, 'ArrowDown'), columns);
  assert.equal(neighbour(layout, columns, 'ArrowUp'), 0);
  assert.equal(neighbour(layout, 0, 'ArrowUp'), 0);
  assert.equal(neighbour(layout, 49, 'ArrowRight'), 50);
  assert.equal(neighbour(layout, 49, 'ArrowDown'), 50, 'into the next group');
  assert.ok(size >= 8 && layout.squares.every(({ x }) => x + size <= 240));
  const values = new Map([value('h1', 3), value('h2', 3)]);
  assert.deepEqual(rangeOf(values, hosts, false), [0, 3]);
  assert.deepEqual(rangeOf(new Map(), hosts, false), [0, 1]);
});

test('whose an alert is', () => {
  assert.equal(hostOf({ host: 'a', instance: 'b:1' }), 'a');
  assert.equal(hostOf({ instance: 'b:1' }), 'b');
  assert.equal(hostOf({ instance: 'b' }), 'b');
  assert.equal(hostOf({ job: 'x' }), undefined);
});
