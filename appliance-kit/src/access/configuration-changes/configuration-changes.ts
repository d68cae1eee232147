// Changes of the configuration, as alerts: who changed what, from the audit log. Those of a minute are one. How far it has
// reported is written in the transaction of the alert, so that a restart neither repeats a change nor leaves one out.
//
// Only the action and the name of what was changed are in it, never the values before or after: a field that was not thought
// of as secret stays in the log that only administrators read.

import type { Alerts } from '../../alerting/alerts/index.ts';
import type { Clock } from '../../base/clock.ts';
import { oneLine } from '../../base/words.ts';
import type { Database } from '../../state/database.ts';
import { type Settings, setting } from '../../state/settings.ts';
import { configurationChanged } from './alerts.ts';

/** The number of the last entry of the audit log that an alert reports. */
export const reported = setting<number>('audit.told');
/** The first change waits so long for others. */
export const GATHER_MS = 60_000;
const NAMED = 10;
/** More than that at once are reported in several alerts. */
const MAX_ENTRIES = 1_000;

/** What is a change of the configuration, in words that follow a name; the target is in quotation marks. */
const CHANGES: Readonly<Record<string, (target: string) => string>> = {
  'alert-class.route': (what) => `decided where alerts of the class ${what} go`,
  'alerts.digest': () => 'changed the daily digest',
  'application-naming.set': (what) => `set ${what} for applications by name`,
  'audit-forwarding.set': (what) => `changed where the audit log is sent on (${what})`,
  'audit-retention.set': (what) => `changed how much of the audit log is kept (${what})`,
  'certificate.install': (what) => `installed a certificate of the web page, for ${what}`,
  'certificate.request': (what) => `made a signing request for a certificate, for ${what}`,
  'certificate.restore': (what) => `put back the certificate of the web page before, for ${what}`,
  'certificate.self-sign': (what) => `had the appliance make its own certificate, for ${what}`,
  'dataset.create': (what) => `created the dataset ${what}`,
  'dataset.destroy': (what) => `destroyed the dataset ${what}`,
  'dataset.key.change': (what) => `changed the key of the dataset ${what}`,
  'dataset.rename': (what) => `renamed the dataset ${what}`,
  'dataset.update': (what) => `changed the dataset ${what}`,
  'destination.create': (what) => `added the destination ${what}`,
  'destination.delete': (what) => `removed the destination ${what}`,
  'destination.update': (what) => `changed the destination ${what}`,
  'disk.attach': (what) => `attached the disk ${what}`,
  'disk.detach': (what) => `detached the disk ${what}`,
  'disk.offline': (what) => `took the disk ${what} offline`,
  'disk.online': (what) => `took the disk ${what} online`,
  'disk.replace': (what) => `replaced the disk ${what}`,
  'disk.wipe': (what) => `erased the disk ${what}`,
  'factor.add': (what) => `added a second factor of ${what}`,
  'factor.clear': (what) => `cleared the second factors of ${what}`,
  'factor.remove': (what) => `removed a second factor of ${what}`,
  'firewall.confirm': () => 'changed the firewall',
  'link.forget': (what) => `had the network link ${what} forgotten`,
  'input.name-sender': (what) => `named the sender ${what}`,
  'input.refuse-sender': (what) => `refused the sender ${what}`,
  'input.withdraw-refusal': (what) => `took back the refusal of ${what}`,
  'input.replace-certificate': () => 'made another certificate for those who send by TLS',
  'input.set': (what) => `changed the input ${what}`,
  'metric-meaning.delete': (what) => `took back what was said of the metric ${what}`,
  'metric-meaning.set': (what) => `said what the metric ${what} means`,
  'network.confirm': () => 'changed the addresses of the machine',
  'objective.create': (what) => `added the objective ${what}`,
  'objective.delete': (what) => `removed the objective ${what}`,
  'objective.update': (what) => `changed the objective ${what}`,
  'output.create': (what) => `added the output ${what}`,
  'output.delete': (what) => `removed the output ${what}`,
  'output.update': (what) => `changed the output ${what}`,
  'pool.add': (what) => `added disks to the pool ${what}`,
  'pool.create': (what) => `created the pool ${what}`,
  'pool.destroy': (what) => `destroyed the pool ${what}`,
  'pool.export': (what) => `exported the pool ${what}`,
  'pool.import': (what) => `imported the pool ${what}`,
  'pool.remove': (what) => `removed a device from the pool ${what}`,
  'pool.set': (what) => `changed the pool ${what}`,
  'pool.upgrade': (what) => `upgraded the pool ${what}`,
  'provider.create': (what) => `added the identity provider ${what}`,
  'provider.delete': (what) => `removed the identity provider ${what}`,
  'provider.update': (what) => `changed the identity provider ${what}`,
  'recording-rule.create': (what) => `added the recording rule ${what}`,
  'recording-rule.delete': (what) => `removed the recording rule ${what}`,
  'recording-rule.import': (what) => `imported ${what} of a rule file`,
  'recording-rule.update': (what) => `changed the recording rule ${what}`,
  'replication.create': (what) => `added the replication ${what}`,
  'replication.delete': (what) => `removed the replication ${what}`,
  'replication.sender-add': (what) => `allowed ${what} to replicate to this appliance`,
  'replication.sender-remove': (what) => `no longer allows ${what} to replicate to this appliance`,
  'replication.update': (what) => `changed the replication ${what}`,
  'retention.set': (what) => `changed how long measurements are kept (${what})`,
  'recovery-codes.create': (what) => `made new recovery codes for ${what}`,
  'schedule.create': (what) => `added snapshots by schedule of ${what}`,
  'schedule.delete': (what) => `removed the snapshots by schedule of ${what}`,
  'schedule.update': (what) => `changed the snapshots by schedule of ${what}`,
  'scrub.schedule': (what) => `changed when the pool ${what} is scrubbed`,
  'second-factor-policy.set': () => 'changed from when on administrators need a second factor',
  'settings.apply': (what) => `applied settings (${what})`,
  'settings.restore': (what) => `restored settings (${what})`,
  'service.start': (what) => `started the service ${what}`,
  'service.stop': (what) => `stopped the service ${what}`,
  'session-lifetime.set': () => 'changed how long sessions last',
  'setup.finish': () => 'finished set-up',
  'silence.create': (what) => `added the silence ${what}`,
  'silence.end': (what) => `ended the silence ${what}`,
  'silence.update': (what) => `changed the silence ${what}`,
  'snmp.configure': () => 'changed who may poll by SNMP',
  'ssh-access.set': (what) => `changed who may come in by ssh (${what})`,
  'ssh-key.add': (what) => `added a key of ${what} for ssh`,
  'ssh-key.remove': (what) => `removed a key of ${what} for ssh`,
  'statistic.destroy': (what) => `stopped recording ${what}, and destroyed what was recorded`,
  'statistic.record': (what) => `has ${what} recorded`,
  'statistic.suspend': (what) => `suspended the recording of ${what}`,
  'statistic.resume': (what) => `resumed the recording of ${what}`,
  'system.activate': (what) => `chose the system ${what} to start next time`,
  'system.identity': (what) => `named the appliance ${what}, or set its time zone`,
  'telemetry.place': (what) => `placed the telemetry on the pool ${what}`,
  'threshold.create': (what) => `added the rule ${what}`,
  'threshold.delete': (what) => `removed the rule ${what}`,
  'threshold.update': (what) => `changed the rule ${what}`,
  'time.set': () => 'changed whom the appliance asks for the time',
  'tuning.set': () => 'changed how the operating system is tuned',
  'token.create': (what) => `made the API token ${what}`,
  'token.delete': (what) => `withdrew the API token ${what}`,
  'token.update': (what) => `changed the API token ${what}`,
  'user.create': (what) => `added the user ${what}`,
  'user.delete': (what) => `deleted the user ${what}`,
  'user.let-in': (what) => `let the user ${what} in again, with a one-time password and without second factors`,
  'user.reset-password': (what) => `gave the user ${what} a one-time password`,
  'user.update': (what) => `changed the user ${what}`,
};

