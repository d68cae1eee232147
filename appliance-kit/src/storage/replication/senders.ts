// Who may replicate to here: a key, and the dataset that its targets lie below. replicd listens while there is one.
import type { Audit } from '../../access/audit/index.ts';
import { type Clock, iso } from '../../base/clock.ts';
import { fail } from '../../base/problems/problem.ts';
import { size } from '../../base/words.ts';
import type { Caller } from '../../http/gate/caller.ts';
import type { Platform } from '../../platform/platform.ts';
import type { Database, Row } from '../../state/database.ts';
import { newId } from '../../state/id.ts';
import { type Datasets, isSystem, isTelemetry, type Tree } from '../datasets/index.ts';
import { CISTERN_PORT, type Sender, type SenderInput } from './schema.ts';

const fromRow = (row: Row): Sender => ({
  id: row.id as string,
  name: row.name as string,
  publicKey: row.public_key as string,
  under: row.under as string,
  createdAt: iso(row.created_at as number),
});

interface Parts {
  readonly db: Database;
  readonly clock: Clock;
  readonly platform: Platform;
  readonly tree: Tree;
  readonly datasets: Datasets;
  readonly audit: Audit;
}

export class ReplicationSenders {
  readonly #parts: Parts;
  /** Called when what a dataset may be used for has changed. */
  changed: (dataset: string) => Promise<void> = async () => {};
  /** Called when replications are taken in from now on, or no longer; what it throws is logged. */
  portChanged: () => Promise<void> = async () => {};

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  all(): Sender[] {
    return this.#parts.db.all('SELECT * FROM replication_senders ORDER BY name, id').map(fromRow);
  }

  async list() {
    const { publicKey, fingerprint, port, hostFingerprint, failure } =
      await this.#parts.platform.replication.identity();
    return {
      items: this.all(),
      identity: { publicKey, fingerprint },
      accepting: { port, hostFingerprint, failure: failure || null },
    };
  }

  /** replicd keeps the list too; after a restoration of akd's state ours is the one that counts. */
  async configure(): Promise<void> {
    const senders = this.all();
    const accepted = senders.map(({ name, publicKey, under }) => ({ name, publicKey, under }));
    await this.#parts.platform.replication.accept(senders.length === 0 ? 0 : CISTERN_PORT, accepted);
  }

  async create(input: SenderInput, caller: Caller, id = newId('rs', this.#parts.clock.now())): Promise<Sender> {
    const { db, clock, audit, tree } = this.#parts;
    const { byName } = await tree.now();
    const invalid = (path: string, message: string) =>
      fail('invalid_request', `The sender was refused: ${message}.`, undefined, [{ path, message }]);
    const publicKey = input.publicKey.trim();
    const under = byName.get(input.under);
    if (under === undefined) throw invalid('/under', `there is no dataset “${input.under}”`);
    if (isSystem(input.under, this.#parts.platform.systemPool))
      throw invalid('/under', 'the appliance itself lives on it');
    if (isTelemetry(under)) throw invalid('/under', 'the telemetry store works in it');
    const key = (line: string) => line.split(/\s+/).slice(0, 2).join(' ');
    const same = this.all().find((one) => key(one.publicKey) === key(publicKey));
    if (same !== undefined) throw invalid('/publicKey', `it is the key of “${same.name}” already`);
    const { quotaBytes } = input;
    if (quotaBytes !== null && quotaBytes < under.used)
      throw invalid('/quotaBytes', `“${input.under}” holds ${size(under.used)} already`);
    // Before anybody is let in: a sender that may fill the pool is what the quota is against.
    if (quotaBytes !== null)
      await this.#parts.datasets.update(input.under, { set: { quota: String(quotaBytes) } }, caller);
    const now = clock.now();
    db.run(
      'INSERT INTO replication_senders (id, name, public_key, under, created_at) VALUES (?, ?, ?, ?, ?)',
      id,
      input.name,
      publicKey,
      input.under,
      now,
    );
    try {
      // replicd is who knows whether it is a key; nothing of a refused one stays.
      await this.configure();
      await this.changed(input.under);
    } catch (error) {
      db.run('DELETE FROM replication_senders WHERE id = ?', id);
      await this.configure().catch(() => {});
      throw error;
    }
    // Whoever was let in can come as soon as this is answered.
    await this.portChanged();
    audit.record(caller, 'replication.sender-add', input.name, null, input);
    return this.all().find((one) => one.id === id) as Sender;
  }

  async remove(id: string, caller: Caller): Promise<void> {
    const { db, audit } = this.#parts;
    const found = this.all().find((one) => one.id === id);
    if (found === undefined) throw fail('not_found', `There is no sender ${id}.`);
    db.run('DELETE FROM replication_senders WHERE id = ?', id);
    audit.record(caller, 'replication.sender-remove', found.name, found, null);
    await this.configure();
    await this.changed(found.under);
    await this.portChanged();
  }
}
