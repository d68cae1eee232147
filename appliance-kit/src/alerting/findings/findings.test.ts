// What is found around an alert, on a real store and the real reader of logs.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { program } from '../../../tests/cistern.ts';
import { type Bench, bench, Client, eventually, PASSWORD } from '../../../tests/harness.ts';
import { type Store, type StoredSample, storaged } from '../../../tests/storaged.ts';
import { fitting, MOST_BYTES } from './findings.ts';

const rule = {
  ...{ name: 'Boiler', expression: 'boiler_pressure', direction: 'above', raise: 8, clear: 6, severity: 'warning' },
  ...{ raiseForSeconds: 0, clearForSeconds: 0, repostSeconds: 0, enabled: true, destinations: [] },
};

async function supportd(t: TestContext, { directory }: Bench, lines: readonly string[]): Promise<void> {
  const logs = join(directory, 'logs');
  for (const folder of [logs, join(directory, 'run', 'supportd'), join(directory, 'support')])
    mkdirSync(folder, { recursive: true });
  writeFileSync(join(logs, 'storaged.log'), lines.map((line) => `${line}\n`).join(''));
  const child = spawn(
    program('supportd'),
    [
      ...['--socket', join(directory, 'run', 'supportd', 'http.sock'), '--dir', join(directory, 'support')],
      ...['--run', join(directory, 'run'), '--state', directory, '--logs', logs],
    ],
    { stdio: ['ignore', 'ignore', 'inherit'] },
  );
  t.after(async () => {
    if (child.exitCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    await ended;
  });
}

/** Half an hour up to now, every fifteen seconds; `value` is handed how long before now it is. */
function past(now: number, name: string, host: string, value: (before: number, at: number) => number): StoredSample[] {
  return Array.from({ length: 121 }, (_, at) => {
    const before = (120 - at) * 15;
    return { name, labels: { host }, time: now - before, value: value(before, at) };
  });
}
const wave = (of: number) => (_: number, at: number) => of + Math.sin(at * 1.7) + Math.cos(at * of);

async function ready(t: TestContext, log: (now: number) => readonly string[] = () => []) {
  const on = await bench(t);
  on.clock.step(Math.round((Date.now() - on.clock.now()) / 1000));
  const now = Math.floor(on.clock.now() / 1000);
  await supportd(t, on, log(now));
  const store = await storaged(t, on);
  await on.client.setUp();
  return { on, store, now };
}

async function raised({ client, appliance }: Bench, given: object = rule): Promise<{ id: string; ruleName: string }[]> {
  const { body: made } = await client.post('/api/thresholds', given);
  // The round that the first rule began may not know of this one.
  return eventually(async () => {
    await appliance.thresholds.evaluate();
    const { items } = (await client.get('/api/alerts?limit=1000')).body;
    assert.ok(items.some(({ ruleId }: { ruleId: string }) => ruleId === made.id));
    return items;
  });
}

async function plant(store: Store, now: number): Promise<void> {
  const jump = (to: number) => (before: number, at: number) => wave(20)(before, at) + (before < 120 ? to : 0);
  await store.import([
    ...past(now, 'boiler_pressure', 'h6', (before) => (before < 60 ? 9 : 5)),
    ...past(now, 'queue_length', 'h6', jump(40)),
    ...past(now, 'worse_elsewhere', 'h7', jump(4_000)),
    ...Array.from({ length: 12 }, (_, at) => past(now, `quiet_${at}`, 'h6', wave(at + 3))).flat(),
    ...Array.from({ length: 3 }, (_, at) => past(now, 'lanes', `h${at + 5}`, jump(30))).flat(),
    ...past(now, 'login_time', 'h6', () => 0).map(({ value: _, ...one }, at) => {
      const slow = one.time !== undefined && now - one.time < 120;
      return { ...one, histogram: { bins: { [slow ? '0.09' : '0.0012']: 20 + (at % 3), '0.0013': 10 } } };
    }),
    ...past(now, 'gone_soon', 'h6', wave(3)).filter(({ time = 0 }) => time < now - 400),
  ]);
}

test('the series that changed, marks, the log and other alerts are found, kept, and looked for again after a minute', async (t) => {
  const line = (before: number, level: string, text: string) => (now: number) =>
    `${new Date((now - before) * 1000).toISOString()} level=${level} msg="${text}"`;
  const { on, store, now } = await ready(t, (at) => [
    line(3_000, 'WARN', 'long ago')(at),
    line(100, 'WARN', 'the valve is stuck')(at),
    line(50, 'INFO', 'went on')(at),
  ]);
  await plant(store, now);
  await on.client.post('/api/thresholds', { ...rule, name: 'Other', expression: 'queue_length', raise: 30, clear: 20 });
  const all = await raised(on);
  const alert = all.find(({ ruleName }) => ruleName === 'Boiler') as { id: string };
  const find = async () => (await on.client.get(`/api/alerts/${alert.id}/findings`)).body;
  const before = await find();
  assert.deepEqual([before.state, before.series, before.computedAt], ['waiting', null, null]);
  assert.deepEqual(
    [before.chart.expression, before.chart.limit, before.chart.alone, before.chart.to],
    ['boiler_pressure{host="h6"}', 8, true, null],
  );

  on.clock.advance(3);
  await on.appliance.findings.tick();
  const found = await find();
  assert.equal(found.state, 'partial');
  const names = found.series.items.map((one: { labels: { __name__: string } }) => one.labels.__name__);
  assert.deepEqual(names, ['login_time', 'queue_length', 'lanes', 'worse_elsewhere'], JSON.stringify(found.series));
  const [shape, first, second] = found.series.items;
  assert.deepEqual([shape.measure, shape.query], ['median', 'login_time{host="h6"}']);
  assert.deepEqual([first.shares, first.query, first.measure], [['host'], 'queue_length{host="h6"}', 'value']);
  assert.ok(first.before > 15 && first.before < 25 && first.after > 55, JSON.stringify(first));
  assert.equal(second.alike, 2);
  assert.deepEqual(found.series.ended, { count: 1, names: ['gone_soon{host="h6"}'] });
  assert.ok(found.series.compared >= 19 && found.series.note === null, JSON.stringify(found.series));
  assert.deepEqual(
    found.log.items.map(({ text }: { text: string }) => /the valve is stuck|went on|long ago/.exec(text)?.[0]),
    ['the valve is stuck', 'went on'],
  );
  const marks = found.marks.items.map(({ title }: { title: string }) => title);
  assert.ok(
    ['Other', 'Boiler'].every((name) => marks.includes(`threshold create: ${name}`)),
    marks.join(),
  );
  assert.deepEqual(
    found.neighbours.map((one: { ruleName: string; count: number }) => [one.ruleName, one.count]),
    [['Other', 1]],
  );

  on.clock.advance(60);
  await on.appliance.findings.tick();
  const complete = await find();
  assert.equal(complete.state, 'complete');
  assert.ok(complete.computedAt > found.computedAt);

  // A viewer may see all of it but the log.
  const { token } = (await on.client.post('/api/tokens', { name: 'vera', role: 'viewer' })).body;
  const headers = { authorization: `Bearer ${token}` };
  const seen = await new Client(on.appliance).get(`/api/alerts/${alert.id}/findings`, { headers });
  assert.deepEqual([seen.body.log.items, seen.body.log.note], [[], 'Operators may read the log.']);
  assert.equal(seen.body.series.items.length, 4);

  // It stays over a restart, and a store that is gone costs nothing that was found.
  await store.stop();
  const after = await on.restart();
  const again = new Client(after.appliance);
  await again.post('/api/session', { user: 'ada', password: PASSWORD });
  const kept = (await again.get(`/api/alerts/${alert.id}/findings`)).body;
  assert.deepEqual(kept.series, complete.series);
});

test('of a burst the first are looked into, and the others name the first', async (t) => {
  const { on, store, now } = await ready(t);
  const hosts = Array.from({ length: 12 }, (_, at) => `web${String(at).padStart(2, '0')}`);
  await store.import(hosts.map((host) => ({ name: 'boiler_pressure', labels: { host }, time: now, value: 9 })));
  const alerts = (await raised(on)).reverse();
  assert.equal(alerts.length, hosts.length);
  on.clock.advance(63);
  await on.appliance.findings.tick();
  const findings = await Promise.all(
    alerts.map(async ({ id }) => (await on.client.get(`/api/alerts/${id}/findings`)).body),
  );
  const [first] = alerts;
  assert.deepEqual(
    findings.map(({ insteadOf }) => insteadOf?.id ?? null),
    [...Array(5).fill(null), ...Array(7).fill(first?.id)],
  );
  for (const { state, neighbours } of findings) {
    assert.equal(state, 'complete');
    assert.equal(neighbours[0].count, hosts.length - 1);
    assert.equal(neighbours[0].alerts.length, 3);
  }
  assert.deepEqual(findings.at(-1).series, findings[0].series);
});

test('what one source does not answer is said in its place, and the rest is there', async (t) => {
  const { on, store, now } = await ready(t);
  await store.import([{ name: 'boiler_pressure', labels: { host: 'h6' }, time: now, value: 9 }]);
  const [alert] = await raised(on);
  await store.stop();
  on.clock.advance(3);
  await on.appliance.findings.tick();
  const { state, series, marks, log } = (await on.client.get(`/api/alerts/${alert?.id}/findings`)).body;
  assert.equal(state, 'partial');
  assert.match(series.note, /storaged does not answer/);
  assert.deepEqual([marks.note, log.note], [null, null]);
  assert.ok(marks.items.some(({ title }: { title: string }) => title === 'threshold create: Boiler'));
  assert.equal((await on.client.get('/api/alerts/al-gone/findings')).status, 404);
});

test('an alert of no rule has what belongs to its class; one that is deleted takes its findings with it', async (t) => {
  const { on } = await ready(t);
  await eventually(async () => assert.equal((await on.client.get('/api/services')).status, 200));
  const { alerts, db } = on.appliance;
  const kinds = (await import('../../appliance.ts')).allAlertClasses;
  const degraded = kinds.find((one) => one.class === 'pool.degraded');
  assert.ok(degraded);
  const id = alerts.raise({ kind: degraded, args: degraded.example }) as string;
  on.clock.advance(3);
  await on.appliance.findings.tick();
  const { chart } = (await on.client.get(`/api/alerts/${id}/findings`)).body;
  assert.deepEqual([chart.title, chart.limit], ['Bytes to and from all disks', null]);
  alerts.clear(id);
  on.clock.advance(401 * 86_400);
  alerts.tick();
  assert.equal(db.get('SELECT count(*) AS n FROM alert_findings')?.n, 0);
});

test('what is kept of one alert is bounded, and says what was left out', () => {
  const some = { count: 0, names: [] };
  const at = '2026-01-01T00:00:00.000Z';
  const line = { time: at, service: 'akd', level: 'info' as const, text: '€'.repeat(400) };
  const mark = { time: at, endTime: null, kind: 'change' as const, severity: 'info' as const, title: 'x', page: '/' };
  const kept = fitting({
    series: {
      ...{ items: [], compared: 0, of: 0, began: some, ended: some, from: at, to: at, baselineFrom: at, note: null },
    },
    marks: { items: Array(50).fill({ ...mark, detail: 'y'.repeat(300) }), leftOut: 3, note: null },
    log: { items: Array(60).fill(line), leftOut: 1, note: null },
  });
  assert.ok(Buffer.byteLength(kept) <= MOST_BYTES);
  const { marks, log } = JSON.parse(kept);
  assert.deepEqual([log.items.length + log.leftOut, marks.items.length + marks.leftOut], [61, 53]);
});
