// The outputs, with their secrets, as they are kept.
import { authorityProblem, describeAuthority } from '../../alerting/destinations/index.ts';
import { type Clock, iso } from '../../base/clock.ts';
import { fail } from '../../base/problems/problem.ts';
import type { Database, Row } from '../../state/database.ts';
import { newId } from '../../state/id.ts';
import type { SealedFields } from '../../state/sealed-fields.ts';
import type { Output, OutputHealth, OutputInput, StoredOutput } from './schema.ts';
import type { StoredList, StreamStatus } from './storaged.ts';

/** All of them are pushed at once, and storaged runs no more. */
export const MOST = 16;

const KINDS = { 'remote-write': 'remoteWrite', graphite: 'graphite', statsd: 'statsd', file: 'file' } as const;

/** A secret that was left out stays as it was; an empty one is removed. */
function kept(given: string | undefined, stored: string | undefined): string | undefined {
  return given === undefined ? stored : given === '' ? undefined : given;
}

/** What was asked for, with the secrets that stay; only the part that belongs to its kind. Throws what is missing. */
export function complete(id: string, input: OutputInput, stored?: StoredOutput): StoredOutput {
  const { remoteWrite, graphite, statsd, file, ...common } = input;
  const part = KINDS[input.kind];
  if (input[part] === undefined) {
    throw fail('invalid_request', `An output of the kind ${input.kind} needs its settings.`, undefined, [
      { path: `/${part}`, message: 'is missing' },
    ]);
  }
  if (part !== 'remoteWrite') return { id, ...common, [part]: input[part] } as StoredOutput;
  const before = stored?.remoteWrite;
  const settings = {
    ...(remoteWrite as NonNullable<typeof remoteWrite>),
    password: kept(remoteWrite?.password, before?.password),
    token: kept(remoteWrite?.token, before?.token),
    ca: kept(remoteWrite?.ca, before?.ca),
  };
  if (settings.user === '') delete settings.user;
  // A secret is for the receiver that it was given for.
  const given = [remoteWrite?.password, remoteWrite?.token].some((one) => one !== undefined && one !== '');
  if (before !== undefined && !given && (settings.password ?? settings.token) !== undefined) {
    if (URL.parse(before.url)?.host !== URL.parse(settings.url)?.host) {
      throw fail('invalid_request', 'The secret that is stored belongs to another receiver.', 'Enter it again.', [
        { path: '/remoteWrite/url', message: 'names another host: enter the password or token again' },
      ]);
    }
  }
  const wrong = settings.ca === undefined ? null : authorityProblem(settings.ca, Date.now());
  if (wrong !== null) {
    throw fail('invalid_request', `The certificate authority ${wrong}.`, undefined, [
      { path: '/remoteWrite/ca', message: wrong },
    ]);
  }
  return { id, ...common, remoteWrite: settings };
}

const NOTHING_KNOWN: OutputHealth = {
  ...{ state: 'unknown', error: null, since: null, lagBytes: 0, lagSeconds: 0, sent: 0, refused: 0 },
  ...{ refusedWords: null, refusedAt: null, leftOut: 0, skipped: 0, skippedFrom: null, skippedTo: null },
  ...{ skippedAt: null, retries: 0, lastDeliveredAt: null },
};

const timeOf = (seconds: number | undefined) => (seconds === undefined ? null : iso(seconds * 1000));

function healthOf(enabled: boolean, status: StreamStatus | undefined): OutputHealth {
  if (!enabled) return { ...NOTHING_KNOWN, state: 'off' };
  // It was switched on a moment ago.
  if (status === undefined || status.state === 'off') return NOTHING_KNOWN;
  const { state, error, lagBytes, lagSeconds, sent, refused, refusedWords, leftOut, skipped, retries } = status;
  return {
    ...{ state, error: error ?? null, since: timeOf(status.since), lagBytes, lagSeconds, sent, refused },
    ...{ refusedWords: refusedWords ?? null, refusedAt: timeOf(status.refusedAt), leftOut, skipped, retries },
    ...{ skippedFrom: timeOf(status.skippedFrom), skippedTo: timeOf(status.skippedTo) },
    ...{ skippedAt: timeOf(status.skippedAt), lastDeliveredAt: timeOf(status.lastDelivered) },
  };
}

