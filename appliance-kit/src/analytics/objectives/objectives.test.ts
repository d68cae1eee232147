import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Bench, bench } from '../../../tests/harness.ts';
import { type StoredSample, storaged } from '../../../tests/storaged.ts';
import type { ObjectiveInput } from './schema.ts';
import { burning, FAST, SLOW, standingOf } from './standing.ts';

const input: ObjectiveInput = {
  ...{ name: 'Checkout is quick', selector: '{__name__="checkout.time"}', limit: 0.3, unit: 's' },
  ...{ targetPercent: 99, periodDays: 28, population: '' },
};
const DAY = 86_400;

/** Requests `ago` seconds before the bench's time: so many quick ones, so many slow ones. */
const requests = (on: Bench, ago: number, quick: number, slow: number, host = 'a'): StoredSample => ({
  name: 'checkout.time',
  labels: { host },
  time: Math.floor(on.clock.now() / 1000) - ago,
  histogram: { bins: { ...(quick > 0 && { '0.12': quick }), ...(slow > 0 && { '0.31': slow }) } },
});

const active = async ({ client }: Bench) =>
  (await client.get('/api/alerts?state=active')).body.items
    .map((alert: { class: string }) => alert.class)
    .filter((name: string) => name.startsWith('objective.'));

const look = async ({ appliance }: Bench) => {
  await appliance.objectives.measure();
  await appliance.poller.look();
};

test('an objective is a sentence of what the store counted, for any limit at once', async (t) => {
  const on = await bench(t);
  await on.client.setUp();
  const store = await storaged(t, on);
  await store.import([
    requests(on, 27 * DAY, 400_000, 5_000),
    requests(on, 20 * DAY, 300_000, 4_000, 'b'),
    requests(on, 5 * DAY, 241_600, 3_400),
    // Before the period.
    requests(on, 29 * DAY, 0, 77_777),
  ]);
  const made = (await on.client.post('/api/objectives', input)).body;
  assert.equal(made.error, null);
  assert.equal(
    made.standing.sentence,
    '99 % under 300 ms in 28 days: 98.7 %; 12,400 of 954,000 too slow, 2,860 over budget.',
  );
  assert.deepEqual([made.standing.count, made.standing.over, made.standing.within], [954_000, 12_400, 0]);
  assert.ok(Math.abs(made.standing.overBudget - 2_860) < 1e-6);
  // The past, by another limit.
  const path = `/api/objectives/${made.id}`;
  const moved = (await on.client.put(path, { ...input, limit: 0.5 })).body;
  assert.equal(
    moved.standing.sentence,
    '99 % under 500 ms in 28 days: 100 %; 0 of 954,000 too slow, 9,540 left of the budget.',
  );
  // A limit that divides the bin from 310 to 320 ms.
  const divided = (await on.client.put(path, { ...input, limit: 0.315 })).body;
  assert.equal(divided.standing.within, 12_400);
  assert.match(divided.standing.sentence, /12,400 are too close to the limit to tell/);
  const empty = (await on.client.put(path, { ...input, selector: 'nothing_there' })).body;
  assert.equal(empty.standing.sentence, '99 % under 300 ms in 28 days: nothing was measured.');
  assert.equal(empty.standing.percent, null);
  const refused = await on.client.put(path, { ...input, selector: 'rate(x[5m])' });
  assert.equal(refused.status, 400);
  assert.equal(refused.body.errors[0].path, '/selector');
  assert.equal((await on.client.delete(path)).status, 204);
  assert.equal((await on.client.get(path)).status, 404);
});

test('a budget that is used up fast is an alert with the sentence, until the last minutes are well', async (t) => {
  const on = await bench(t);
  await on.client.setUp();
  const store = await storaged(t, on);
  const { id } = (await on.client.post('/api/objectives', input)).body;
  // 20 % too slow in the last hour, and in its last five minutes; two days before all was well.
  await store.import([
    requests(on, 2 * DAY, 100_000, 0),
    requests(on, 1800, 4_000, 1_000),
    requests(on, 60, 400, 100, 'b'),
  ]);
  await look(on);
  assert.deepEqual(await active(on), ['objective.burning']);
  const [alert] = (await on.client.get('/api/alerts?state=active')).body.items;
  assert.match(
    alert.text,
    /In the last 60 minutes the budget was used up 20 times as fast as it may be\. 99 % under 300 ms/,
  );
  // A store that does not answer clears nothing, and what was known is shown on.
  await store.stop();
  await look(on);
  const older = (await on.client.get(`/api/objectives/${id}`)).body;
  assert.notEqual(older.error, null);
  assert.equal(older.standing.count, 105_500);
  assert.deepEqual(await active(on), ['objective.burning']);
  const again = await storaged(t, on);
  on.clock.advance(400);
  await again.import([requests(on, 30, 1_000, 0)]);
  await look(on);
  assert.ok(!(await active(on)).includes('objective.burning'));
});

