// A box on a heatmap, in an address and as pixels; what "What changed?" makes of a stream.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventsOf, groupsOf, queryOf, type SeriesChange, sharedBy } from '../src/analytics/changed/changed.ts';
import { filtered } from '../src/analytics/explore/expressions.ts';
import { readView, writeView } from '../src/analytics/explore/view.ts';
import { readSheet, writeSheet } from '../src/analytics/worksheets/sheet.ts';
import { boxInWords, boxOf, readBox, writeBox } from '../src/charts/box.ts';

test('a box survives the way through an address; what is none is left out', () => {
  for (const box of [
    { start: 100, end: 200 },
    { start: 100, end: 200, above: 0 },
    { start: 100.5, end: 200, above: -3, below: 0.15 },
  ]) {
    assert.deepEqual(readBox(writeBox(box)), box);
    assert.deepEqual(readView(writeView({ ...readView(new URLSearchParams('metric=x')), box })).box, box);
    const charts = [{ id: 'c1', query: 'x', box }];
    assert.deepEqual(readSheet(writeSheet({ time: null, charts })).charts, charts);
  }
  for (const text of [null, '', '1,2', '2,1,,', '1,2,5,4', 'a,2,,', '1,2,x,', '1,2,,,']) {
    assert.equal(readBox(text), undefined, String(text));
  }
});

test('a rectangle is whole columns and whole bins; at the edge of the picture it has no limit', () => {
  const at = {
    timeAt: (x: number) => 1000 + x,
    step: 10,
    scale: { y: (v: number) => v, value: (y: number) => (112 - y) / 100 },
  };
  const plot = { top: 12, bottom: 112 };
  assert.deepEqual(boxOf({ left: 14, right: 33, top: 40.2, bottom: 81.1 }, at, plot), {
    start: 1010,
    end: 1040,
    above: 0.31,
    below: 0.72,
  });
  assert.deepEqual(boxOf({ left: 10, right: 11, top: 13, bottom: 111 }, at, plot), { start: 1010, end: 1020 });
  assert.equal(boxOf({ left: 10, right: 20, top: 50, bottom: 50 }, at, plot), null, 'no bin lies in it');
  const figure = (value: number) => `${value} s`;
  assert.match(boxInWords({ start: 0, end: 10, above: 2 }, figure), /, above 2 s$/);
  assert.match(boxInWords({ start: 0, end: 10, above: 2, below: 3 }, figure), /, 2 s to 3 s$/);
});

test('a click adds a filter to a selector', () => {
  assert.equal(filtered('x', 'host', 'a'), 'x{host="a"}');
  assert.equal(filtered('x{}', 'host', 'a"\\'), 'x{host="a\\"\\\\"}');
  assert.equal(filtered('x{a="1", }', 'odd label', ''), 'x{a="1","odd label"=""}');
  assert.equal(filtered('{__name__="odd.name"} ', 'host', 'a'), '{__name__="odd.name",host="a"}');
});

test('events are read from a stream, however it is cut into pieces', async () => {
  const text = 'event: progress\ndata: {"a":"ü"}\n\nevent: done\ndata: {}\n\n';
  const bytes = new TextEncoder().encode(text);
  for (const size of [1, 3, 1000]) {
    const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
      bytes.slice(i * size, (i + 1) * size),
    );
    const stream = new ReadableStream<Uint8Array>({
      start(controller) {
        for (const piece of pieces) controller.enqueue(piece);
        controller.close();
      },
    });
    const found: string[] = [];
    for await (const { event, data } of eventsOf(stream)) {
      found.push(`${event} ${data}`);
    }
    assert.deepEqual(found, ['progress {"a":"ü"}', 'done {}']);
  }
});

test('of what changed one of each metric is shown, and what they share', () => {
  const one = (name: string, labels: Record<string, string>): SeriesChange => ({
    metric: { __name__: name, ...labels },
    measure: 'rate',
    before: 1,
    after: 2,
    score: 9,
  });
  const all = [
    one('a', { host: 'h6', cpu: '1' }),
    one('b', { host: 'h6' }),
    one('a', { host: 'h6', cpu: '2' }),
    one('c', {}),
  ];
  assert.deepEqual(
    groupsOf(all).map(({ first, more }) => [first.metric.__name__, first.metric.cpu, more]),
    [
      ['a', '1', 1],
      ['b', undefined, 0],
      ['c', undefined, 0],
    ],
  );
  assert.deepEqual(sharedBy(all), [{ label: 'host', value: 'h6', count: 3 }]);
  assert.equal(queryOf(one('odd.name', { host: 'h6' })), 'rate({__name__="odd.name",host="h6"}[1m])');
});
