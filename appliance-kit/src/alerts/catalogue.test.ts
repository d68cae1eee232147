import assert from 'node:assert/strict';
import { test } from 'node:test';
import { catalogue } from './catalogue.ts';

/** Every argument any class takes, with the values its example was written with. */
const args = {
  ruleId: 'th-0mi5x3k9f-3f9c2b7a10',
  ruleName: 'Egress',
  severity: 'warning',
  direction: 'above',
  expression: 'egress',
  value: 16,
  limit: 10,
  labels: { host: 'web1' },
  seriesKey: '[["host","web1"]]',
  pool: 'tank',
  sentence: 'Degraded.',
  system: false,
  telemetry: true,
  service: 'storaged',
  title: 'Telemetry store',
  reason: null,
  hostName: 'metrics1',
  version: '1',
  bootId: '5f1c9a52-77c5-4d6e-9d0d-2f6f7b2b8f11',
  destinationId: 'dst-0mi5x3k9f-3f9c2b7a10',
  destinationName: 'Mail',
  error: 'no answer',
  waiting: 2,
  block: '00000000000000a7',
  setAside: false,
  span: null,
  detail: 'its index',
  scan: 'scrub',
  startedAt: '2026-01-01T02:00:00.000Z',
  repairedBytes: 4096,
  errors: 0,
  whole: true,
  failed: 'B (bay 4)',
  disks: ['scsi-A (3)'],
  count: 1,
  files: ['/tank/a'],
  capacity: 0.85,
  free: 9,
  device: 'scsi-A',
  words: 'A (bay 3)',
  complaint: 'It says of itself that it is about to fail.',
  id: 'ss-0mi5x3k9f-3f9c2b7a10',
  dataset: 'tank/home',
  failure: 'There is no space.',
  target: '“backup/home” on backup.example',
  action: 'Make room.',
  lagSeconds: 7200,
  used: 9,
  process: 'storaged',
  bytes: 10,
};

test('every class keeps its promises', () => {
  const names = catalogue.map((kind) => kind.class);
  assert.equal(new Set(names).size, names.length);
  for (const kind of catalogue) {
    const one = kind as (typeof catalogue)[0];
    const given = args as unknown as Parameters<typeof one.title>[0];
    assert.match(one.class, /^[a-z]+\.[a-z]+$/);
    // Conditions find their own keys by the class they begin with.
    assert.ok(one.dedupKey(given).startsWith(`${one.class}/`), one.class);
    assert.ok(['critical', 'warning', 'info'].includes(one.severity(given)), one.class);
    for (const words of [one.text, one.impact, one.response, one.action]) {
      assert.match(words(given), /^\S.*[.]$/, `${one.class}: a sentence`);
      assert.ok(!words(given).includes('undefined'), words(given));
    }
    assert.match(one.page(given), /^\/[a-z]/);
    if (one.class !== 'delivery.failing') continue;
    assert.ok(one.visibleAfterSeconds > 0);
  }
  const examples = catalogue.map((kind) => [
    (kind as (typeof catalogue)[0]).dedupKey(args as never),
    kind.dedupExample,
  ]);
  for (const [key, example] of examples) assert.equal(key, example);
});
