import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import http from 'node:http';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Bench, bench, Client, PASSWORD } from '../../../tests/harness.ts';
import { StandIn } from '../../../tests/tracerd.ts';
import { scrubFinished } from '../../storage/pools/alerts.ts';
import { linkDown } from '../../system/machine/alerts.ts';

const STATISTIC = 'io.ops[process]';

interface World {
  on: Bench;
  /** What storaged says of `load`. */
  value: string;
  bundles: number;
  supportdUp: boolean;
  state(): Promise<string>;
  evaluate(seconds?: number): Promise<void>;
}

async function world(t: TestContext): Promise<World> {
  const on = await bench(t);
  await on.client.setUp();
  const at = (name: string) => {
    mkdirSync(join(on.directory, 'run', name), { recursive: true });
    return join(on.directory, 'run', name, 'http.sock');
  };
  const tracerd = new StandIn({ socket: at('tracerd') });
  await tracerd.start();
  t.after(() => tracerd.stop());
  const made: World = {
    ...{ on, value: '1', bundles: 0, supportdUp: true },
    state: async () => {
      const { items } = (await on.client.get('/api/statistic-datasets')).body;
      return items.find((one: { name: string }) => one.name === STATISTIC)?.state ?? 'none';
    },
    evaluate: async (seconds = 5) => {
      on.clock.advance(seconds);
      await on.appliance.thresholds.evaluate();
      await on.appliance.actions.tick();
    },
  };
  const serve = async (name: string, answer: () => [number, unknown]) => {
    const server = http.createServer((request, response) => {
      request.resume().on('end', () => {
        const [status, body] = answer();
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
      });
    });
    await new Promise<void>((resolve) => server.listen(at(name), resolve));
    t.after(() => new Promise((resolve) => server.close(resolve)));
  };
  await serve('storaged', () => {
    const one = { set: 'x', labels: [{ host: 'a' }], values: [Number(made.value)] };
    // For as many rules as there are in a batch.
    return [200, { time: 1, results: [one, one, one, one] }];
  });
  await serve('supportd', () => {
    if (!made.supportdUp) return [503, { status: 503, detail: 'not now' }];
    made.bundles++;
    return [202, { id: `b${made.bundles}`, name: `bundle-${made.bundles}` }];
  });
  return made;
}

const rule = {
  ...{ name: 'Load', expression: 'load', direction: 'above', raise: 10, clear: 5, severity: 'warning', enabled: true },
  ...{ raiseForSeconds: 0, clearForSeconds: 0, repostSeconds: 0, destinations: [] },
};

const history = async ({ on }: World) => {
  const [alert] = (await on.client.get('/api/alerts?state=all')).body.items;
  return alert.history.map((one: { text: string }) => one.text);
};

test('a threshold switches a traced statistic on above one limit and off below another', async (t) => {
  const it = await world(t);
  const actions = [
    { on: 'raise', kind: 'resume-statistic', target: STATISTIC, forSeconds: 3600 },
    { on: 'clear', kind: 'suspend-statistic', target: STATISTIC, forSeconds: 0 },
  ];
  assert.equal((await it.on.client.post('/api/thresholds', { ...rule, actions })).status, 201);
  await it.evaluate();
  const before = await it.state();
  assert.ok(['none', 'stopped'].includes(before), before);
  it.value = '11';
  await it.evaluate();
  assert.ok(['starting', 'recording'].includes(await it.state()));
  it.value = '7';
  await it.evaluate();
  assert.notEqual(await it.state(), 'suspended', 'between the limits it goes on');
  it.value = '4';
  await it.evaluate();
  assert.equal(await it.state(), 'suspended');
  assert.deepEqual(await history(it), [
    `The statistic ${STATISTIC} is measured for 60 minutes.`,
    `The statistic ${STATISTIC} was suspended.`,
  ]);
  const audited = (await it.on.client.get('/api/audit-log')).body.items.map(
    ({ user, action }: { user: string; action: string }) => `${user} ${action}`,
  );
  assert.ok(audited.includes('appliance statistic.resume') && audited.includes('appliance statistic.suspend'));
  it.value = '11';
  await it.evaluate();
  assert.ok(['starting', 'recording'].includes(await it.state()), 'and on again');
});

test('what was resumed ends by itself, also when akd was down meanwhile; until it clears is a day at most', async (t) => {
  const it = await world(t);
  const resume = { on: 'raise', kind: 'resume-statistic', target: STATISTIC };
  await it.on.client.post('/api/thresholds', { ...rule, actions: [{ ...resume, forSeconds: 600 }] });
  it.value = '11';
  await it.evaluate();
  await it.evaluate(599);
  assert.notEqual(await it.state(), 'suspended');
  const after = await it.on.restart();
  after.clock.advance(2);
  await after.appliance.actions.tick();
  assert.equal(await stateOf(after), 'suspended');

  const client = await signedIn(after);
  const { items } = (await client.get('/api/thresholds')).body;
  await client.put(`/api/thresholds/${items[0].id}`, { ...rule, actions: [{ ...resume, forSeconds: 0 }] });
  const step = async (value: string, seconds: number) => {
    it.value = value;
    after.clock.advance(seconds);
    await after.appliance.thresholds.evaluate();
    await after.appliance.actions.tick();
  };
  await step('1', 5);
  await step('11', 5);
  assert.notEqual(await stateOf(after), 'suspended');
  await step('1', 5);
  assert.equal(await stateOf(after), 'suspended', 'cleared');
  await step('11', 5);
  await step('11', 86_390);
  assert.notEqual(await stateOf(after), 'suspended');
  await step('11', 20);
  assert.equal(await stateOf(after), 'suspended', 'forgotten for a day');
});

