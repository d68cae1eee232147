// The recording rules. They are defined here, and kept and evaluated by storaged, which is handed the whole list whenever one
// changes, and again when it has another one. storaged decides what can be a rule: nothing is kept here that it refuses.
import { isDeepStrictEqual } from 'node:util';
import type { Audit } from '../../access/audit/index.ts';
import { type Clock, iso } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import { logFailure } from '../../base/problems/log-failure.ts';
import { fail } from '../../base/problems/problem.ts';
import { plural } from '../../base/words.ts';
import type { Caller } from '../../http/gate/caller.ts';
import type { Changes } from '../../http/live-updates/changes.ts';
import type { Database } from '../../state/database.ts';
import { newId } from '../../state/id.ts';
import { described } from './described.ts';
import type {
  RecordingRule,
  RecordingRuleImport,
  RecordingRuleInput,
  RecordingRulePreview,
  RecordingRulePreviewInput,
} from './schema.ts';
import { type EvaluatedRule, type Fault, faultsOf, type StoredRule, type StoredRules } from './store.ts';

/** As many as storaged takes. */
const MOST = 1000;

export interface RecordingRuleParts {
  readonly db: Database;
  readonly clock: Clock;
  readonly log: Log;
  readonly audit: Audit;
  readonly changes: Changes;
  readonly stored: StoredRules;
}

/** Where in the expression, when PromQL's parser says so. */
function placeOf(message: string): RecordingRulePreview['faults'][number]['at'] {
  const [, line, column] = /^(\d+):(\d+): /.exec(message) ?? [];
  return line === undefined ? null : { line: Number(line), column: Number(column) };
}

const known = ['name', 'group', 'expression', 'labels', 'intervalSeconds', 'description', 'rules', 'id'] as const;
const fieldOf = (field: string) => known.find((one) => one === field) ?? 'expression';

const withoutId = ({ id: _, ...input }: StoredRule): RecordingRuleInput => ({ ...input, labels: input.labels ?? {} });

/** The rules that storaged evaluates and that came from here, as they were sent. */
const pushed = (rules: readonly EvaluatedRule[]): StoredRule[] =>
  rules
    .filter(({ fixed }) => !fixed)
    .map(({ fixed: _, state: __, fill: ___, ...rule }) => ({ ...rule, labels: rule.labels ?? {} }));

export class RecordingRules {
  readonly #parts: RecordingRuleParts;
  /** Changes one after the other: each is made of the list before it. */
  #changing: Promise<unknown> = Promise.resolve();
  /** Rules that storaged does not take any more, as when a function was switched off, with its words. */
  #refused: ReadonlyMap<string, string> = new Map();

  constructor(parts: RecordingRuleParts) {
    this.#parts = parts;
  }

