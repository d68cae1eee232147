// The destinations, with their secrets, and how each of them is doing.
import { type Clock, iso } from '../../base/clock.ts';
import { fail } from '../../base/problems/problem.ts';
import type { Database, Row } from '../../state/database.ts';
import { newId } from '../../state/id.ts';
import type { SealedFields } from '../../state/sealed-fields.ts';
import { describeAuthority } from './authority.ts';
import { checkEmail, checkSnmp, checkSyslog, checkWebhook } from './check.ts';
import type { Destination, DestinationInput, EmailInput, SnmpInput, SyslogInput, WebhookInput } from './schema.ts';

/** As it is kept: with the secrets. Never part of an answer. */
export interface StoredDestination {
  readonly id: string;
  readonly name: string;
  readonly kind: Destination['kind'];
  readonly enabled: boolean;
  readonly email?: EmailInput;
  readonly snmp?: SnmpInput;
  readonly webhook?: WebhookInput;
  readonly syslog?: SyslogInput;
  /** Secrets that cannot be opened any more, as `email.password`. */
  readonly lost?: readonly string[];
}

/** Of each kind, what is sealed where it is stored. The address of a webhook may be all that it needs. */
export const SECRETS = {
  email: ['password', 'clientSecret', 'refreshToken'],
  snmp: ['community', 'authPassword', 'privPassword'],
  webhook: ['url', 'secret'],
} as const;

type Settings = Pick<StoredDestination, 'email' | 'snmp' | 'webhook' | 'syslog'>;

/** A secret that was left out stays as it was; an empty one is removed. */
function kept(given: string | undefined, stored: string | undefined): string | undefined {
  return given === undefined ? stored : given === '' ? undefined : given;
}

/**
 * A stored secret stays with whom it was given for. Whoever may change a destination must not get to read it by sending it
 * elsewhere, or over a connection that others can listen to.
 *
 * @param paths of the secrets, each with what was given and what is stored
 */
function mustStay(
  moved: boolean,
  paths: readonly (readonly [path: string, given: string | undefined, stored: string | undefined])[],
): void {
  if (!moved) return;
  const errors = paths
    .filter(([, given, stored]) => given === undefined && stored !== undefined)
    .map(([path]) => ({ path, message: 'must be given again, because it would be sent elsewhere or less protected' }));
  if (errors.length === 0) return;
  const words = errors.map(({ path, message }) => `${path} ${message}`).join('; ');
  throw fail('invalid_request', `A stored secret is not sent to another place: ${words}.`, undefined, errors);
}

type Protected = { verifyCertificate: boolean; ca?: string | undefined };

/** Whether somebody could pass for the other side now who could not before. */
const lessProtected = (now: Protected, before: Protected) =>
  (before.verifyCertificate && !now.verifyCertificate) || (now.ca !== undefined && now.ca !== before.ca);