test('a report has the period beside the one before, by any limit, and of a population', async (t) => {
  const on = await bench(t);
  await on.client.setUp();
  const store = await storaged(t, on);
  await store.import([
    requests(on, 40 * DAY, 88_700, 11_300),
    requests(on, 20 * DAY, 400, 100),
    requests(on, 3 * DAY, 87_500, 12_000),
    { name: 'customers', labels: {}, time: Math.floor(on.clock.now() / 1000) - 60, value: 2_000 },
  ]);
  const { id } = (await on.client.post('/api/objectives', input)).body;
  const path = `/api/objectives/${id}`;
  const report = (await on.client.get(`${path}/report`)).body;
  assert.equal(report.standing.sentence, (await on.client.get(path)).body.standing.sentence);
  assert.equal(report.stepSeconds, 7200);
  assert.deepEqual(
    report.windows.map(({ count, over }: { count: number; over: number }) => [count, over]),
    [
      [500, 100],
      [99_500, 12_000],
    ],
  );
  assert.deepEqual([report.period.count, report.period.over, report.period.perThousand], [100_000, 12_100, 121]);
  assert.deepEqual([report.before.count, report.before.over, report.before.perThousand], [100_000, 11_300, 113]);
  assert.deepEqual(report.population, []);
  // Another limit is not saved.
  const moved = (await on.client.get(`${path}/report?limit=0.5`)).body;
  assert.deepEqual([moved.limit, moved.period.over, moved.before.over], [0.5, 0, 0]);
  assert.match(moved.standing.sentence, /^99 % under 500 ms in 28 days: 100 %/);
  assert.equal((await on.client.get(path)).body.limit, 0.3);
  assert.equal((await on.client.get(`${path}/report?limit=x`)).status, 400);
  // One that is not kept, as the form has it.
  const draft = (await on.client.post('/api/objectives/preview', { ...input, limit: 0.5 })).body;
  assert.deepEqual([draft.limit, draft.standing.sentence], [0.5, moved.standing.sentence]);
  const wrong = await on.client.post('/api/objectives/preview', { ...input, selector: 'rate(x[5m])' });
  assert.deepEqual([wrong.status, wrong.body.errors[0].path], [400, '/selector']);
  assert.equal((await on.client.get('/api/objectives')).body.items.length, 1);
  assert.equal((await on.client.get('/api/objectives/ob-none/report')).status, 404);

  const refused = await on.client.put(path, { ...input, population: 'sum(' });
  assert.deepEqual([refused.status, refused.body.errors?.[0].path], [400, '/population']);
  const several = { ...input, population: 'label_replace(vector(1), "a", "b", "", "") or vector(2)' };
  assert.match((await on.client.put(path, several)).body.errors[0].message, /has 2 values at once; put sum/);
  await on.client.put(path, { ...input, population: 'sum(customers)' });
  const people = (await on.client.get(`${path}/report`)).body;
  assert.equal(people.period.perThousand, 6_050, '12,100 of 2,000');
  assert.equal(people.before.perThousand, null, 'nobody knows how many there were');
  assert.deepEqual(people.population.at(-1)?.value, 2_000);
  await store.stop();
  assert.equal((await on.client.get(`${path}/report`)).status, 503);
});

test('a burn needs both of its times, and a period that is as long', () => {
  const counted = (...windows: [ago: number, count: number, over: number][]) => ({
    windows: windows.map(([ago, count, over]) => ({ time: 1_000_000 - ago, count, over, within: 0 })),
    approximate: false,
    warnings: [],
  });
  const standing = (...windows: [ago: number, count: number, over: number][]) => {
    const recent = counted(...windows);
    return standingOf(input, { days: recent, recent, end: 1_000_000, now: 1_000_000_000 });
  };
  // An hour that is bad altogether, whose last five minutes are well.
  const over = standing([1800, 1000, 500], [300, 1000, 0]);
  assert.equal(burning(over, FAST, 28), undefined);
  const now = standing([1800, 1000, 500], [300, 1000, 200]);
  assert.equal(burning(now, FAST, 28)?.rate, 14.4);
  // 2 % for three days: twice as fast as may be.
  const long = standing([200_000, 10_000, 200], [18_000, 10_000, 200], [300, 10_000, 200]);
  assert.equal(burning(long, FAST, 28), undefined);
  assert.deepEqual(burning(long, SLOW, 28), SLOW[2]);
  assert.equal(burning(long, SLOW, 2), undefined);
  assert.deepEqual(
    [standing().percent, standing().burns.every(({ rate }) => rate === null)],
    [null, true],
    'nothing was measured',
  );
  // All of nine are too slow: too few to tell.
  assert.equal(burning(standing([1800, 0, 0], [200, 9, 9]), FAST, 28), undefined);
  assert.deepEqual(burning(standing([1800, 0, 0], [200, 10, 10]), FAST, 28), FAST[0]);
  const nearly = standing([300, 1_000_000, 10_001]);
  assert.match(nearly.sentence, /: 98\.99 %; 10,001 of 1,000,000 too slow, 1 over budget/);
});
