import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import http from 'node:http';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Bench, bench, Client, eventually, PASSWORD } from '../../../tests/harness.ts';
import { seriesKey } from './rule.ts';

const rule = {
  name: 'Egress',
  expression: 'egress',
  direction: 'above',
  raise: 10,
  clear: 8,
  raiseForSeconds: 0,
  clearForSeconds: 0,
  repostSeconds: 0,
  severity: 'critical',
  enabled: true,
  destinations: [] as string[],
};

interface Store {
  /** What each expression gives: value by host, or PromQL's complaint. */
  readonly answers: Map<string, Record<string, string> | string>;
  down: boolean;
  /** Whether each result named its series. */
  readonly batches: string[][];
  /** What the next answer to a batch waits for, after it was thought out. */
  hold: Promise<void> | null;
  /** What it says of samples that it refuses. */
  refusing: object | null;
  lagSeconds: number;
}

/** As POST /api/v1/query_batch answers one query. */
function batched(answer: Record<string, string> | string, known: string | undefined): object {
  if (typeof answer === 'string') return { error: answer, errorType: 'bad_data' };
  const entries = Object.entries(answer);
  const set = `of ${Object.keys(answer).join()}`;
  const places = (text: string) => entries.flatMap(([, value], at) => (value === text ? [at] : []));
  return {
    ...{ set, values: entries.map(([, value]) => (Number.isFinite(Number(value)) ? Number(value) : null)) },
    ...{ nan: places('NaN'), inf: places('+Inf'), ninf: places('-Inf') },
    ...(set !== known && { labels: entries.map(([host]) => ({ __name__: 'egress', host })) }),
  };
}

/** Answers queries at storaged's socket in the form Prometheus' API has, and batches. */
async function store(t: TestContext, directory: string): Promise<Store> {
  const known: Store = { answers: new Map(), down: false, batches: [], hold: null, refusing: null, lagSeconds: 0 };
  const server = http.createServer((request, response) => {
    let text = '';
    request.on('data', (chunk) => {
      text += chunk;
    });
    request.on('end', () => {
      if (known.down) return response.destroy();
      if (request.url === '/api/v1/status/storage') {
        const { refusing, lagSeconds } = known;
        const status = { damaged: [], journal: { lagSeconds, blockSeconds: 7200 }, ...(refusing && { refusing }) };
        return response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(status));
      }
      if (request.url === '/api/v1/query_batch') {
        const { queries } = JSON.parse(text) as { queries: { query: string; known?: string }[] };
        const results = queries.map((one, at) => {
          const answer = known.answers.get(one.query) ?? {};
          // The store comes to the first of a batch in any case.
          if (answer === 'later') return at > 0 ? { later: true } : batched({ web1: '1' }, one.known);
          return batched(answer, one.known);
        });
        const form = (one: object) => ['labels', 'set', 'later'].find((name) => name in one) ?? 'error';
        known.batches.push(results.map((one) => ({ labels: 'named', set: 'known' })[form(one)] ?? form(one)));
        const { hold } = known;
        known.hold = null;
        void Promise.resolve(hold).then(() =>
          response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ time: 1, results })),
        );
        return;
      }
      const answer = known.answers.get(new URLSearchParams(text).get('query') ?? '') ?? {};
      const [status, body] =
        typeof answer === 'string'
          ? [400, { status: 'error', errorType: 'bad_data', error: answer }]
          : [
              200,
              {
                status: 'success',
                data: {
                  resultType: 'vector',
                  result: Object.entries(answer).map(([host, value]) => ({
                    metric: { __name__: 'egress', host },
                    value: [1, value],
                  })),
                },
              },
            ];
      response.writeHead(status as number, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    });
  });
  mkdirSync(join(directory, 'run', 'storaged'), { recursive: true });
  await new Promise<void>((resolve) => server.listen(join(directory, 'run', 'storaged', 'http.sock'), resolve));
  t.after(() => new Promise((resolve) => server.close(resolve)));
  return known;
}

async function ready(t: TestContext): Promise<{ on: Bench; known: Store }> {
  const on = await bench(t);
  const known = await store(t, on.directory);
  await on.client.setUp();
  return { on, known };
}

