import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Bench, bench, PASSWORD } from '../../../tests/harness.ts';
import { Alerts } from '../../alerting/alerts/alerts.ts';
import { Settings } from '../../state/settings.ts';
import {
  ConfigurationChangeAlerts,
  changeInWords,
  GATHER_MS,
  NOT_CONFIGURATION,
  reported,
} from './configuration-changes.ts';

/** Every action that is written into the audit log, as its own source has it: `${…}` for what is filled in. */
function recorded(): string[] {
  const source = join(import.meta.dirname, '../..');
  const found = globSync('**/*.ts', { cwd: source, exclude: (name) => name.endsWith('.test.ts') }).flatMap((file) =>
    [...readFileSync(join(source, file), 'utf8').matchAll(/audit\s*\.record(?:Repeated|Later)?\(([^;]*?)\)?;/gs)].map(
      ([, args = '']) => {
        const actions = [...args.matchAll(/['`]([a-z-]+\.[a-z.${}A-Z-]+)['`]|'([a-z-]+\.[a-z.-]+)'/g)].map(
          (one) => one[1] ?? one[2],
        );
        assert.ok(actions.length > 0 || /action,/.test(args), `${file}: no action in ${args}`);
        return actions as string[];
      },
    ),
  );
  return [...new Set(found.flat())].sort();
}

test('whatever is written into the audit log is a change of the configuration, or said to be none', () => {
  const actions = recorded();
  assert.ok(actions.length > 60, `the search finds only ${actions.length}`);
  const isNone = (action: string) =>
    NOT_CONFIGURATION.some((none) => (none.endsWith('.') ? action.startsWith(none) : action === none));
  for (const action of actions) {
    if (action.includes('$')) continue;
    assert.notEqual(changeInWords(action, 'x') === null, !isNone(action), `${action} is in neither list, or in both`);
  }
  // What is filled in, as the routes allow it.
  const filled: Record<string, readonly string[]> = {
    'dataset.key.${input.action}': ['load', 'unload', 'change'],
    'disk.${state}': ['online', 'offline'],
    'service.${action}': ['start', 'stop', 'restart', 'clear'],
    'settings.${cause}': ['apply', 'restore'],
    'statistic.${action}': ['record', 'destroy', 'suspend', 'resume'],
  };
  const open = actions.filter((action) => action.includes('$') && !isNone(action));
  assert.deepEqual(open, Object.keys(filled).sort());
  for (const [action, values] of Object.entries(filled))
    for (const value of values) {
      const name = action.replace(/\$.*/, value);
      assert.notEqual(changeInWords(name, 'x') === null, !isNone(name), `${name} is in neither list, or in both`);
    }
  assert.equal(changeInWords('constructor', 'x'), null);
});

const changed = async (on: Bench) =>
  (await on.client.get('/api/alerts?state=all')).body.items.filter(
    ({ class: kind }: { class: string }) => kind === 'configuration.changed',
  );

/** As the appliance has it, looked at by hand; `from`: from now on. */
function newsOf(on: Bench, from: 'now' | 'kept' = 'now'): ConfigurationChangeAlerts {
  const { db, alerts } = on.appliance;
  if (from === 'now') new Settings(db).set(reported, db.get('SELECT max(id) AS last FROM audit')?.last as number);
  return new ConfigurationChangeAlerts({ db, clock: on.clock, settings: new Settings(db), alerts });
}
function wait(on: Bench, news: ConfigurationChangeAlerts): void {
  news.tick();
  on.clock.advance(GATHER_MS / 1000 + 1);
  news.tick();
}

test('the changes of a minute are one alert, which names them and no secret; it is in the log and not sent', async (t) => {
  const on = await bench(t);
  await on.client.setUp();
  const news = newsOf(on);
  const hook = 'http://127.0.0.1:9/a-secret-path';
  const webhook = { url: hook, preset: 'json', verifyCertificate: true, secret: 'hunter2hunter2' };
  const made = await on.client.post('/api/destinations', { name: 'Hook', enabled: false, kind: 'webhook', webhook });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  // Nothing is really sent here: the outbox says what would be.
  on.appliance.db.run('UPDATE destinations SET enabled = 1');
  news.tick();
  on.clock.advance(30);
  await on.client.post('/api/tokens', { name: 'grafana', role: 'viewer' });
  news.tick();
  assert.deepEqual(await changed(on), [], 'it waits for more');
  on.clock.advance(31);
  news.tick();
  const [alert, ...more] = await changed(on);
  assert.deepEqual(more, []);
  assert.equal(alert.title, 'ada changed the configuration (2 changes)');
  assert.equal(alert.text, 'ada: added the destination “Hook”; made the API token “grafana”.');
  assert.deepEqual([alert.severity, alert.state, alert.deliveries], ['info', 'cleared', []]);
  assert.match(alert.routedBy, /muted/);
  assert.ok(!/secret|hunter2|a-secret/.test(JSON.stringify(alert)));

  // Somebody wants to have them sent.
  const route = { muted: false, destinations: [], escalation: null };
  assert.equal((await on.client.put('/api/alert-classes/configuration.changed', route)).status, 200);
  wait(on, news);
  const [second] = await changed(on);
  assert.equal(second.title, 'ada decided where alerts of the class “configuration.changed” go');
  assert.deepEqual(
    second.deliveries.map(({ destinationName }: { destinationName: string }) => destinationName),
    ['Hook'],
  );
});

test('what is no change of the configuration, and what the appliance does itself, is not reported; names forge nothing', async (t) => {
  const on = await bench(t);
  await on.client.setUp();
  const news = newsOf(on);
  await on.client.delete('/api/session');
  await on.client.post('/api/session', { user: 'ada', password: PASSWORD });
  const { audit } = on.appliance;
  const caller = (name: string) => ({ name, address: '-', way: 'page' }) as const;
  audit.record(caller('appliance'), 'statistic.suspend', 'io.ops');
  wait(on, news);
  assert.deepEqual(await changed(on), []);
  for (let n = 1; n <= 12; n++) audit.record(caller('bob\nEvil: yes'), 'threshold.delete', `R${n}\r\nBcc: all`);
  audit.record(caller('ada'), 'pool.destroy', 'tank');
  wait(on, news);
  const [alert] = await changed(on);
  assert.equal(alert.title, 'bob Evil: yes and ada changed the configuration (13 changes)');
  assert.match(alert.text, /removed the rule “R1 Bcc: all”; .*; and 3 more\.$/);
});

test('what was reported is not reported again after a restart, and what was not is', async (t) => {
  const before = await bench(t);
  await before.client.setUp();
  const news = newsOf(before);
  await before.client.post('/api/tokens', { name: 'first', role: 'viewer' });
  wait(before, news);
  await before.client.post('/api/tokens', { name: 'second', role: 'viewer' });
  news.tick();
  const { cookies } = before.client;
  const on = await before.restart();
  for (const [name, value] of cookies) on.client.cookies.set(name, value);
  const after = newsOf(on, 'kept');
  wait(on, after);
  wait(on, after);
  const texts = (await changed(on)).map(({ text }: { text: string }) => text);
  assert.deepEqual(texts, ['ada: made the API token “second”.', 'ada: made the API token “first”.']);
});

test('an alert that cannot be written leaves the changes to be reported', async (t) => {
  const on = await bench(t);
  await on.client.setUp();
  const { db, alerts } = on.appliance;
  let broken = true;
  const failing = Object.create(alerts, {
    raise: {
      value: (...args: Parameters<Alerts['raise']>) => {
        if (broken) throw new Error('no space left');
        return Alerts.prototype.raise.apply(alerts, args);
      },
    },
  }) as Alerts;
  newsOf(on);
  const news = new ConfigurationChangeAlerts({ db, clock: on.clock, settings: new Settings(db), alerts: failing });
  await on.client.post('/api/tokens', { name: 'first', role: 'viewer' });
  assert.throws(() => wait(on, news), /no space left/);
  broken = false;
  wait(on, news);
  assert.equal((await changed(on)).length, 1);
});
