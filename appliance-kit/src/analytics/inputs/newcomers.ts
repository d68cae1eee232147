// Senders that are new: of whom nothing came by that input before. They are announced for a day, or until somebody says that
// they are known. storaged forgets an address after an hour and at a restart; here it is remembered.
import type { Audit } from '../../access/audit/index.ts';
import { type Clock, iso } from '../../base/clock.ts';
import { fail } from '../../base/problems/problem.ts';
import type { Caller } from '../../http/gate/caller.ts';
import type { Changes } from '../../http/live-updates/changes.ts';
import type { Database } from '../../state/database.ts';
import type { NewSender } from './schema.ts';
import type { Answer } from './storaged.ts';

const ANNOUNCED_MS = 24 * 60 * 60 * 1000;
/** A flood of made-up addresses must not fill the state: the oldest are forgotten, and would be announced again. */
const MOST_KNOWN = 20_000;
const SHOWN = 20;
/** Inputs whose senders often name no host. */
const WITHOUT_HOSTS = new Set(['statsd', 'graphite', 'influx_socket']);
export const canBeNamed = (input: string): boolean => WITHOUT_HOSTS.has(input);

/** What storaged calls those that it does not tell apart, and the appliance itself. */
const NOBODY = new Set(['others', 'this machine']);

export class Newcomers {
  readonly #db: Database;
  readonly #clock: Clock;
  readonly #changes: Changes;
  readonly #audit: Audit;
  /** What storaged said last, for the figures. */
  #last: Answer['inputs'] = {};

  constructor(parts: { db: Database; clock: Clock; changes: Changes; audit: Audit }) {
    this.#db = parts.db;
    this.#clock = parts.clock;
    this.#changes = parts.changes;
    this.#audit = parts.audit;
  }

  /** Notes who has sent. */
  look({ inputs }: Pick<Answer, 'inputs'>): void {
    this.#last = inputs;
    const now = this.#clock.now();
    const added = this.#db.transaction(() => {
      let rows = 0;
      for (const [name, { senders }] of Object.entries(inputs)) {
        for (const { address, samples, newSeries, first } of senders) {
          // Of whom everything was refused is no sender yet.
          if (NOBODY.has(address) || samples + newSeries === 0) continue;
          const at = Math.min(now, Date.parse(first ?? '') || now);
          rows += this.#db.run(
            'INSERT OR IGNORE INTO known_senders (input, address, first_at) VALUES (?, ?, ?)',
            ...[name, address, at],
          );
        }
      }
      if (rows > 0) {
        this.#db.run(
          `DELETE FROM known_senders WHERE rowid IN
             (SELECT rowid FROM known_senders ORDER BY first_at DESC, rowid DESC LIMIT -1 OFFSET ?)`,
          MOST_KNOWN,
        );
      }
      return rows;
    });
    if (added > 0) this.#changes.publish('inputs');
  }

  list(): { items: NewSender[]; total: number } {
    const since = this.#clock.now() - ANNOUNCED_MS;
    const where = 'first_at > ? AND dismissed = 0';
    const rows = this.#db.all(
      `SELECT * FROM known_senders WHERE ${where} ORDER BY first_at DESC, input, address LIMIT ?`,
      ...[since, SHOWN],
    );
    const total = this.#db.get(`SELECT count(*) AS n FROM known_senders WHERE ${where}`, since)?.n as number;
    const items = rows.map(({ input, address, first_at: firstAt }) => {
      const of = this.#last[input as string];
      const found = of?.senders.find((one) => one.address === address);
      const named = of?.hostNames?.find((one) => one.address === address)?.name;
      // Of a network each address is a host.
      const itself = of?.senderIsHost && !(address as string).includes('/') ? (address as string) : null;
      return {
        input: input as string,
        address: address as string,
        firstAt: iso(firstAt as number),
        samples: found?.samples ?? null,
        newSeries: found?.newSeries ?? null,
        canBeNamed: canBeNamed(input as string),
        hostName: named ?? itself,
      };
    });
    return { items, total };
  }

  /** Something was set for this sender alone: it is announced no more. The caller has a transaction. */
  decided(input: string, address: string): void {
    this.#db.run('UPDATE known_senders SET dismissed = 1 WHERE input = ? AND address = ?', input, address);
  }

  /** Without an address: all that are announced now. */
  dismiss({ input, address }: { input?: string; address?: string }, caller: Caller): void {
    this.#db.transaction(() => {
      const changed =
        address === undefined
          ? this.#db.run('UPDATE known_senders SET dismissed = 1 WHERE dismissed = 0')
          : this.#db.run(
              'UPDATE known_senders SET dismissed = 1 WHERE address = ? AND (? IS NULL OR input = ?)',
              ...[address, input ?? null, input ?? null],
            );
      if (changed === 0 && address !== undefined) throw fail('not_found', `Nothing has come from ${address}.`);
      this.#audit.record(caller, 'new-sender.dismiss', address ?? 'all');
    });
    this.#changes.publish('inputs');
  }
}
