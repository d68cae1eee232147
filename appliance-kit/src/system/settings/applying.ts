// Applying a plan: all of it, or nothing. What is to change is written down before anything is touched; each part is read back;
// when one fails, those before it are put back, and read back. Whoever starts and finds it written down puts back as well.
import type { Audit } from '../../access/audit/index.ts';
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import { logFailure } from '../../base/problems/log-failure.ts';
import { asProblem, fail } from '../../base/problems/problem.ts';
import type { SettingsPart } from '../../domain/settings-part.ts';
import { appliance, type By, type Caller } from '../../http/gate/caller.ts';
import type { Database } from '../../state/database.ts';
import { changesBetween, same } from './changes.ts';
import type { Cause, History } from './history.ts';
import { givenOf, type PartPlan, type Plan } from './plan.ts';
import { escaped, type Json, plain } from './pointer.ts';
import type { Box } from './sealed-box.ts';

export interface ApplierParts {
  readonly db: Database;
  readonly clock: Clock;
  readonly log: Log;
  readonly audit: Audit;
  readonly box: Box;
  readonly history: History;
  /** In the order in which they are applied. */
  readonly all: () => readonly SettingsPart[];
  /** It was interrupted, and is put back now. */
  readonly tookBack: (who: By, at: number, parts: readonly string[]) => void;
}

interface Written {
  readonly by: By;
  readonly at: number;
  readonly cause: Cause;
  readonly applied: boolean;
  readonly parts: readonly { readonly part: string; readonly before: unknown; readonly wanted: unknown }[];
}

const NONE: ReadonlySet<string> = new Set();

export class Applier {
  readonly #parts: ApplierParts;
  #busy = false;
  /** Why what was interrupted could not be put back yet. */
  #stuck: string | null = null;

  constructor(parts: ApplierParts) {
    this.#parts = parts;
  }

  /** What keeps settings from being changed just now. */
  mustBeFree(): void {
    if (this.#busy) {
      throw fail('conflict', 'Settings are being applied just now.', 'Try again in a moment.');
    }
    if (this.#written() === undefined) return;
    throw fail(
      'conflict',
      `Applying settings was interrupted, and they are being put back.${this.#stuck === null ? '' : ` It does not succeed: ${this.#stuck}`}`,
      'Try again in a moment.',
    );
  }

  /** Why settings are half applied; null: they are not. */
  stuck(): { since: number; why: string } | null {
    const written = this.#written();
    return written === undefined || this.#stuck === null ? null : { since: written.at, why: this.#stuck };
  }

  #written(): Written | undefined {
    const row = this.#parts.db.get('SELECT * FROM settings_applying');
    if (row === undefined) return undefined;
    const by: By = { name: row.user as string, address: row.address as string, way: row.way as By['way'] };
    const parts = this.#parts.box.open('applying', row.sealed_secret as string) as Written['parts'] | undefined;
    return {
      ...{ by, at: row.started_at as number, cause: row.cause as Cause, applied: row.applied === 1 },
      parts: parts ?? [],
    };
  }

  #write(by: By, cause: Cause, parts: readonly PartPlan[]): void {
    const { db, clock, box } = this.#parts;
    const sealed = box.seal(
      'applying',
      parts.map(({ part, before, wanted }) => ({ part: part.name, before, wanted })),
    );
    db.run(
      'INSERT INTO settings_applying VALUES (1, ?, ?, ?, ?, ?, 0, ?)',
      ...[clock.now(), by.name, by.address, by.way, cause, sealed],
    );
  }

  /** Returns the entries of the history. Throws when something could not be done; then all is as it was, or it is said what is not. */
  async apply(plan: Plan, by: Caller, cause: Exclude<Cause, 'change'>): Promise<string[]> {
    this.mustBeFree();
    const { db, history } = this.#parts;
    this.#busy = true;
    try {
      await history.begin(plan.parts.map(({ part }) => part));
      this.#write(by, cause, plan.parts);
      try {
        await this.#all(plan.parts, by);
        db.run('UPDATE settings_applying SET applied = 1');
      } catch (error) {
        await this.#failed(plan.parts, by, error);
      }
      return await this.#finish(by, cause, plan.parts);
    } finally {
      this.#busy = false;
    }
  }

  async #all(parts: readonly PartPlan[], by: Caller): Promise<void> {
    for (const one of parts) {
      await named(one, () => this.#towards(one, by, 'all but removed last'));
    }
    for (const one of parts.toReversed()) {
      await named(one, () => this.#towards(one, by, 'removed last'));
    }
    // What one part does to another is seen here as well.
    for (const one of parts) await named(one, () => this.#mustBe(one));
  }

  /** Makes of a part what is wanted, from what it is now. */
  async #towards({ part, wanted, kept }: Omit<PartPlan, 'before'>, by: Caller, what: Phase): Promise<void> {
    const now = plain(await part.read());
    if (same(now, wanted)) return;
    if (!part.many) {
      if (what !== 'removed last') await part.set(givenOf(part, '', now, wanted, kept), by);
      return;
    }
    const [have, want] = [now as Json, wanted as Json];
    if ((part.removedLast === true) === (what === 'removed last')) {
      for (const key of Object.keys(have)) if (!Object.hasOwn(want, key)) await part.remove?.(key, by);
    }
    if (what === 'removed last') return;
    for (const [key, item] of Object.entries(want)) {
      const before = Object.hasOwn(have, key) ? have[key] : undefined;
      if (same(before, item)) continue;
      const given = givenOf(part, `/${escaped(key)}`, before, item, before === undefined ? NONE : kept);
      await (before === undefined ? part.create?.(key, given, by) : part.update(key, given, by));
    }
  }

  async #mustBe({ part, wanted }: Pick<PartPlan, 'part' | 'wanted'>): Promise<void> {
    const now = plain(await part.read());
    if (same(now, wanted)) return;
    const where = changesBetween(part, wanted, now).map(({ path }) => path);
    throw new Error(`it was read back otherwise than it was set, at ${where.slice(0, 5).join(', ')}`);
  }