/** What is done with the appliance as it is configured. A test holds both lists against what is recorded. */
export const NOT_CONFIGURATION = [
  ...[
    'alert.acknowledge',
    'alert.withdraw-acknowledgement',
    'alert-group.',
    'audit.',
    'audit-forwarding.test',
    'bundle.',
    'crash.dismiss',
    'dataset.estimate',
    'dataset.mount',
  ],
  ...[
    'dataset.unmount',
    'dataset.key.load',
    'dataset.key.unload',
    'destination.test',
    'disk.locate',
    'disk.locate-off',
    'disk.test.',
  ],
  ...[
    'firewall.take-back',
    'firewall.try',
    'network.take-back',
    'network.try',
    'hardware.controller.retry',
    'hardware.errors.clear',
    'host.',
    'host-view.',
    'job.cancel',
    'new-sender.dismiss',
    'output.test',
    'pool.clear',
    'pool.scrub.',
    'pool.trim.',
    'power.',
    'power-plan.',
    'recording-rule.fill',
    'sign-in-request.',
    'recording-rule.cancel-fill',
    'replication.run',
    'service.restart',
  ],
  ...['service.clear', 'session.', 'setup.code', 'setup.refused', 'setup.step', 'snapshot.', 'threshold.forget-series'],
  'request.refused',
  'ssh.',
  'ssh-access.end',
  'support.',
  'recovery-code.use',
  'user.change-password',
  'user.appear',
  'user.let-in-refused',
  'provider.test',
  'settings.export',
  'settings.take-back',
  'worksheet.',
] as const;

