// The recording rules as a part of the settings document, by their ids: two rules may record the same metric. Each has its place,
// because those of a group are evaluated in order.
import { isDeepStrictEqual } from 'node:util';
import { closed, type Static, Type } from '../../base/schema/schema.ts';
import { manyPart } from '../../domain/settings-part.ts';
import type { RecordingRules } from './recording-rules.ts';
import { RecordingRuleInput } from './schema.ts';

const KeptRule = closed({
  place: Type.Integer({ minimum: 1, maximum: 1_000_000_000, description: 'in the order of evaluation' }),
  ...RecordingRuleInput.properties,
});
type KeptRule = Static<typeof KeptRule>;

export function recordingRulesPart(rules: RecordingRules) {
  const kept = () =>
    Object.fromEntries(rules.placed().map(({ id, place, input }): [string, KeptRule] => [id, { place, ...input }]));
  return manyPart({
    ...{ name: 'recording-rules', title: 'Recording rules', version: 1, schema: KeptRule },
    covers: ['createRecordingRule', 'updateRecordingRule', 'deleteRecordingRule', 'importRecordingRules'],
    read: kept,
    checkAll: (wanted) => {
      const places = new Map<number, string>();
      return Object.entries(wanted).flatMap(([id, { place }]) => {
        const other = places.get(place);
        places.set(place, id);
        return other === undefined ? [] : [{ path: `/${id}/place`, message: `is that of ${other}, too` }];
      });
    },
    create: async (id, { place, ...input }, by) => {
      await rules.create(by, input, id);
      await rules.move(id, place);
    },
    update: async (id, { place, ...input }, by) => {
      const { place: _, ...before } = kept()[id] ?? { place };
      if (!isDeepStrictEqual(before, input)) await rules.update(by, id, input);
      await rules.move(id, place);
    },
    remove: (id, by) => rules.remove(by, id),
  });
}