const active = async ({ client }: Bench) => (await client.get('/api/alerts')).body.items;
const evaluate = async (on: Bench, seconds = 5) => {
  on.clock.advance(seconds);
  await on.appliance.thresholds.evaluate();
};

test('one alert for each series, with its value and limit; cleared when it is back', async (t) => {
  const { on, known } = await ready(t);
  known.answers.set('egress', { web1: '16', web2: '3', web3: '+Inf' });
  const { body: made } = await on.client.post('/api/thresholds', rule);
  await evaluate(on);
  await evaluate(on);
  const alerts = await active(on);
  assert.deepEqual(
    alerts.map((alert: { labels: { host: string }; value: number }) => [alert.labels.host, alert.value]).sort(),
    [
      ['web1', 16],
      ['web3', Number.MAX_VALUE],
    ],
  );
  const [first] = alerts.filter((alert: { labels: { host: string } }) => alert.labels.host === 'web1');
  assert.equal(first.text, 'Egress (host="web1") is 16, above the limit of 10.');
  assert.deepEqual([first.ruleId, first.ruleName, first.limit, first.severity], [made.id, 'Egress', 10, 'critical']);
  const { state } = (await on.client.get('/api/thresholds')).body.items[0];
  assert.deepEqual(state.series.map((one: { state: string }) => one.state).sort(), ['active', 'active', 'ok']);
  const { alerts: firing } = (await on.client.get('/api/v1/alerts')).body.data;
  assert.deepEqual(
    firing.map((one: { labels: object; activeAt: string }) => [one.labels, one.activeAt]),
    ['web1', 'web3'].map((host) => [{ host, alertname: 'Egress', severity: 'critical' }, first.raisedAt]),
  );
  assert.equal((await on.client.get('/api/v1/rules')).body.data.groups[0].rules[0].state, 'firing');

  known.answers.set('egress', { web1: '7', web2: '3', web3: '1' });
  await evaluate(on);
  assert.deepEqual(await active(on), []);
  const cleared = (await on.client.get(`/api/alerts/${first.id}`)).body;
  assert.equal(cleared.text, 'Egress (host="web1") is back within its limit.');
  assert.deepEqual([cleared.state, cleared.value], ['cleared', 7]);
});

test('a band: the alert names the end that the value is beyond', async (t) => {
  const { on, known } = await ready(t);
  const band = {
    ...rule,
    name: 'Cache hits',
    direction: 'outside',
    raise: 1.1,
    clear: 1,
    raiseBelow: 0.8,
    clearBelow: 0.9,
  };
  known.answers.set('egress', { web1: '0.5', web2: '1.2', web3: '1' });
  await on.client.post('/api/thresholds', band);
  await evaluate(on);
  await evaluate(on);
  const texts = (await active(on)).map((alert: { text: string; limit: number }) => [alert.text, alert.limit]);
  assert.deepEqual(texts.sort(), [
    ['Cache hits (host="web1") is 0.5, below the limit of 0.8.', 0.8],
    ['Cache hits (host="web2") is 1.2, above the limit of 1.1.', 1.1],
  ]);
  const [shown] = (await on.client.get('/api/v1/rules')).body.data.groups[0].rules;
  assert.equal(shown.query, '(egress) > 1.1 or (egress) < 0.8');
  known.answers.set('egress', { web1: '0.95', web2: '1.05', web3: '1' });
  await evaluate(on);
  assert.deepEqual((await active(on)).length, 1, 'between the limits it stays active');
  const { raiseBelow: _, ...half } = band;
  const refused = await on.client.post('/api/thresholds', half);
  assert.deepEqual([refused.status, refused.body.errors[0].path], [400, '/raiseBelow']);
});

