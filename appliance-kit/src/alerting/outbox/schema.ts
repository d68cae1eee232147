// The daily digest.
import { component, type Static, Type } from '../../base/schema/schema.ts';
import { Severity } from '../catalogue/severity.ts';

export const DigestSettings = component(
  'DigestSettings',
  {
    enabled: Type.Boolean(),
    at: Type.String({ pattern: '^([01][0-9]|2[0-3]):[0-5][0-9]$', description: "HH:MM in the appliance's time zone" }),
    severities: Type.Array(Severity, { minItems: 1, maxItems: 3 }),
  },
  'What is not urgent is told once a day, in one message to each destination',
);
export type DigestSettings = Static<typeof DigestSettings>;
