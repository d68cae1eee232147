// The settings document, plans, and the history of the settings.
import { Count, closed, component, Line, nullable, type Static, Time, Type } from '../../base/schema/schema.ts';
import { WAYS } from '../../http/gate/caller.ts';

/** 200 worksheets are about 4 MiB. */
export const LARGEST_DOCUMENT = 16 * 1024 * 1024;

const PartName = Type.String({ minLength: 1, maxLength: 64 });
const PartNames = Type.Array(PartName, { maxItems: 100, description: 'these parts alone; left out: all' });
const Passphrase = Type.String({ minLength: 1, maxLength: 1024, writeOnly: true });

export const SettingsDocument = component(
  'SettingsDocument',
  {
    format: Type.Enum(['cistern-settings']),
    version: Type.Integer({ minimum: 1, description: 'of the document; each part has its own' }),
    appliance: Type.Optional(
      closed(
        { hostName: Type.String({ maxLength: 253 }), version: Type.String({ maxLength: 64 }) },
        { description: 'where it was exported; nothing follows from it' },
      ),
    ),
    sealed: Type.Optional(
      Type.String({
        maxLength: LARGEST_DOCUMENT,
        description: 'the secrets, as an armored age file that a passphrase opens',
      }),
    ),
    parts: Type.Record(Type.String(), closed({ version: Type.Integer({ minimum: 1 }), value: Type.Unknown() }), {
      description: 'by name; what is not in it stays as it is',
    }),
  },
  'What an administrator can set, or some parts of it. A secret is a text, {"secret": "left out"} or {"secret": "sealed"}.',
);
export type SettingsDocument = Static<typeof SettingsDocument>;

/** What a client sends is looked through by hand, so that each fault is said in words. */
const AnyDocument = Type.Unknown({ description: 'a SettingsDocument' });

export const SettingsQuery = closed({ parts: Type.Optional(PartNames) });
export const SettingsExportInput = component('SettingsExportInput', {
  parts: Type.Optional(PartNames),
  passphrase: Type.String({
    ...{ minLength: 12, maxLength: 1024, writeOnly: true },
    description: 'the secrets are sealed with it: nobody who does not know it can read them',
  }),
});

const given = {
  document: AnyDocument,
  parts: Type.Optional(PartNames),
  passphrase: Type.Optional(Passphrase),
  withoutSecrets: Type.Optional(
    Type.Boolean({ description: 'sealed secrets are taken as left out: for who has lost the passphrase' }),
  ),
};
export const SettingsPlanInput = component('SettingsPlanInput', given);
export type SettingsPlanInput = Static<typeof SettingsPlanInput>;
const Fingerprint = Type.String({ maxLength: 100, description: 'of the plan that was looked at' });
export const SettingsApplyInput = component('SettingsApplyInput', { ...given, fingerprint: Fingerprint });
export const SettingsRestoreInput = component('SettingsRestoreInput', { fingerprint: Fingerprint });

export const SettingsChange = component('SettingsChange', {
  kind: Type.Enum(['added', 'changed', 'removed']),
  path: Type.String({ description: 'JSON pointer: the part, and where in its value' }),
  before: Type.Optional(Type.Unknown({ description: 'a secret is shown as ********' })),
  after: Type.Optional(Type.Unknown()),
});
export type SettingsChange = Static<typeof SettingsChange>;

const At = closed({ path: Type.String(), message: Type.String() });

export const SettingsPlan = component('SettingsPlan', {
  fingerprint: Type.String({
    description: 'of what is now and what would be; it is another one when either changes, or akd is restarted',
  }),
  parts: Type.Array(
    component('SettingsPartPlan', {
      part: PartName,
      title: Type.String(),
      changes: Type.Array(SettingsChange),
      warnings: Type.Array(Type.String(), { description: 'what cannot be undone' }),
    }),
    { description: 'those that change, in the order in which they are applied' },
  ),
  refused: Type.Array(At, { description: 'what cannot be; as long as there is any, nothing is applied' }),
  leftOut: Type.Array(At, { description: 'what cannot be here and is passed over' }),
  missingSecrets: Type.Array(Type.String(), {
    description:
      'JSON pointers of secrets that the document does not have, nor the appliance: to be entered afterwards',
  }),
});
export type SettingsPlan = Static<typeof SettingsPlan>;

export const SettingsApplied = component('SettingsApplied', {
  plan: SettingsPlan,
  history: Type.Array(Type.String(), { description: 'the entries of the history that it made' }),
});

export const CAUSES = ['change', 'apply', 'restore'] as const;
export const SettingsHistoryEntry = component('SettingsHistoryEntry', {
  id: Type.String(),
  time: Time,
  user: Type.String({ description: 'who; appliance: it changed by itself, or while akd was down' }),
  address: Type.String(),
  way: Type.Enum([...WAYS]),
  cause: Type.Enum([...CAUSES], { description: 'apply: as a part of a document' }),
  part: PartName,
  title: Type.String(),
  added: Count,
  changed: Count,
  removed: Count,
});
export type SettingsHistoryEntry = Static<typeof SettingsHistoryEntry>;
export const SettingsHistoryQuery = closed({
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000 })),
  before: Type.Optional(Type.String({ maxLength: 20 })),
  part: Type.Optional(PartName),
});
export const byEntry = closed({ id: Type.String({ pattern: '^[0-9]{1,15}$' }) });
export const SettingsCompareQuery = closed({
  with: Type.Optional(
    Line({
      maxLength: 20,
      description: 'another entry of the same part, or now; left out: what the change made of it',
    }),
  ),
});
export const SettingsComparison = component('SettingsComparison', {
  entry: SettingsHistoryEntry,
  with: nullable(SettingsHistoryEntry),
  changes: Type.Array(SettingsChange, { description: 'from before the entry’s change to what it is compared with' }),
  before: Type.Unknown({ description: 'the part before the change; secrets are shown as ********' }),
  after: Type.Unknown(),
});
export type SettingsComparison = Static<typeof SettingsComparison>;

export const SettingsPartList = closed({
  items: Type.Array(
    component('SettingsPart', { name: PartName, title: Type.String(), version: Type.Integer({ minimum: 1 }) }),
    { description: 'in the order in which they are applied' },
  ),
});
