// The worksheets that users made, as a part of the settings document, by their ids: rules and links name them so.
import { fail } from '../../base/problems/problem.ts';
import { closed, Line } from '../../base/schema/schema.ts';
import { manyPart } from '../../domain/settings-part.ts';
import { WorksheetInput } from './schema.ts';
import { mustMakeSense, type Worksheets } from './worksheets.ts';

const KeptWorksheet = closed({ owner: Line({ maxLength: 128 }), ...WorksheetInput.properties });

export const worksheetsPart = (worksheets: Worksheets) =>
  manyPart({
    ...{ name: 'worksheets', title: 'Worksheets', version: 1, schema: KeptWorksheet },
    covers: ['createWorksheet', 'importWorksheet', 'updateWorksheet', 'deleteWorksheet'],
    read: () => Object.fromEntries(worksheets.all().map(({ id, owner, input }) => [id, { owner, ...input }])),
    check: (id, given) => {
      if (worksheets.isReady(id)) throw fail('conflict', 'It is the id of a worksheet that came with the appliance.');
      mustMakeSense(given);
    },
    create: (id, { owner, ...input }, by) => worksheets.create(by, input, { id, owner }),
    update: (id, { owner, ...input }, by) => {
      worksheets.handOver(id, owner);
      return worksheets.update(by, id, input);
    },
    remove: (id, by) => worksheets.remove(by, id),
  });