test('many rules are asked about at once, series are named once, and nothing is missed for it', async (t) => {
  const { on, known } = await ready(t);
  known.answers.set('egress', { web1: '1', web2: 'NaN' });
  known.answers.set('other', { web1: '1' });
  known.answers.set('slow', 'later');
  for (const expression of ['egress', 'other', 'slow', 'bad']) {
    if (expression === 'bad') known.answers.set('bad', '1:1: parse error: no');
    await on.client.post('/api/thresholds', { ...rule, name: expression, expression });
  }
  await evaluate(on);
  assert.ok(known.batches.some((batch) => batch.includes('named')));
  await evaluate(on);
  // What the store has not come to is asked again in the same round.
  assert.deepEqual(known.batches.slice(-2), [['known', 'known', 'later', 'error'], ['known']]);
  assert.deepEqual(await active(on), []);
  // One of a set that is known goes beyond; then one is new; then one is gone.
  const host = async () => (await active(on)).map(({ labels }: { labels: { host: string } }) => labels.host).sort();
  known.answers.set('egress', { web1: '1', web2: '11' });
  await evaluate(on);
  assert.deepEqual(await host(), ['web2']);
  known.answers.set('egress', { web0: '12', web1: '11', web2: '1' });
  await evaluate(on);
  assert.deepEqual(await host(), ['web0', 'web1']);
  known.answers.set('egress', { web2: '1', web0: '1' });
  await evaluate(on);
  const [left, ...others] = await active(on);
  assert.deepEqual([left.labels.host, left.noData, others.length], ['web1', true, 0]);
  // The values that a page shows are those of the last round, also when nothing else has changed.
  known.answers.set('other', { web1: '2' });
  await evaluate(on);
  const shown = (await on.client.get('/api/thresholds')).body.items.find(
    ({ name }: { name: string }) => name === 'other',
  );
  assert.equal(shown.state.series[0].value, 2);
});

test('a hint is followed at once, and an answer to an earlier question does not undo it', async (t) => {
  const { on, known } = await ready(t);
  const { thresholds } = on.appliance;
  known.answers.set('egress', { web1: '3' });
  const { body: made } = await on.client.post('/api/thresholds', rule);
  await evaluate(on);
  const late = Promise.withResolvers<void>();
  known.hold = late.promise;
  const asked = known.batches.length;
  const round = thresholds.evaluate();
  await eventually(() => assert.equal(known.batches.length, asked + 1));
  known.answers.set('egress', { web1: '16' });
  thresholds.evaluateSoon([made.id, 'th-gone']);
  await eventually(async () => assert.equal((await active(on)).length, 1));
  late.resolve();
  await round;
  assert.equal((await active(on))[0]?.value, 16);
  // The rounds go on as before.
  known.answers.set('egress', { web1: '1' });
  await evaluate(on);
  assert.deepEqual(await active(on), []);
});

test('a rule that is well and whose limit the store watches is asked about as often as was asked for, not more often', async (t) => {
  const { on, known } = await ready(t);
  const { thresholds } = on.appliance;
  for (const expression of ['egress', 'sum(egress)']) known.answers.set(expression, { web1: '3' });
  const ids = [];
  for (const expression of ['egress', 'sum(egress)']) {
    ids.push((await on.client.post('/api/thresholds', { ...rule, name: expression, expression })).body.id);
  }
  thresholds.watched(new Set([ids[0]]));
  const askedAbout = async (seconds: number) => {
    known.batches.length = 0;
    await evaluate(on, seconds);
    return known.batches.flat().length;
  };
  // Once an hour is what was asked for here.
  await askedAbout(3600);
  assert.equal(await askedAbout(3600), 2, 'its series were named just now');
  assert.equal(await askedAbout(600), 1);
  assert.equal(await askedAbout(2400), 1);
  assert.equal(await askedAbout(600), 2);
  // Another limit is another rule, and one that is beyond it is followed closely.
  await on.client.put(`/api/thresholds/${ids[0]}`, { ...rule, raise: 2, clear: 2 });
  assert.equal(await askedAbout(1), 2);
  assert.equal((await active(on)).length, 1);
  assert.equal(await askedAbout(1), 2);
  thresholds.watched(new Set());
  await on.client.put(`/api/thresholds/${ids[0]}`, rule);
  await askedAbout(600);
  await askedAbout(600);
  assert.equal(await askedAbout(600), 2, 'nobody would tell of it');
});