/** What was asked for, with the secrets that stay; only the part that belongs to its kind. Throws what is wrong. */
export function complete(id: string, input: DestinationInput, stored?: StoredDestination): StoredDestination {
  const { name, kind, enabled } = input;
  const missing = (path: string) =>
    fail('invalid_request', `A destination of the kind ${kind} needs its settings.`, undefined, [
      { path, message: 'is missing' },
    ]);
  if (kind === 'email') {
    if (input.email === undefined) throw missing('/email');
    const [now, before] = [input.email, stored?.email];
    if (before !== undefined) {
      const weaker = lessProtected(now, before);
      const elsewhere = now.host !== before.host || now.port !== before.port || now.security !== before.security;
      mustStay(elsewhere || weaker, [['/email/password', now.password, before.password]]);
      mustStay(now.tokenUrl !== before.tokenUrl || elsewhere || weaker, [
        ['/email/clientSecret', now.clientSecret, before.clientSecret],
        ['/email/refreshToken', now.refreshToken, before.refreshToken],
      ]);
    }
    const email = {
      ...input.email,
      ca: kept(input.email.ca, stored?.email?.ca),
      password: kept(input.email.password, stored?.email?.password),
      clientSecret: kept(input.email.clientSecret, stored?.email?.clientSecret),
      refreshToken: kept(input.email.refreshToken, stored?.email?.refreshToken),
    };
    if (email.user === '') delete email.user;
    checkEmail(email);
    return { id, name, kind, enabled, email };
  }
  if (kind === 'webhook') {
    if (input.webhook === undefined) throw missing('/webhook');
    const [now, before] = [input.webhook, stored?.webhook];
    if (before !== undefined) {
      const weaker = lessProtected(now, before);
      mustStay(weaker, [['/webhook/url', now.url, before.url]]);
      mustStay(weaker || (now.url !== undefined && now.url !== before.url) || now.preset !== before.preset, [
        ['/webhook/secret', now.secret, before.secret],
      ]);
    }
    const webhook = {
      ...input.webhook,
      ca: kept(input.webhook.ca, stored?.webhook?.ca),
      url: kept(input.webhook.url, stored?.webhook?.url),
      secret: kept(input.webhook.secret, stored?.webhook?.secret),
    };
    checkWebhook(webhook);
    return { id, name, kind, enabled, webhook };
  }
  if (kind === 'syslog') {
    if (input.syslog === undefined) throw missing('/syslog');
    const syslog = { ...input.syslog, ca: kept(input.syslog.ca, stored?.syslog?.ca) };
    checkSyslog(syslog);
    return { id, name, kind, enabled, syslog };
  }
  if (input.snmp === undefined) throw missing('/snmp');
  const [now, before] = [input.snmp, stored?.snmp];
  if (before !== undefined) {
    mustStay(now.host !== before.host || now.port !== before.port, [
      ['/snmp/community', now.community, before.community],
      ['/snmp/authPassword', now.authPassword, before.authPassword],
      ['/snmp/privPassword', now.privPassword, before.privPassword],
    ]);
  }
  const snmp = {
    ...input.snmp,
    community: kept(input.snmp.community, stored?.snmp?.community),
    authPassword: kept(input.snmp.authPassword, stored?.snmp?.authPassword),
    privPassword: kept(input.snmp.privPassword, stored?.snmp?.privPassword),
  };
  if (snmp.user === '') delete snmp.user;
  checkSnmp(snmp);
  return { id, name, kind, enabled, snmp };
}

export class Destinations {
  readonly #db: Database;
  readonly #clock: Clock;
  readonly #engineId: string;
  readonly #sealed: SealedFields;

  /** @param engineId who this appliance is in SNMPv3; whoever receives its traps has to know it */
  constructor(db: Database, clock: Clock, engineId: string, sealed: SealedFields) {
    this.#db = db;
    this.#clock = clock;
    this.#engineId = engineId;
    this.#sealed = sealed;
  }

