// Outputs: what there are, changing them, and trying a receiver.
import type { Audit } from '../../access/audit/index.ts';
import type { Handlers } from '../../http/handlers.ts';
import type { Changes } from '../../http/live-updates/changes.ts';
import type { Database } from '../../state/database.ts';
import { complete, type Outputs } from './outputs.ts';
import type { routes } from './routes.ts';
import type { OutputRunner } from './storaged.ts';

export interface OutputParts {
  readonly db: Database;
  readonly outputs: Outputs;
  readonly runner: OutputRunner;
  readonly audit: Audit;
  readonly changes: Changes;
}

export function outputRoutes({ db, outputs, runner, audit, changes }: OutputParts): Handlers<typeof routes> {
  const shown = async (id: string) => outputs.describe(outputs.stored(id), await runner.statuses());
  return {
    listOutputs: async () => {
      const all = outputs.all();
      const statuses = all.length === 0 ? [] : await runner.statuses();
      return { items: all.map((one) => outputs.describe(one, statuses)) };
    },

    createOutput: async ({ body, caller }) => {
      const output = complete(outputs.newId(), body);
      await runner.check(output);
      db.transaction(() => {
        outputs.insert(output);
        audit.record(caller, 'output.create', output.name, null, output);
      });
      await runner.push();
      changes.publish('outputs', output.id);
      return await shown(output.id);
    },

    getOutput: ({ params }) => shown(params.id),

    updateOutput: async ({ params, body, caller }) => {
      const after = complete(params.id, body, outputs.stored(params.id));
      await runner.check(after);
      db.transaction(() => {
        const before = outputs.stored(params.id);
        outputs.update(after);
        audit.record(caller, 'output.update', after.name, before, after);
      });
      await runner.push();
      changes.publish('outputs', after.id);
      return await shown(after.id);
    },

    deleteOutput: async ({ params, caller }) => {
      const before = outputs.stored(params.id);
      db.transaction(() => {
        outputs.remove(params.id);
        audit.record(caller, 'output.delete', before.name, before, null);
      });
      await runner.push();
      changes.publish('outputs', params.id);
      return undefined;
    },

    testOutput: async ({ body, caller }) => {
      const { id, ...input } = body;
      const stored = id === undefined ? undefined : outputs.stored(id);
      const output = complete(id ?? outputs.newId(), input, stored);
      audit.record(caller, 'output.test', output.name);
      return await runner.test(output);
    },
  };
}