test('a restart neither repeats an alert nor loses its clearing', async (t) => {
  const { on, known } = await ready(t);
  known.answers.set('egress', { web1: '16' });
  await on.client.post('/api/thresholds', { ...rule, clearForSeconds: 10 });
  await evaluate(on);
  const [before] = await active(on);
  const again = await on.restart();
  const later = { ...again, client: on.client };
  await again.client.post('/api/session', { user: 'ada', password: 'correct horse battery' });
  await evaluate(later);
  assert.deepEqual(
    (await active(again)).map(({ id }: { id: string }) => id),
    [before.id],
  );
  known.answers.set('egress', { web1: '1' });
  for (let n = 0; n < 3; n++) await evaluate(later);
  assert.deepEqual(await active(again), []);
  assert.equal((await again.client.get('/api/alerts?state=all')).body.items.length, 1);
});

test('the store being down clears nothing and says so', async (t) => {
  const { on, known } = await ready(t);
  known.answers.set('egress', { web1: '16' });
  await on.client.post('/api/thresholds', rule);
  await evaluate(on);
  known.down = true;
  for (let n = 0; n < 5; n++) await evaluate(on);
  assert.equal((await active(on)).length, 1);
  assert.match((await on.client.get('/api/thresholds')).body.items[0].state.error, /storaged does not answer/);
  known.down = false;
  await evaluate(on);
  assert.equal((await on.client.get('/api/thresholds')).body.items[0].state.error, null);
  assert.equal((await active(on)).length, 1);
});

test('a series that disappears keeps its alert, marked; it goes on when it is back', async (t) => {
  const { on, known } = await ready(t);
  known.answers.set('egress', { web1: '16' });
  await on.client.post('/api/thresholds', rule);
  await evaluate(on);
  known.answers.set('egress', {});
  await evaluate(on);
  const [marked] = await active(on);
  assert.equal(marked.noData, true);
  assert.equal((await on.client.get('/api/thresholds')).body.items[0].state.series[0].state, 'no_data');
  known.answers.set('egress', { web1: '17' });
  await evaluate(on);
  assert.deepEqual(
    (await active(on)).map((alert: { id: string; noData: boolean }) => [alert.id, alert.noData]),
    [[marked.id, false]],
  );
});

test("an expression that cannot be evaluated shows PromQL's own words", async (t) => {
  const { on, known } = await ready(t);
  const words = '1:5: parse error: unexpected end of input';
  known.answers.set('sum(', words);
  const condition = { expression: 'sum(', direction: 'above', raise: 1, clear: 1 };
  const { body } = await on.client.post('/api/thresholds/preview', condition);
  assert.deepEqual([body.series, body.error, body.errorAt], [[], words, { line: 1, column: 5 }]);
  await on.client.post('/api/thresholds', { ...rule, expression: 'sum(' });
  await evaluate(on);
  const { state } = (await on.client.get('/api/thresholds')).body.items[0];
  assert.deepEqual([state.error, state.errorAt], [words, { line: 1, column: 5 }]);
});

test('a rule that cannot be evaluated watches nothing, which is an alert after five minutes, and until it is mended', async (t) => {
  const { on, known } = await ready(t);
  known.answers.set('sum(', '1:5: parse error: unexpected end of input');
  const { body: made } = await on.client.post('/api/thresholds', { ...rule, expression: 'sum(' });
  const look = async (seconds: number) => {
    on.clock.advance(seconds);
    await evaluate(on);
    await on.appliance.poller.look();
    return (await on.client.get('/api/alerts')).body.items as { class: string; text: string; page: string }[];
  };
  assert.deepEqual(await look(1), []);
  assert.deepEqual(await look(290), []);
  const [alert] = await look(20);
  assert.equal(alert?.class, 'threshold.failing');
  assert.equal(alert?.text, '“Egress” watches nothing: 1:5: parse error: unexpected end of input.');
  assert.equal(alert?.page, `/alerts/thresholds/${made.id}`);
  known.down = true;
  assert.equal((await look(10)).length, 1, 'a store that is down says nothing of the rule');
  known.down = false;
  assert.equal((await on.client.put(`/api/thresholds/${made.id}`, rule)).status, 200);
  assert.deepEqual(await look(10), []);
});

