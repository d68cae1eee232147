// The objectives: kept here, and measured by the store every minute.
import type { Audit } from '../../access/audit/index.ts';
import type { Clock } from '../../base/clock.ts';
import { fail, ProblemError } from '../../base/problems/problem.ts';
import type { Caller } from '../../http/gate/caller.ts';
import type { Changes } from '../../http/live-updates/changes.ts';
import { ExpressionError, type Storaged } from '../../peers/storaged.ts';
import type { Database } from '../../state/database.ts';
import { newId } from '../../state/id.ts';
import { reportOf } from './report.ts';
import type { Objective, ObjectiveInput, ObjectiveReport, ObjectiveStanding } from './schema.ts';
import { LONGEST, SLOT, standingOf, startOf } from './standing.ts';

/** Each is two questions a minute about up to a year. */
const MOST = 100;

export interface ObjectiveParts {
  readonly db: Database;
  readonly clock: Clock;
  readonly audit: Audit;
  readonly changes: Changes;
  readonly storaged: Pick<Storaged, 'over' | 'checkSelector' | 'query' | 'queryRange'>;
}

interface Measured {
  readonly standing: ObjectiveStanding | null;
  readonly error: string | null;
}
const NOT_YET: Measured = { standing: null, error: null };

export class Objectives {
  readonly #parts: ObjectiveParts;
  readonly #measured = new Map<string, Measured>();

  constructor(parts: ObjectiveParts) {
    this.#parts = parts;
  }

  /** As they are defined. */
  defined(): { id: string; input: ObjectiveInput }[] {
    return this.#parts.db
      .all('SELECT id, objective_json FROM objectives ORDER BY created_at, id')
      .map(({ id, objective_json }) => ({ id: id as string, input: JSON.parse(objective_json as string) }));
  }

  list(): Objective[] {
    return this.defined().map(({ id, input }) => ({ id, ...input, ...(this.#measured.get(id) ?? NOT_YET) }));
  }

  get(id: string): Objective {
    const one = this.list().find((objective) => objective.id === id);
    if (one === undefined) throw fail('not_found', `There is no objective ${id}.`);
    return one;
  }

  /** Throws what is wrong with it. */
  async check({ selector, population }: ObjectiveInput): Promise<void> {
    const { storaged } = this.#parts;
    try {
      await storaged.checkSelector(selector);
    } catch (error) {
      const wrong =
        error instanceof ProblemError ? error.problem.errors?.find(({ path }) => path === '/selector') : undefined;
      if (wrong === undefined) throw error;
      throw fail('invalid_request', `The selector cannot be understood: ${wrong.message}.`, undefined, [wrong]);
    }
    if (population === '') return;
    const refuse = (message: string) =>
      fail('invalid_request', `The population cannot be told: ${message}.`, undefined, [
        { path: '/population', message },
      ]);
    try {
      const found = await storaged.query(population);
      if (found.length > 1) throw refuse(`it has ${found.length} values at once; put sum(…) around it`);
    } catch (error) {
      throw error instanceof ExpressionError ? refuse(error.message) : error;
    }
  }

  /** Its period by its limit, or by another one: nothing is saved. */
  report(id: string, limit: number | undefined): Promise<ObjectiveReport> {
    const { clock, storaged } = this.#parts;
    const input = this.#input(id);
    return reportOf(storaged, { ...input, limit: limit ?? input.limit }, clock.now());
  }

  /** What the report of one would say that is not kept. */
  async preview(input: ObjectiveInput): Promise<ObjectiveReport> {
    await this.check(input);
    return reportOf(this.#parts.storaged, input, this.#parts.clock.now());
  }

  async create(caller: Caller, input: ObjectiveInput, id = newId('ob', this.#parts.clock.now())): Promise<Objective> {
    const { db, clock, audit, changes } = this.#parts;
    await this.check(input);
    if (this.defined().length >= MOST) {
      throw fail('too_many', `There can be ${MOST} objectives.`, 'Remove those that nobody reads.');
    }
    db.transaction(() => {
      db.run('INSERT INTO objectives VALUES (?, ?, ?)', id, JSON.stringify(input), clock.now());
      audit.record(caller, 'objective.create', input.name, null, input);
    });
    await this.#measure(id, input);
    changes.publish('objectives', id);
    return this.get(id);
  }

  async update(caller: Caller, id: string, input: ObjectiveInput): Promise<Objective> {
    const { db, audit, changes } = this.#parts;
    await this.check(input);
    const before = this.#input(id);
    db.transaction(() => {
      db.run('UPDATE objectives SET objective_json = ? WHERE id = ?', JSON.stringify(input), id);
      audit.record(caller, 'objective.update', input.name, before, input);
    });
    // What was counted for another limit says nothing of this one.
    this.#measured.delete(id);
    await this.#measure(id, input);
    changes.publish('objectives', id);
    return this.get(id);
  }

  remove(caller: Caller, id: string): void {
    const { db, audit, changes } = this.#parts;
    const before = this.#input(id);
    db.transaction(() => {
      db.run('DELETE FROM objectives WHERE id = ?', id);
      audit.record(caller, 'objective.delete', before.name, before, null);
    });
    this.#measured.delete(id);
    changes.publish('objectives', id);
  }

  #input(id: string): ObjectiveInput {
    const one = this.defined().find((objective) => objective.id === id);
    if (one === undefined) throw fail('not_found', `There is no objective ${id}.`);
    return one.input;
  }

  /** All of them, one after the other: the store has others to answer. */
  async measure(): Promise<void> {
    const all = this.defined();
    for (const { id, input } of all) await this.#measure(id, input);
    if (all.length > 0) this.#parts.changes.publish('objectives');
  }

  async #measure(id: string, input: ObjectiveInput): Promise<void> {
    const { clock, storaged } = this.#parts;
    const now = clock.now();
    const end = Math.ceil(now / 1000);
    const { selector, limit } = input;
    let measured: Measured;
    try {
      const days = await storaged.over(selector, limit, startOf(input, now / 1000), end, 86_400);
      const recent = await storaged.over(selector, limit, end - LONGEST, end, SLOT);
      measured = { standing: standingOf(input, { days, recent, end, now }), error: null };
    } catch (error) {
      const standing = this.#measured.get(id)?.standing ?? null;
      measured = { standing, error: error instanceof Error ? error.message : String(error) };
    }
    // It may have been changed or removed meanwhile.
    const current = this.defined().find((one) => one.id === id);
    if (JSON.stringify(current?.input) === JSON.stringify(input)) this.#measured.set(id, measured);
  }
}
