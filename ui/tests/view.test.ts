import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bands, expression, selector, worstSeries } from '../src/analytics/explore/expression.ts';
import { readView, writeView } from '../src/analytics/explore/view.ts';
import { stepFor, TimeAxis } from '../src/charts/axis.ts';
import { seriesName } from '../src/charts/seriesName.ts';

const read = (text: string) => readView(new URLSearchParams(text));

test('what is shown survives the way through the address', () => {
  const view = {
    metric: 'shop.checkout',
    by: 'host',
    filters: [['path', '/a?b=c&d'] as const, ['host', 'ü "x"'] as const],
    range: 900,
    end: 1_790_000_000,
    limit: 1.5,
    scale: 'log' as const,
    trim: 0.01,
    compare: 'week' as const,
  };
  assert.deepEqual(readView(new URLSearchParams(writeView(view).toString())), view);
});

test('an address that makes no sense shows something sensible', () => {
  const view = read('metric=a&range=-5&end=x&limit=&scale=odd&trim=9&compare=year');
  assert.equal(view.compare, undefined);
  assert.equal(view.range, 10);
  assert.equal(view.end, null);
  assert.equal(view.limit, undefined);
  assert.equal(view.scale, 'auto');
  assert.equal(view.trim, 0.5);
});

test('panning back pauses, panning past now goes live', () => {
  const axis = new TimeAxis({ range: 100, end: null }, () => 1001);
  axis.pan(-50);
  assert.equal(axis.span.end, 950);
  axis.zoom(2);
  assert.equal(axis.range, 200);
  axis.pan(200);
  assert.equal(axis.live, true);
  const near = new TimeAxis({ range: 12, end: null }, () => 1001);
  near.zoom(0.5);
  assert.equal(near.range, 10, 'not nearer than ten seconds');
});

test('one second up to an hour, then what the screen can show', () => {
  assert.equal(stepFor(300, 3600), 1);
  assert.equal(stepFor(3600, 3600), 1);
  assert.equal(stepFor(21_600, 3600), 10);
  assert.equal(stepFor(604_800, 600), 1800);
});

test('names and values become a selector that PromQL reads as they are', () => {
  assert.equal(selector({ metric: 'up', filters: [] }), 'up');
  assert.equal(selector({ metric: 'up', filters: [['a', 'x"y\\z']] }), 'up{a="x\\"y\\\\z"}');
  assert.equal(selector({ metric: 'shop.orders', filters: [] }), '{__name__="shop.orders"}');
  assert.equal(selector({ metric: '', filters: [['host', 'web 1']] }), '{host="web 1"}');
});

test('many series are four lines, and the worst is found by its name', () => {
  const view = read('metric=disk_used_ratio&f.host=a');
  const used = { name: 'disk_used_ratio', type: 'gauge' } as const;
  const text = bands(used, view);
  assert.match(text, /^label_replace\(max\(disk_used_ratio\{host="a"\}\), "band", "worst", "", ""\) or /);
  assert.equal(text.split(' or ').length, 4);
  assert.equal(worstSeries(used, view), 'topk(1, disk_used_ratio{host="a"})');
  assert.equal(
    worstSeries({ name: 'memory_available_bytes' }, read('metric=memory_available_bytes')),
    'bottomk(1, memory_available_bytes)',
  );
  assert.equal(read(writeView(read('metric=m&every=1')).toString()).every, true);
});

test('a counter is drawn as its rate; of shares the worst is drawn, amounts are summed', () => {
  const view = read('metric=m&by=host');
  assert.equal(expression({ name: 'm', type: 'counter' }, view, 1), 'sum by (host) (rate(m[5s]))');
  assert.equal(expression({ name: 'm', type: 'gauge' }, read('metric=m'), 1), 'm');
  assert.equal(
    expression({ name: 'cpu_ratio', type: 'gauge' }, read('metric=cpu_ratio&by=mode'), 60),
    'max by (mode) (cpu_ratio)',
  );
  assert.equal(
    expression({ name: 'disk.free_ratio', type: 'gauge' }, read('metric=disk.free_ratio&by=host'), 60),
    'min by (host) ({__name__="disk.free_ratio"})',
  );
  assert.equal(seriesName({ __name__: 'm', host: 'a' }, 'm'), 'a');
  assert.equal(seriesName({ __name__: 'm' }, 'm'), 'm');
});