test('a store that refuses measurements for reasons of its own is an alert, until it takes them again', async (t) => {
  const { on, known } = await ready(t);
  const look = async (seconds: number) => {
    on.clock.advance(seconds);
    await on.appliance.poller.look();
    return (await on.client.get('/api/alerts')).body.items as Record<string, string>[];
  };
  assert.deepEqual(await look(1), []);
  const detail = 'write /srv/telemetry/journal/0.journal: disk quota exceeded';
  known.refusing = {
    since: '2026-01-01T00:00:00Z',
    last: '2026-01-01T00:00:01Z',
    reason: 'storage_error',
    detail,
    samples: 9,
  };
  assert.deepEqual(await look(1), [], 'not of a moment');
  const [alert] = await look(15);
  assert.deepEqual([alert?.class, alert?.severity], ['store.refusing', 'critical']);
  assert.match(alert?.text ?? '', /^Since 2026-01-01T00:00:00Z measurements are refused: .*disk quota exceeded\.$/);
  assert.match(alert?.action ?? '', /^Make room/);
  known.refusing = null;
  assert.deepEqual(await look(10), []);
});

test('a store that writes no blocks is an alert', async (t) => {
  const { on, known } = await ready(t);
  const look = async () => {
    on.clock.advance(10);
    await on.appliance.poller.look();
    return (await on.client.get('/api/alerts')).body.items as Record<string, string>[];
  };
  // One is due, and takes its time.
  known.lagSeconds = 8_900;
  assert.deepEqual(await look(), []);
  known.lagSeconds = 9_100;
  const [alert] = await look();
  assert.deepEqual([alert?.class, alert?.severity], ['store.behind', 'warning']);
  assert.match(alert?.text ?? '', /^What was measured in the last 3 hours is in the journal and in memory only/);
  known.lagSeconds = 30;
  assert.deepEqual(await look(), []);
});

test('the preview says what each series would be', async (t) => {
  const { on, known } = await ready(t);
  known.answers.set('egress', { web1: '16', web2: '3' });
  const { body } = await on.client.post('/api/thresholds/preview', {
    expression: 'egress',
    direction: 'below',
    raise: 5,
    clear: 6,
  });
  assert.deepEqual(
    body.series.map((one: { wouldBe: string }) => one.wouldBe),
    ['ok', 'active'],
  );
  known.down = true;
  const down = await on.client.post('/api/thresholds/preview', {
    expression: 'egress',
    direction: 'below',
    raise: 5,
    clear: 6,
  });
  assert.equal(down.body.code, 'service_unavailable');
});

test('removing, switching off or re-aiming a rule ends its alerts; new limits do not', async (t) => {
  const { on, known } = await ready(t);
  known.answers.set('egress', { web1: '16' });
  known.answers.set('other', {});
  const { body: made } = await on.client.post('/api/thresholds', rule);
  const change = (to: object) => on.client.put(`/api/thresholds/${made.id}`, { ...rule, ...to });
  await evaluate(on);
  await change({ raise: 12, name: 'Egress of web servers' });
  await evaluate(on);
  assert.equal((await active(on)).length, 1);
  await change({ enabled: false });
  assert.equal((await active(on)).length, 0);
  await evaluate(on);
  assert.equal((await active(on)).length, 0);
  await change({});
  await evaluate(on);
  assert.equal((await active(on)).length, 1);
  await change({ expression: 'other' });
  assert.equal((await active(on)).length, 0);
  await change({});
  await evaluate(on);
  await on.client.delete(`/api/thresholds/${made.id}`);
  const all = (await on.client.get('/api/alerts?state=all')).body.items;
  assert.deepEqual(
    all.map((alert: { state: string }) => alert.state),
    ['cleared', 'cleared', 'cleared'],
  );
  assert.match(all[0].text, /was removed/);
});

test('the alert list is read in pages', async (t) => {
  const { on, known } = await ready(t);
  known.answers.set('egress', Object.fromEntries(Array.from({ length: 7 }, (_, n) => [`web${n}`, '16'])));
  await on.client.post('/api/thresholds', rule);
  await evaluate(on);
  const seen: string[] = [];
  for (let before = ''; ; ) {
    const { items } = (await on.client.get(`/api/alerts?limit=3${before && `&before=${before}`}`)).body;
    if (items.length === 0) break;
    seen.push(...items.map(({ id }: { id: string }) => id));
    before = seen.at(-1) as string;
  }
  assert.equal(new Set(seen).size, 7);
});