/** What is sealed where it is stored. */
export const SECRETS = { remoteWrite: ['password', 'token'] } as const;

export class Outputs {
  readonly #db: Database;
  readonly #clock: Clock;
  readonly #sealed: SealedFields;

  constructor(db: Database, clock: Clock, sealed: SealedFields) {
    this.#db = db;
    this.#clock = clock;
    this.#sealed = sealed;
  }

  #fromRow(row: Row): StoredOutput {
    const id = row.id as string;
    const { settings } = this.#sealed.read(id, row.settings_json as string);
    return {
      ...(settings as Omit<StoredOutput, 'id' | 'name' | 'kind' | 'enabled'>),
      id,
      name: row.name as string,
      kind: row.kind as StoredOutput['kind'],
      enabled: row.enabled === 1,
    };
  }

  all(): StoredOutput[] {
    return this.#db.all('SELECT * FROM outputs ORDER BY rowid').map((row) => this.#fromRow(row));
  }

  stored(id: string): StoredOutput {
    const row = this.#db.get('SELECT * FROM outputs WHERE id = ?', id);
    if (row === undefined) throw fail('not_found', `There is no output ${id}.`);
    return this.#fromRow(row);
  }

  /** As it is shown: without secrets, and with how it does. */
  describe(one: StoredOutput, statuses: readonly StreamStatus[]): Output {
    const { remoteWrite, ...rest } = one;
    const status = statuses.find(({ id }) => id === one.id);
    const health = healthOf(one.enabled, status);
    if (remoteWrite === undefined) return { ...rest, health };
    const { password, token, ca, ...shown } = remoteWrite;
    const set = { passwordSet: password !== undefined, tokenSet: token !== undefined };
    return { ...rest, remoteWrite: { ...shown, ...set, authority: describeAuthority(ca) }, health };
  }

  newId(): string {
    return newId('out', this.#clock.now());
  }

  /** Names tell the outputs' series apart, and a folder is written by one. */
  #mustBeAlone(one: StoredOutput): void {
    for (const other of this.all()) {
      if (other.id === one.id) continue;
      if (other.name === one.name) {
        throw fail('conflict', `There is an output “${one.name}” already.`, 'Choose another name.', [
          { path: '/name', message: 'is that of another output' },
        ]);
      }
      if (one.file !== undefined && other.file?.folder === one.file.folder) {
        throw fail('conflict', `The output “${other.name}” writes that folder.`, 'Choose another folder.', [
          { path: '/file/folder', message: 'is that of another output' },
        ]);
      }
    }
  }

  insert(one: StoredOutput): void {
    this.#mustBeAlone(one);
    if (Number(this.#db.get('SELECT count(*) AS n FROM outputs')?.n) >= MOST) {
      throw fail('too_many', `There are ${MOST} outputs already.`, 'Remove one that is not needed.');
    }
    const { id, name, kind, enabled, ...settings } = one;
    this.#db.run(
      'INSERT INTO outputs (id, name, kind, enabled, settings_json, created_at) VALUES (?, ?, ?, ?, ?, ?)',
      ...[id, name, kind, enabled ? 1 : 0, this.#sealed.write(id, settings), this.#clock.now()],
    );
  }

  update(one: StoredOutput): void {
    this.#mustBeAlone(one);
    const { id, name, kind, enabled, ...settings } = one;
    this.#db.run(
      'UPDATE outputs SET name = ?, kind = ?, enabled = ?, settings_json = ? WHERE id = ?',
      ...[name, kind, enabled ? 1 : 0, this.#sealed.write(id, settings), id],
    );
  }

  remove(id: string): void {
    this.#db.run('DELETE FROM outputs WHERE id = ?', id);
  }

  /** What is sent to storaged. */
  list(): StoredList {
    return { outputs: this.all() };
  }
}
