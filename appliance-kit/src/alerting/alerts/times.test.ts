import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bench, PASSWORD } from '../../../tests/harness.ts';
import { thresholdExceeded } from '../thresholds/alerts.ts';

test('times to being told, acknowledged and cleared, by month and class: a burst counts once', async (t) => {
  const { appliance, client, clock } = await bench(t);
  await client.setUp();
  const { db, alerts } = appliance;
  const raise = (ruleId: string, n: number) => {
    const args = {
      ...({ ruleId, ruleName: ruleId, severity: 'warning', direction: 'above', expression: 'egress' } as const),
      ...{ value: 9, limit: 8, unit: '', labels: { host: `h${n}` }, seriesKey: `[["host","h${n}"]]` },
    };
    return alerts.raise({ kind: thresholdExceeded, args, ruleId, ruleName: ruleId, value: 9, limit: 8 }) as string;
  };
  const kinds = async () => (await client.get('/api/alert-times')).body.items;
  assert.deepEqual(await kinds(), []);

  // Three at once: told after 4 s, one acknowledged after 60 s, the last cleared after 100 s.
  const raisedAt = clock.now();
  const burst = db.transaction(() => [1, 2, 3].map((n) => raise('th-1', n)));
  db.run(
    `INSERT INTO deliveries (event_id, destination_id, destination_name, alert_id, event, state, at)
     VALUES ('e1', 'd', 'Mail', ?, 'raise', 'delivered', ?), ('e2', 'd', 'Mail', ?, 'raise', 'failed', ?)`,
    ...[burst[1] as string, raisedAt + 4_000, burst[0] as string, raisedAt + 1_000],
  );
  clock.advance(60);
  assert.equal((await client.post(`/api/alerts/${burst[0]}/acknowledge`, { note: '' })).status, 200);
  db.transaction(() => {
    for (const id of burst.slice(0, 2)) alerts.clear(id);
  });
  clock.advance(40);
  const [begun] = await kinds();
  assert.deepEqual([begun.class, begun.bursts, begun.alerts, begun.cleared.count], [null, 1, 3, 0]);
  db.transaction(() => alerts.clear(burst[2] as string));

  // Nine more of the same rule, cleared after 1 to 9 hours, and nobody acknowledged them; then a month later one that lasts.
  for (let hours = 1; hours <= 9; hours++) {
    const id = db.transaction(() => raise('th-1', 4)) as string;
    clock.advance(hours * 3600);
    db.transaction(() => alerts.clear(id));
  }
  clock.advance(31 * 86_400);
  db.transaction(() => raise('th-2', 1));
  // The session has ended meanwhile.
  assert.equal((await client.post('/api/session', { user: 'ada', password: PASSWORD })).status, 200);
  const all = await kinds();
  const none = { count: 0, medianSeconds: null, p90Seconds: null };
  const [month, later] = [raisedAt, clock.now()].map((at) => new Date(at).toISOString().slice(0, 7));
  const name = thresholdExceeded.class;
  const lasting = { month: later, bursts: 1, alerts: 1, told: none, acknowledged: none, cleared: none };
  const first = {
    ...{ month, bursts: 10, alerts: 12 },
    told: { count: 1, medianSeconds: 4, p90Seconds: 4 },
    acknowledged: { count: 1, medianSeconds: 60, p90Seconds: 60 },
    // By the nearest rank of 100 s, 1 h … 9 h: the fifth and the ninth.
    cleared: { count: 10, medianSeconds: 4 * 3600, p90Seconds: 8 * 3600 },
  };
  assert.deepEqual(all, [
    { ...lasting, class: null },
    { ...lasting, class: name },
    { ...first, class: null },
    { ...first, class: name },
  ]);
});
