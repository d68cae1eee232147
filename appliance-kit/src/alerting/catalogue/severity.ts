// How bad an alert is.
import { type Static, Type } from '../../base/schema/schema.ts';

export const Severity = Type.Enum(['critical', 'warning', 'info']);
export type Severity = Static<typeof Severity>;
