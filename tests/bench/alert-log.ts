// ./build.sh bench alert-log: what pages ask about alerts, with 100,000 of them in the log and 5,000 active. The database on a
// disk and the code that answers, without HTTP. Nothing here passes or fails.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Alerts } from '../../appliance-kit/src/alerting/alerts/alerts.ts';
import { Routing } from '../../appliance-kit/src/alerting/alerts/routing.ts';
import { Silences } from '../../appliance-kit/src/alerting/silences/silences.ts';
import { thresholdExceeded } from '../../appliance-kit/src/alerting/thresholds/alerts.ts';
import { allSteps } from '../../appliance-kit/src/appliance.ts';
import { Changes } from '../../appliance-kit/src/http/live-updates/changes.ts';
import { Database } from '../../appliance-kit/src/state/database.ts';

const ALL = process.argv.includes('--quick') ? 10_000 : 100_000;
const BURST = 500;
/** Of twenty alerts one is active. */
const ACTIVE = 20;
const TIMES = 200;

const dir = mkdtempSync(path.join(process.env.CISTERN_BENCH_DIR ?? tmpdir(), 'cistern-bench-'));
process.on('exit', () => rmSync(dir, { recursive: true, force: true }));
const db = new Database(path.join(dir, 'state.db'), allSteps);
let now = Date.UTC(2026, 0, 1);
const clock = { now: () => now, monotonic: () => now };
const changes = new Changes(['alerts', 'silences', 'alert-classes']);
const audit = { record: () => {} } as never;
const classes = [thresholdExceeded];
const silences = new Silences({ db, clock, audit, changes, classes });
const routing = new Routing({ db, audit, changes, classes });
const alerts = new Alerts({ db, clock, changes, hostName: () => 'bench', routing, silences, classes });

// Every fifth alert is alone, the others come in bursts.
for (let made = 0; made < ALL; now += 120_000) {
  const many = made % (5 * BURST) === 0 ? BURST : 100;
  db.transaction(() => {
    for (let n = 0; n < many; n++, made++) {
      const ruleId = `th-${made % 7}`;
      const labels = { host: `h${n}`, version: `v${made % 5}`, number: String(made) };
      const series = { ruleId, ruleName: `Rule ${ruleId}`, labels, seriesKey: JSON.stringify(labels) };
      const args = {
        ...series,
        severity: 'warning',
        direction: 'above',
        expression: 'load',
        value: 9,
        limit: 8,
        unit: '',
      } as const;
      const id = alerts.raise({ kind: thresholdExceeded, args, ruleId, ruleName: args.ruleName, value: 9, limit: 8 });
      if (id !== null && made % ACTIVE !== 0) alerts.clear(id);
    }
  });
}
while (db.get('SELECT 1 FROM alert_groups WHERE shared_json IS NULL AND last_at < ?', now - 15_000))
  alerts.groups.settle();

const middle = alerts.groups.list({ state: 'all', limit: 200 }).at(-1)?.id ?? '';
const afterChange = () => {
  changes.publish('alerts');
  return alerts.groups.summary();
};
const asked: [string, () => unknown][] = [
  ['the counts and the worst', () => alerts.groups.summary()],
  ['the counts, after a change', afterChange],
  ['active groups, 50', () => alerts.groups.list({ state: 'active', limit: 50 })],
  ['the log, 50 groups', () => alerts.groups.list({ state: 'all', limit: 50 })],
  ['the log, a text that few have', () => alerts.groups.list({ state: 'all', search: 'number="77777"', limit: 50 })],
  ['a group', () => alerts.groups.get(middle)],
  ['its alerts, 50', () => alerts.groups.members(middle, { limit: 50 })],
  ['alerts, 100', () => alerts.list({ state: 'all' })],
];
console.log(`${ALL} alerts in the log, ${alerts.counts().warning} of them active; milliseconds of the processor`);
for (const [what, ask] of asked) {
  const took: number[] = [];
  for (let n = 0; n < TIMES; n++) {
    // Of the processor: others work beside it.
    const began = process.cpuUsage();
    JSON.stringify(ask());
    const { user, system } = process.cpuUsage(began);
    took.push((user + system) / 1_000);
  }
  took.sort((a, b) => a - b);
  const at = (share: number) => (took[Math.min(TIMES - 1, Math.floor(share * TIMES))] as number).toFixed(1);
  console.log(`${what.padEnd(34)} p50 ${at(0.5).padStart(7)}   p99 ${at(0.99).padStart(7)}`);
}
changes.close();
db.close();
