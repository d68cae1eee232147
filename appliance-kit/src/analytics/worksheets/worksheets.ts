// Worksheets: the ready ones, and those that users made. A private one is its owner's alone; not even its name is shown
// to others, administrators excepted.

import type { Audit } from '../../access/audit/index.ts';
import { type Clock, iso } from '../../base/clock.ts';
import { asProblem, fail } from '../../base/problems/problem.ts';
import { atLeast, type Caller } from '../../http/gate/caller.ts';
import type { Handlers } from '../../http/handlers.ts';
import type { Changes } from '../../http/live-updates/changes.ts';
import type { Tracerd } from '../../peers/tracerd.ts';
import type { Database, Row } from '../../state/database.ts';
import { newId } from '../../state/id.ts';
import { readyWorksheets } from './ready.ts';
import type { routes } from './routes.ts';
import type { Worksheet, WorksheetChange, WorksheetFile, WorksheetInput } from './schema.ts';

/** All of them are listed at once. */
const MOST = 500;
const MOST_OF_ONE = 100;

export interface WorksheetParts {
  readonly db: Database;
  readonly clock: Clock;
  readonly audit: Audit;
  readonly changes: Changes;
  readonly tracerd: Tracerd;
}

const isOwn = (caller: Caller, row: Row) => row.owner === caller.name;
const maySee = (caller: Caller, row: Row) =>
  row.shared === 1 || isOwn(caller, row) || atLeast(caller.role, 'administrator');
const mayChange = (caller: Caller, row: Row) => isOwn(caller, row) || atLeast(caller.role, 'administrator');

function fromRow(row: Row, caller: Caller): Worksheet {
  return {
    ...(JSON.parse(row.content_json as string) as Omit<WorksheetInput, 'name' | 'shared'>),
    name: row.name as string,
    shared: row.shared === 1,
    id: row.id as string,
    owner: row.owner as string,
    ready: false,
    mayChange: mayChange(caller, row),
    createdAt: iso(row.created_at as number),
    updatedAt: iso(row.updated_at as number),
  };
}

/** What a schema cannot say: a chart draws one thing, and has a name of its own. */
export function mustMakeSense({ charts }: Pick<WorksheetInput, 'charts'>): void {
  const errors: { path: string; message: string }[] = [];
  const seen = new Set<string>();
  for (const [index, chart] of charts.entries()) {
    if ((chart.statistic === undefined) === (chart.query === undefined)) {
      errors.push({ path: `/charts/${index}`, message: 'must have a statistic or a query, and not both' });
    }
    if (seen.has(chart.id)) errors.push({ path: `/charts/${index}/id`, message: 'is there twice' });
    seen.add(chart.id);
  }
  if (errors.length === 0) return;
  const words = errors.map(({ path, message }) => `${path} ${message}`).join('; ');
  throw fail('invalid_request', `The worksheet was refused: ${words}.`, undefined, errors);
}

export class Worksheets {
  readonly #parts: WorksheetParts;

  constructor(parts: WorksheetParts) {
    this.#parts = parts;
  }

  list(caller: Caller): Worksheet[] {
    const rows = this.#parts.db.all('SELECT * FROM worksheets ORDER BY name COLLATE NOCASE, id');
    return [...readyWorksheets, ...rows.filter((row) => maySee(caller, row)).map((row) => fromRow(row, caller))];
  }