  #fromRow(row: Row): StoredDestination {
    const id = row.id as string;
    const { settings, lost } = this.#sealed.read(id, row.settings_json as string);
    return {
      id,
      name: row.name as string,
      kind: row.kind as StoredDestination['kind'],
      enabled: row.enabled === 1,
      ...(settings as Settings),
      ...(lost.length > 0 && { lost }),
    };
  }

  #describe(row: Row): Destination {
    const { email, snmp, webhook, syslog, lost: _, ...rest } = this.#fromRow(row);
    const waiting = this.#db.get(
      "SELECT count(*) AS n FROM deliveries WHERE destination_id = ? AND state = 'waiting'",
      rest.id,
    )?.n as number;
    const lastSuccessAt = row.last_success_at === null ? null : iso(row.last_success_at as number);
    const state = row.failing_since !== null ? 'failing' : lastSuccessAt === null ? 'unknown' : 'ok';
    const health = { state, lastSuccessAt, lastError: row.last_error as string | null, waiting } as const;
    if (email !== undefined) {
      const { password, clientSecret, refreshToken, ca, ...shown } = email;
      const set = {
        authority: describeAuthority(ca),
        passwordSet: password !== undefined,
        clientSecretSet: clientSecret !== undefined,
        refreshTokenSet: refreshToken !== undefined,
      };
      return { ...rest, email: { ...shown, ...set }, health };
    }
    if (webhook !== undefined) {
      const { url, secret, ca, ...shown } = webhook;
      const set = {
        authority: describeAuthority(ca),
        host: url === undefined ? '' : new URL(url).host,
        secretSet: secret !== undefined,
      };
      return { ...rest, webhook: { ...shown, ...set }, health };
    }
    if (syslog !== undefined) {
      const { ca, ...shown } = syslog;
      return { ...rest, syslog: { ...shown, authority: describeAuthority(ca) }, health };
    }
    const { community, authPassword, privPassword, ...shown } = snmp as SnmpInput;
    const set = {
      engineId: this.#engineId,
      communitySet: community !== undefined,
      authPasswordSet: authPassword !== undefined,
      privPasswordSet: privPassword !== undefined,
    };
    return { ...rest, snmp: { ...shown, ...set }, health };
  }

  list(): Destination[] {
    return this.#db.all('SELECT * FROM destinations ORDER BY rowid').map((row) => this.#describe(row));
  }

  get(id: string): Destination {
    const row = this.#db.get('SELECT * FROM destinations WHERE id = ?', id);
    if (row === undefined) throw fail('not_found', `There is no destination ${id}.`);
    return this.#describe(row);
  }

  all(): StoredDestination[] {
    return this.#db.all('SELECT * FROM destinations ORDER BY rowid').map((row) => this.#fromRow(row));
  }

  stored(id: string): StoredDestination | undefined {
    const row = this.#db.get('SELECT * FROM destinations WHERE id = ?', id);
    return row && this.#fromRow(row);
  }

  enabled(): { id: string; name: string }[] {
    return this.#db
      .all('SELECT id, name FROM destinations WHERE enabled = 1 ORDER BY rowid')
      .map((row) => ({ id: row.id as string, name: row.name as string }));
  }

  newId(): string {
    return newId('dst', this.#clock.now());
  }

  insert({ id, name, kind, enabled, ...settings }: StoredDestination): void {
    this.#db.run(
      'INSERT INTO destinations (id, name, kind, enabled, settings_json, created_at) VALUES (?, ?, ?, ?, ?, ?)',
      id,
      name,
      kind,
      enabled ? 1 : 0,
      this.#sealed.write(id, settings),
      this.#clock.now(),
    );
  }

  update({ id, name, kind, enabled, ...settings }: StoredDestination): void {
    this.#db.run(
      'UPDATE destinations SET name = ?, kind = ?, enabled = ?, settings_json = ? WHERE id = ?',
      name,
      kind,
      enabled ? 1 : 0,
      this.#sealed.write(id, settings),
      id,
    );
    if (!enabled) this.#giveUpWaiting(id, 'The destination was switched off.');
  }

  remove(id: string): void {
    this.#giveUpWaiting(id, 'The destination was removed.');
    this.#db.run('DELETE FROM destinations WHERE id = ?', id);
  }

  #giveUpWaiting(id: string, why: string): void {
    this.#db.run(
      "UPDATE deliveries SET state = 'failed', last_error = ?, at = ? WHERE destination_id = ? AND state = 'waiting'",
      why,
      this.#clock.now(),
      id,
    );
    this.#db.run('UPDATE destinations SET failing_since = NULL WHERE id = ?', id);
  }

  /** How an attempt went: null for well, else what the other side said. */
  noteDelivery(id: string, error: string | null): void {
    const now = this.#clock.now();
    if (error === null) {
      const sql = 'UPDATE destinations SET last_success_at = ?, last_error = NULL, failing_since = NULL WHERE id = ?';
      this.#db.run(sql, now, id);
    } else {
      const sql = 'UPDATE destinations SET last_error = ?, failing_since = coalesce(failing_since, ?) WHERE id = ?';
      this.#db.run(sql, error, now, id);
    }
  }

  failing(): { id: string; name: string; error: string; waiting: number }[] {
    return this.list()
      .filter(({ enabled, health }) => enabled && health.state === 'failing')
      .map(({ id, name, health }) => ({ id, name, error: health.lastError ?? 'no answer', waiting: health.waiting }));
  }
}