test('no data is a condition of its own: after its time, once, over a restart, and cleared when data is back', async (t) => {
  const { on, known } = await ready(t);
  known.answers.set('egress', { web1: '3', web2: '3' });
  const { body: made } = await on.client.post('/api/thresholds', { ...rule, noDataSeconds: 60 });
  await evaluate(on);
  known.answers.set('egress', { web2: '3' });
  for (let n = 0; n < 12; n++) await evaluate(on);
  assert.deepEqual(await active(on), [], 'not before its time');
  await evaluate(on);
  await evaluate(on);
  const alerts = await active(on);
  assert.deepEqual(
    alerts.map((one: { class: string; text: string }) => [one.class, one.text]),
    [['threshold.nodata', 'Egress (host="web1") has had no value for 60 seconds.']],
  );
  const after = await on.restart();
  const client = new Client(after.appliance);
  await client.post('/api/session', { user: 'ada', password: PASSWORD });
  for (let n = 0; n < 20; n++) await evaluate(after);
  assert.equal((await client.get('/api/alerts')).body.items.length, 1);
  known.answers.set('egress', { web1: '3', web2: '3' });
  await evaluate(after);
  const [cleared] = (await client.get('/api/alerts?state=all')).body.items;
  assert.deepEqual([cleared.state, cleared.text], ['cleared', 'Egress (host="web1") has data again.']);
  known.answers.set('egress', { web2: '3' });
  for (let n = 0; n < 14; n++) await evaluate(after);
  assert.equal((await client.get('/api/alerts')).body.items.length, 1, 'known also when it was well at the restart');
  const forget = (host: string) =>
    client.post(`/api/thresholds/${made.id}/forget-series`, { labels: { __name__: 'egress', host } });
  assert.equal((await forget('web2')).status, 409, 'it has a value');
  assert.equal((await forget('web9')).status, 404);
  assert.equal((await forget('web1')).body.state.series.length, 1);
  assert.deepEqual((await client.get('/api/alerts')).body.items, []);
});

test('a rule that never had data says so as well, when it minds', async (t) => {
  const { on, known } = await ready(t);
  await on.client.post('/api/thresholds', { ...rule, noDataSeconds: 10 });
  for (let n = 0; n < 3; n++) await evaluate(on);
  assert.deepEqual(
    (await active(on)).map((one: { title: string }) => one.title),
    ['Egress has no data'],
  );
  known.answers.set('egress', { web1: '3' });
  await evaluate(on);
  assert.deepEqual(await active(on), []);
  assert.equal((await on.client.get('/api/thresholds')).body.items[0].state.series.length, 1);
});

test('outside of its hours a rule raises nothing, and clears what is well', async (t) => {
  const { on, known } = await ready(t);
  // It is midnight, and a Thursday.
  const hours = { days: [4], from: '01:00', to: '02:00', timeZone: 'UTC' };
  known.answers.set('egress', { web1: '16' });
  await on.client.post('/api/thresholds', { ...rule, hours });
  await evaluate(on);
  assert.deepEqual(await active(on), []);
  await evaluate(on, 3600);
  assert.equal((await active(on)).length, 1);
  await evaluate(on, 3600);
  assert.equal((await active(on)).length, 1, 'still beyond its limit');
  known.answers.set('egress', { web1: '1' });
  await evaluate(on);
  assert.deepEqual(await active(on), []);
});

test('a form is kept with the expression that it means', async (t) => {
  const { on } = await ready(t);
  const form = { kind: 'ratio', metric: 'out', to: 'in', overSeconds: 60, by: ['host'] };
  const { body } = await on.client.post('/api/thresholds', { ...rule, expression: 'x', form });
  assert.equal(body.expression, 'sum by (host) (rate(out[1m])) / (sum by (host) (rate(in[1m])) > 0)');
  assert.deepEqual(body.form, form);
  const { status, body: refused } = await on.client.put(`/api/thresholds/${body.id}`, {
    ...{ ...rule, form: { ...form, to: 'in) or vector(1' } },
  });
  assert.deepEqual([status, refused.errors[0].path], [400, '/form/to']);
});

test('the order of labels makes no difference', () => {
  assert.equal(seriesKey({ a: '1', b: '2' }), seriesKey({ b: '2', a: '1' }));
  assert.notEqual(seriesKey({ a: '1' }), seriesKey({ a: '2' }));
});
