// The daily digest.
import { component, Etag, type Static, Type } from '../../base/schema/schema.ts';
import { Severity } from '../catalogue/severity.ts';

const fields = {
  enabled: Type.Boolean(),
  at: Type.String({ pattern: '^([01][0-9]|2[0-3]):[0-5][0-9]$', description: "HH:MM in the appliance's time zone" }),
  severities: Type.Array(Severity, { minItems: 1, maxItems: 3 }),
};
export const DigestInput = component('DigestInput', fields);
export type DigestInput = Static<typeof DigestInput>;
export const DigestSettings = component(
  'DigestSettings',
  { ...fields, etag: Etag },
  'What is not urgent is sent once a day, in one message to each destination',
);