/** Its text in the alert, or null when it is no change of the configuration. */
export function changeInWords(action: string, target: string): string | null {
  const words = Object.hasOwn(CHANGES, action) ? CHANGES[action] : undefined;
  return words === undefined ? null : words(`“${oneLine(target, 120)}”`);
}

export class ConfigurationChangeAlerts {
  readonly #parts: { db: Database; clock: Clock; settings: Settings; alerts: Alerts };
  #reported: number;
  /** When the first entry that is not reported yet was seen, by the monotonic clock. */
  #since: number | null = null;

  constructor(parts: { db: Database; clock: Clock; settings: Settings; alerts: Alerts }) {
    this.#parts = parts;
    const before = parts.settings.get(reported);
    // What was changed before there were such alerts is not reported.
    this.#reported = before ?? this.#last();
    if (before === undefined) parts.settings.set(reported, this.#reported);
  }

  #last(): number {
    return Number(this.#parts.db.get('SELECT max(id) AS last FROM audit')?.last ?? 0);
  }

  /** Once a second. */
  tick(): void {
    const now = this.#parts.clock.monotonic();
    if (this.#last() <= this.#reported) return;
    this.#since ??= now;
    if (now - this.#since < GATHER_MS) return;
    this.#since = null;
    this.#report();
  }

  #report(): void {
    const { db, settings, alerts } = this.#parts;
    const rows = db.all(
      'SELECT id, user, action, target FROM audit WHERE id > ? ORDER BY id LIMIT ?',
      this.#reported,
      MAX_ENTRIES,
    );
    const changes = rows.flatMap(({ id, user, action, target }) => {
      const what = changeInWords(String(action), String(target));
      // What the appliance does itself is not a change by a user.
      return what === null || user === 'appliance' ? [] : [{ id: id as number, user: oneLine(String(user), 80), what }];
    });
    const last = rows.at(-1)?.id as number;
    const users = [...new Set(changes.map(({ user }) => user))];
    const said = changes.map(({ user, what }) => (users.length > 1 ? `${user} ${what}` : what));
    db.transaction(() => {
      settings.set(reported, last);
      const [first] = changes;
      if (first === undefined) return;
      const args = { from: first.id, to: last, count: changes.length, users, what: said.slice(0, NAMED) };
      alerts.raise({ kind: configurationChanged, args });
    });
    this.#reported = last;
  }
}