  #row(caller: Caller, id: string): Row {
    const row = this.#parts.db.get('SELECT * FROM worksheets WHERE id = ?', id);
    // Another user's private one is answered like one that does not exist.
    if (row === undefined || !maySee(caller, row)) throw fail('not_found', `There is no worksheet ${id}.`);
    return row;
  }

  get(caller: Caller, id: string): Worksheet {
    return readyWorksheets.find((one) => one.id === id) ?? fromRow(this.#row(caller, id), caller);
  }

  #changeable(caller: Caller, id: string): Row {
    if (this.isReady(id)) {
      throw fail(
        'conflict',
        `The worksheet ${id} came with the appliance and stays as it is.`,
        'Copy it and change that.',
      );
    }
    const row = this.#row(caller, id);
    if (!mayChange(caller, row)) {
      throw fail(
        'forbidden',
        `“${row.name}” belongs to ${row.owner}; ${caller.name} may look at it only.`,
        'Copy it and change that.',
      );
    }
    return row;
  }

  isReady(id: string): boolean {
    return readyWorksheets.some((one) => one.id === id);
  }

  /** Those that users made, of whomever. */
  all(): { id: string; owner: string; input: WorksheetInput }[] {
    return this.#parts.db.all('SELECT * FROM worksheets').map((row) => ({
      ...{ id: row.id as string, owner: row.owner as string },
      input: { ...JSON.parse(row.content_json as string), name: row.name as string, shared: row.shared === 1 },
    }));
  }

  create(
    caller: Caller,
    input: WorksheetInput,
    { id = newId('ws', this.#parts.clock.now()), owner = caller.name } = {},
  ): Worksheet {
    mustMakeSense(input);
    const { db, clock, audit, changes } = this.#parts;
    const now = clock.now();
    const { name, shared, ...content } = input;
    db.transaction(() => {
      if (Number(db.get('SELECT count(*) AS n FROM worksheets')?.n) >= MOST) {
        throw fail('too_many', `There are ${MOST} worksheets already.`, 'Delete one that is not needed.');
      }
      if (Number(db.get('SELECT count(*) AS n FROM worksheets WHERE owner = ?', owner)?.n) >= MOST_OF_ONE) {
        throw fail('too_many', `You have ${MOST_OF_ONE} worksheets already.`, 'Delete one that is not needed.');
      }
      db.run(
        'INSERT INTO worksheets (id, name, owner, shared, content_json, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?)',
        id,
        name,
        owner,
        shared ? 1 : 0,
        JSON.stringify(content),
        now,
        now,
      );
      audit.record(caller, 'worksheet.create', name);
    });
    changes.publish('worksheets', id);
    return this.get(caller, id);
  }

  update(caller: Caller, id: string, input: WorksheetInput): Worksheet {
    mustMakeSense(input);
    const { db, clock, audit, changes } = this.#parts;
    const { name, shared, ...content } = input;
    db.transaction(() => {
      const before = fromRow(this.#changeable(caller, id), caller);
      db.run(
        'UPDATE worksheets SET name = ?, shared = ?, content_json = ?, updated_at = ? WHERE id = ?',
        name,
        shared ? 1 : 0,
        JSON.stringify(content),
        clock.now(),
        id,
      );
      // Where a chart stands is of no interest to who reads the log; who may see it is.
      const brief = (one: Pick<WorksheetInput, 'name' | 'shared' | 'charts'>) => ({
        name: one.name,
        shared: one.shared,
        charts: one.charts.map((chart) => chart.statistic ?? chart.query),
      });
      audit.record(caller, 'worksheet.update', name, brief(before), brief(input));
    });
    changes.publish('worksheets', id);
    return this.get(caller, id);
  }

  handOver(id: string, owner: string): void {
    this.#parts.db.run('UPDATE worksheets SET owner = ? WHERE id = ?', owner, id);
  }

  remove(caller: Caller, id: string): void {
    const { db, audit, changes } = this.#parts;
    db.transaction(() => {
      const gone = this.#changeable(caller, id);
      db.run('DELETE FROM worksheets WHERE id = ?', id);
      audit.record(caller, 'worksheet.delete', gone.name as string, { owner: gone.owner }, null);
    });
    changes.publish('worksheets', id);
  }

  export(caller: Caller, id: string): WorksheetFile {
    const {
      id: _,
      owner: __,
      ready: ___,
      mayChange: ____,
      createdAt: _____,
      updatedAt: ______,
      ...worksheet
    } = this.get(caller, id);
    return { format: 'cistern-worksheet', version: 1, worksheet };
  }

  /** Private until its new owner says otherwise. */
  import(caller: Caller, file: WorksheetFile): Worksheet {
    return this.create(caller, { ...file.worksheet, shared: false });
  }

  /** All of its statistics; one that fails does not keep the others from it. */
  async switch(caller: Caller, id: string, action: 'suspend' | 'resume'): Promise<WorksheetChange> {
    const { audit, changes, tracerd } = this.#parts;
    const worksheet = this.get(caller, id);
    const names = [
      ...new Set(worksheet.charts.flatMap(({ statistic }) => (statistic === undefined ? [] : [statistic]))),
    ];
    const items = await Promise.all(
      names.map(async (statistic) => {
        try {
          return { statistic, dataset: await tracerd[action](statistic), problem: null };
        } catch (error) {
          return { statistic, dataset: null, problem: asProblem(error) };
        }
      }),
    );
    const done = items.filter(({ dataset }) => dataset !== null).map(({ statistic }) => statistic);
    if (done.length > 0) audit.record(caller, `worksheet.${action}`, worksheet.name, null, { statistics: done });
    changes.publish('analytics');
    return { items };
  }
}

export function worksheetRoutes(worksheets: Worksheets): Handlers<typeof routes> {
  return {
    listWorksheets: ({ caller }) => ({ items: worksheets.list(caller) }),
    createWorksheet: ({ body, caller }) => worksheets.create(caller, body),
    importWorksheet: ({ body, caller }) => worksheets.import(caller, body),
    getWorksheet: ({ params, caller }) => worksheets.get(caller, params.id),
    updateWorksheet: ({ params, body, caller }) => worksheets.update(caller, params.id, body),
    deleteWorksheet: ({ params, caller }) => {
      worksheets.remove(caller, params.id);
      return undefined;
    },
    exportWorksheet: ({ params, caller }) => worksheets.export(caller, params.id),
    suspendWorksheet: ({ params, caller }) => worksheets.switch(caller, params.id, 'suspend'),
    resumeWorksheet: ({ params, caller }) => worksheets.switch(caller, params.id, 'resume'),
  };
}