async function signedIn({ appliance }: Bench): Promise<Client> {
  const client = new Client(appliance);
  await client.post('/api/session', { user: 'ada', password: PASSWORD });
  return client;
}

async function stateOf(on: Bench): Promise<string> {
  const { items } = (await (await signedIn(on)).get('/api/statistic-datasets')).body;
  return items.find((one: { name: string }) => one.name === STATISTIC)?.state ?? 'none';
}

test('a bundle and a snapshot; what fails is said and tried again', async (t) => {
  const it = await world(t);
  const [pool] = (await it.on.client.get('/api/pools')).body.items;
  const actions = [
    { on: 'raise', kind: 'bundle', target: '', forSeconds: 0 },
    { on: 'raise', kind: 'snapshot', target: pool.name, forSeconds: 0 },
    { on: 'raise', kind: 'snapshot', target: 'no/such', forSeconds: 0 },
  ];
  await it.on.client.post('/api/thresholds', { ...rule, actions });
  it.supportdUp = false;
  it.value = '11';
  await it.evaluate();
  const words = await history(it);
  assert.match(words[0], /bundle failed and is tried again: not now/);
  assert.match(words[1], new RegExp(`The snapshot ${pool.name}@manual-.* was taken\\.`));
  assert.match(words[2], /snapshot of no\/such failed and is tried again/);
  const taken = (await it.on.client.get(`/api/snapshots?dataset=${pool.name}`)).body.items;
  assert.equal(taken.length, 1);
  it.supportdUp = true;
  await it.evaluate(60);
  await it.evaluate(60);
  assert.equal(it.bundles, 1, 'once');
  assert.ok((await history(it)).includes('The support bundle bundle-1 is being made.'));
});

test('an action that makes no sense is refused, naming its field', async (t) => {
  const it = await world(t);
  const wrong = async (action: object) => {
    const actions = [{ on: 'raise', target: '', forSeconds: 0, ...action }];
    const { status, body } = await it.on.client.post('/api/thresholds', { ...rule, actions });
    return [status, body.errors?.[0].path];
  };
  assert.deepEqual(await wrong({ kind: 'snapshot' }), [400, '/actions/0/target']);
  assert.deepEqual(await wrong({ kind: 'resume-worksheet', target: 'ws-none' }), [400, '/actions/0/target']);
  assert.deepEqual(await wrong({ kind: 'launch' }), [400, '/actions/0/kind']);
});

test('each class can have actions, muted or not; of a burst one bundle is enough; what marks an end is raised when it is wanted', async (t) => {
  const it = await world(t);
  const { client, appliance, clock } = it.on;
  const route = { muted: true, destinations: [], escalation: null };
  const set = (name: string, actions: object[]) => client.put(`/api/alert-classes/${name}`, { ...route, actions });
  const [bundle, measure] = [
    { on: 'raise', kind: 'bundle', target: '', forSeconds: 0 },
    { on: 'raise', kind: 'resume-statistic', target: STATISTIC, forSeconds: 0 },
  ];
  const refused = await set('link.down', [{ ...measure, target: '' }]);
  assert.deepEqual([refused.status, refused.body.errors[0].path], [400, '/actions/0/target']);
  const saved = await set('link.down', [bundle, measure]);
  assert.deepEqual([saved.status, saved.body.actions.length], [200, 2], JSON.stringify(saved.body));

  const down = (link: string) => appliance.alerts.raise({ kind: linkDown, args: { ...linkDown.example, link } });
  const ids = appliance.db.transaction(() => ['eno1', 'eno2', 'eno3'].map(down));
  await appliance.actions.tick();
  assert.equal(it.bundles, 1, 'three alerts');
  assert.ok(['starting', 'recording'].includes(await it.state()));
  appliance.alerts.clear(ids[0] as string);
  await appliance.actions.tick();
  clock.advance(11 * 60);
  appliance.alerts.raise({ kind: linkDown, args: { ...linkDown.example, link: 'eno4' } });
  await appliance.actions.tick();
  assert.equal(it.bundles, 2, 'a later one');

  const finish = (startedAt: string) =>
    appliance.alerts.raise({ kind: scrubFinished, args: { ...scrubFinished.example, startedAt } });
  assert.equal(finish('2026-01-01T00:00:00.000Z'), null, 'nobody wants it');
  assert.equal((await set('scrub.finished', [bundle])).status, 200);
  clock.advance(11 * 60);
  assert.notEqual(finish('2026-01-08T00:00:00.000Z'), null);
  await appliance.actions.tick();
  assert.equal(it.bundles, 3);
  // As it was before the start.
  const after = await it.on.restart();
  const kinds = (await (await signedIn(after)).get('/api/alert-classes')).body.items;
  const kept = kinds.find((one: { class: string }) => one.class === 'scrub.finished');
  assert.deepEqual([kept.muted, kept.optional, kept.actions], [true, true, [bundle]]);
});
