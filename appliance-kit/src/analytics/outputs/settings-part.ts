// The outputs as a part of the settings document, by their ids: an output keeps its place in the journal when it is renamed.
import { asked, manyPart } from '../../domain/settings-part.ts';
import type { Handlers } from '../../http/handlers.ts';
import type { OutputParts } from './handlers.ts';
import { complete, SECRETS } from './outputs.ts';
import type { routes } from './routes.ts';
import { OutputInput, type StoredOutput } from './schema.ts';

const inputOf = ({ id: _, ...input }: StoredOutput & { readonly lost?: unknown }): OutputInput => {
  const { lost: __, ...rest } = input as OutputInput & { lost?: unknown };
  return rest;
};

export function outputsPart(parts: OutputParts & { handlers: Handlers<typeof routes> }) {
  const { db, outputs, runner, audit, changes, handlers } = parts;
  return manyPart({
    ...{ name: 'outputs', title: 'Outputs', version: 1, schema: OutputInput },
    covers: ['createOutput', 'updateOutput', 'deleteOutput'],
    secrets: Object.entries(SECRETS).flatMap(([kind, fields]) => fields.map((field) => `/${kind}/${field}`)),
    emptied: ['/remoteWrite/ca'],
    normalise: (input, id) => inputOf(complete(id, input)),
    read: () => Object.fromEntries(outputs.all().map((one) => [one.id, inputOf(one)])),
    check: (id, given) => {
      const stored = outputs.all().find((one) => one.id === id);
      return runner.check(complete(id, given, stored));
    },
    checkAll: (wanted) => {
      const seen = new Map<string, string>();
      return Object.entries(wanted).flatMap(([id, { name, file }]) =>
        [
          { path: `/${id}/name`, what: `name ${name}` },
          ...(file === undefined ? [] : [{ path: `/${id}/file/folder`, what: `folder ${file.folder}` }]),
        ].flatMap(({ path, what }) => {
          const other = seen.get(what);
          seen.set(what, id);
          return other === undefined ? [] : [{ path, message: `is that of ${other}, too` }];
        }),
      );
    },
    create: async (id, input, by) => {
      const output = complete(id, input);
      db.transaction(() => {
        outputs.insert(output);
        audit.record(by, 'output.create', output.name, null, output);
      });
      await runner.push();
      changes.publish('outputs', id);
    },
    update: (id, body, caller) => asked(handlers.updateOutput, { params: { id }, body, caller }),
    remove: (id, caller) => asked(handlers.deleteOutput, { params: { id }, caller }),
  });
}