  /** Puts everything back; throws what the caller is told. */
  async #failed(parts: readonly PartPlan[], by: Caller, error: unknown): Promise<never> {
    const { detail, errors } = asProblem(error);
    try {
      await this.#putBack(parts.map(({ part, before }) => ({ part, before })));
    } catch (second) {
      this.#stuck = asProblem(second).detail;
      logFailure(this.#parts.log, 'settings could not be put back; it is tried again', second);
      throw fail(
        'settings_not_applied',
        `${detail} What was applied before could not be put back yet: ${this.#stuck}`,
        'It is tried again until it succeeds; an alert says so.',
      );
    }
    const names = parts.map(({ part }) => part.name);
    this.#parts.db.transaction(() => {
      this.#parts.db.run('DELETE FROM settings_applying');
      this.#parts.audit.record(by, 'settings.take-back', names.join(', '), null, { reason: detail });
    });
    throw fail(
      'settings_not_applied',
      `${detail} All settings are as they were before.`,
      'Change the document, and look at its plan again.',
      errors,
    );
  }

  async #putBack(parts: readonly { part: SettingsPart; before: unknown }[]): Promise<void> {
    const wanted = parts.map(({ part, before }) => ({ part, wanted: before, kept: NONE }));
    // What others refer to is there before them; what refers to them is gone before.
    for (const one of wanted) await named(one, () => this.#towards(one, appliance, 'all but removed last'));
    for (const one of wanted.toReversed()) await named(one, () => this.#towards(one, appliance, 'removed last'));
    for (const one of wanted) await named(one, () => this.#mustBe(one));
  }

  async #finish(
    by: By,
    cause: Cause,
    parts: readonly Pick<PartPlan, 'part' | 'before' | 'wanted'>[],
  ): Promise<string[]> {
    const { db, audit, history } = this.#parts;
    const noted = await history.note(
      parts.map(({ part }) => part),
      by,
      cause,
    );
    const changes = parts.flatMap(({ part, before, wanted }) => changesBetween(part, before, wanted));
    db.transaction(() => {
      db.run('DELETE FROM settings_applying');
      audit.record(
        by,
        `settings.${cause}`,
        parts.map(({ part }) => part.name).join(', '),
        Object.fromEntries(changes.filter(({ kind }) => kind !== 'added').map(({ path, before }) => [path, before])),
        Object.fromEntries(changes.filter(({ kind }) => kind !== 'removed').map(({ path, after }) => [path, after])),
      );
    });
    return noted;
  }

  /** At the start, and again until it succeeds: ends what another run of akd has begun. */
  async recover(): Promise<void> {
    if (this.#busy) return;
    const written = this.#written();
    if (written === undefined) return;
    const { db, audit, all, tookBack, log } = this.#parts;
    this.#busy = true;
    try {
      const parts = written.parts.flatMap(({ part: name, before, wanted }) => {
        const part = all().find((one) => one.name === name);
        return part === undefined ? [] : [{ part, before, wanted }];
      });
      if (written.applied) {
        await this.#finish(written.by, written.cause, parts);
        return;
      }
      await this.#putBack(parts);
      const names = parts.map(({ part }) => part.name);
      db.transaction(() => {
        db.run('DELETE FROM settings_applying');
        const reason = 'it was interrupted: the appliance, or its management service, ended meanwhile';
        audit.record(appliance, 'settings.take-back', names.join(', '), null, { by: written.by.name, reason });
        tookBack(written.by, written.at, names);
      });
      this.#stuck = null;
    } catch (error) {
      this.#stuck = asProblem(error).detail;
      logFailure(log, 'settings whose application was interrupted could not be put back; it is tried again', error);
    } finally {
      this.#busy = false;
    }
  }
}

type Phase = 'all but removed last' | 'removed last';

/** Says of a failure in which part it was. */
async function named({ part }: { readonly part: SettingsPart }, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    const { detail, errors = [] } = asProblem(error);
    const why =
      error instanceof Error && detail.startsWith('The appliance could not do this') ? `${error.message}.` : detail;
    throw fail(
      'settings_not_applied',
      `The part ${part.name} of the settings could not be applied: ${why}`,
      undefined,
      errors.map(({ path, message }) => ({ path: `/parts/${part.name}/value${path}`, message })),
    );
  }
}