  #rules(): StoredRule[] {
    return this.#parts.db
      .all('SELECT id, rule_json FROM recording_rules ORDER BY position')
      .map(({ id, rule_json }) => ({ id: id as string, ...(JSON.parse(rule_json as string) as RecordingRuleInput) }));
  }

  /** What storaged evaluates; null when it does not answer. */
  async evaluated(): Promise<EvaluatedRule[] | null> {
    try {
      return await this.#parts.stored.list();
    } catch {
      return null;
    }
  }

  async list(): Promise<RecordingRule[]> {
    const evaluated = (await this.evaluated()) ?? [];
    const own = this.#rules();
    const of = (id: string) => evaluated.find((one) => one.id === id);
    return [
      ...own.map((rule) => described(rule, of(rule.id), this.#refused.get(rule.id))),
      ...evaluated.filter(({ fixed }) => fixed).map((rule) => described(rule, rule, undefined)),
    ];
  }

  async get(id: string): Promise<RecordingRule> {
    const rule = (await this.list()).find((one) => one.id === id);
    if (rule === undefined) throw fail('not_found', `There is no recording rule ${id}.`);
    return rule;
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#changing.then(work, work);
    this.#changing = done.catch(() => undefined);
    return done;
  }

  /** Has storaged take a list in which the rule `id` is new or changed; its objections become those to the request. */
  async #push(rules: readonly StoredRule[], id: string | null): Promise<void> {
    try {
      await this.#parts.stored.replace(rules);
    } catch (error) {
      const faults = faultsOf(error);
      if (faults === null) throw error;
      const errors = faults.map(({ index, field, message }) => {
        const other = rules[index];
        return other === undefined || other.id === id
          ? { path: `/${fieldOf(field)}`, message }
          : { path: '/expression', message: `with it the rule ${other.name} cannot be: ${message}` };
      });
      const words = errors.map(({ path, message }) => `${path.slice(1)}: ${message}`).join('; ');
      throw fail('invalid_request', `The rule was refused: ${words}.`, undefined, errors);
    }
    this.#refused = new Map();
  }

  #own(id: string): StoredRule {
    const rule = this.#rules().find((one) => one.id === id);
    if (rule !== undefined) return rule;
    throw id.startsWith('file-')
      ? fail('conflict', 'This rule comes from a rule file, and is changed there.', 'See rules.files of storaged.')
      : fail('not_found', `There is no recording rule ${id}.`);
  }

  /** As they are defined here, with their places in the order of evaluation. */
  placed(): { id: string; place: number; input: RecordingRuleInput }[] {
    return this.#parts.db.all('SELECT position, id, rule_json FROM recording_rules ORDER BY position').map((row) => ({
      ...{ id: row.id as string, place: row.position as number },
      input: JSON.parse(row.rule_json as string),
    }));
  }

  /** Gives a rule another place; who has that gets the one that is free then. */
  move(id: string, place: number): Promise<void> {
    return this.#inTurn(async () => {
      const { db } = this.#parts;
      const sql = 'UPDATE recording_rules SET position = ? WHERE id = ?';
      db.transaction(() => {
        const all = this.placed();
        const [own, other] = [all.find((one) => one.id === id), all.find((one) => one.place === place)];
        if (own === undefined || own.place === place) return;
        if (other !== undefined) db.run(sql, -own.place, other.id);
        db.run(sql, place, id);
        if (other !== undefined) db.run(sql, own.place, other.id);
      });
      await this.#push(this.#rules(), null);
    });
  }

  create(caller: Caller, input: RecordingRuleInput, id = newId('rr', this.#parts.clock.now())): Promise<RecordingRule> {
    return this.#inTurn(async () => {
      const { db, clock, audit, changes } = this.#parts;
      const before = this.#rules();
      this.#mustFit(before.length + 1);
      const now = clock.now();
      await this.#push([...before, { id, ...input }], id);
      db.transaction(() => {
        this.#insert(id, input, now);
        audit.record(caller, 'recording-rule.create', input.name, null, input);
      });
      changes.publish('recording-rules', id);
      return this.get(id);
    });
  }

  #mustFit(count: number): void {
    if (count > MOST)
      throw fail('too_many', `There can be ${MOST} recording rules.`, 'Remove those that nobody reads.');
  }

  #insert(id: string, input: RecordingRuleInput, now: number): void {
    const sql = 'INSERT INTO recording_rules (id, rule_json, created_at) VALUES (?, ?, ?)';
    this.#parts.db.run(sql, id, JSON.stringify(input), now);
  }

  update(caller: Caller, id: string, input: RecordingRuleInput): Promise<RecordingRule> {
    return this.#inTurn(async () => {
      const { db, audit, changes } = this.#parts;
      const before = this.#own(id);
      const rules = this.#rules().map((rule) => (rule.id === id ? { id, ...input } : rule));
      await this.#push(rules, id);
      db.transaction(() => {
        db.run('UPDATE recording_rules SET rule_json = ? WHERE id = ?', JSON.stringify(input), id);
        audit.record(caller, 'recording-rule.update', input.name, withoutId(before), input);
      });
      changes.publish('recording-rules', id);
      return this.get(id);
    });
  }

  remove(caller: Caller, id: string): Promise<void> {
    return this.#inTurn(async () => {
      const { db, audit, changes } = this.#parts;
      const gone = this.#own(id);
      await this.#push(
        this.#rules().filter((rule) => rule.id !== id),
        null,
      );
      db.transaction(() => {
        db.run('DELETE FROM recording_rules WHERE id = ?', id);
        audit.record(caller, 'recording-rule.delete', gone.name, withoutId(gone), null);
      });
      changes.publish('recording-rules', id);
    });
  }

  /** What a rule would record now. A rule that cannot be is an answer, not an error. */
  async preview({ id, ...input }: RecordingRulePreviewInput): Promise<RecordingRulePreview> {
    const nothing = { warnings: [], total: 0, series: [] };
    try {
      const { sent, total, series } = await this.#parts.stored.preview({ id: 'preview', ...input }, id ?? '');
      const warnings = [
        ...(sent
          ? [`Measurements named ${input.name} are sent to the appliance. The rule records nothing before they stop.`]
          : []),
        ...(total === 0 ? ['The expression gives nothing now. The rule records as soon as it does.'] : []),
      ];
      return { faults: [], warnings, total, series };
    } catch (error) {
      const faults = faultsOf(error);
      if (faults === null) throw error;
      const described = faults.map(({ field, message }) => ({ field: fieldOf(field), message, at: placeOf(message) }));
      return { ...nothing, faults: described };
    }
  }

  /** The rules of a rule file that can be, behind those that there are; all others are named. */
  import(caller: Caller, text: string): Promise<RecordingRuleImport> {
    return this.#inTurn(async () => {
      const { db, clock, audit, changes, stored } = this.#parts;
      const read = await stored.readFile(text);
      const notTaken: RecordingRuleImport['notTaken'] = read.notTaken.map(({ line, what, reason }) => ({
        line: line === 0 ? null : line,
        what,
        reason,
      }));
      const before = this.#rules();
      const now = clock.now();
      let added = read.rules.map((rule) => ({ ...rule, labels: rule.labels ?? {}, id: newId('rr', now) }));
      this.#mustFit(before.length + added.length);
      // Leaving out what cannot be together with the rules that there are may take several times.
      while (added.length > 0) {
        const faults = await this.#replaced([...before, ...added]);
        if (faults.length === 0) break;
        const at = new Map(faults.map((fault) => [fault.index - before.length, fault]));
        const theirs = faults.find(({ index }) => index < before.length);
        if (theirs !== undefined) {
          throw fail(
            'conflict',
            `With these rules ${before[theirs.index]?.name ?? 'another one'} cannot be: ${theirs.message}.`,
          );
        }
        for (const [index, { message }] of at) {
          notTaken.push({ line: null, what: `the rule ${added[index]?.name}`, reason: message });
        }
        added = added.filter((_, index) => !at.has(index));
      }
      if (added.length > 0) {
        this.#refused = new Map();
        db.transaction(() => {
          for (const rule of added) this.#insert(rule.id, withoutId(rule), now);
          const names = added.map(({ name }) => name);
          audit.record(caller, 'recording-rule.import', plural(added.length, 'rule'), null, { rules: names });
        });
        changes.publish('recording-rules');
      }
      const ids = new Set(added.map(({ id }) => id));
      return { items: (await this.list()).filter(({ id }) => ids.has(id)), notTaken };
    });
  }

  /** Why storaged does not take a list; nothing when it has taken it. */
  async #replaced(rules: readonly StoredRule[]): Promise<Fault[]> {
    try {
      await this.#parts.stored.replace(rules);
      return [];
    } catch (error) {
      const faults = faultsOf(error);
      if (faults === null) throw error;
      return faults;
    }
  }

  async fill(caller: Caller, id: string, from: string): Promise<RecordingRule> {
    const { audit, changes, stored } = this.#parts;
    const at = Date.parse(from);
    if (Number.isNaN(at)) {
      const message = 'is no time: write 2026-01-01T00:00:00Z';
      throw fail('invalid_request', `The past cannot be filled: from ${message}.`, undefined, [
        { path: '/from', message },
      ]);
    }
    const rule = await this.get(id);
    await stored.fill(id, at / 1000);
    audit.record(caller, 'recording-rule.fill', rule.name, null, { from: iso(at) });
    changes.publish('recording-rules', id);
    return this.get(id);
  }

  async cancelFill(caller: Caller, id: string): Promise<RecordingRule> {
    const { audit, changes, stored } = this.#parts;
    const rule = await this.get(id);
    await stored.cancelFill(id);
    audit.record(caller, 'recording-rule.cancel-fill', rule.name);
    changes.publish('recording-rules', id);
    return this.get(id);
  }

  /**
   * Has storaged evaluate what is defined here, when it does something else: it was down, or has lost its files. What it refuses
   * by now is left out, so that the other rules go on. Returns how all are; throws when storaged does not answer.
   */
  reconcile(): Promise<readonly EvaluatedRule[]> {
    return this.#inTurn(async () => {
      const { stored, log } = this.#parts;
      const evaluated = await stored.list();
      const wanted = this.#rules();
      const taken = wanted.filter(({ id }) => !this.#refused.has(id));
      if (isDeepStrictEqual(pushed(evaluated), taken)) return evaluated;
      const refused = new Map<string, string>();
      let rules: readonly StoredRule[] = wanted;
      for (;;) {
        const faults = await this.#replaced(rules);
        if (faults.length === 0) break;
        for (const { index, message } of faults) {
          const rule = rules[index];
          if (rule !== undefined) refused.set(rule.id, message);
        }
        const left = rules.filter(({ id }) => !refused.has(id));
        if (left.length === rules.length)
          throw fail('service_unavailable', 'storaged refuses rules without saying which.');
        rules = left;
      }
      for (const [id, message] of refused) {
        const name = wanted.find((rule) => rule.id === id)?.name ?? id;
        logFailure(log, 'a recording rule is not evaluated any more', new Error(message), { rule: name });
      }
      this.#refused = refused;
      return stored.list();
    });
  }

  /** Enabled rules that are refused as they are. */
  refused(): { ruleId: string; ruleName: string; error: string }[] {
    return this.#rules().flatMap(({ id, name, enabled }) => {
      const error = this.#refused.get(id);
      return error === undefined || !enabled ? [] : [{ ruleId: id, ruleName: name, error }];
    });
  }
}
