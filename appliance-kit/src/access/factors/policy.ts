// From when on administrators need a second factor: what is kept of it.
import { iso } from '../../base/clock.ts';
import { fail } from '../../base/problems/problem.ts';
import type { SecondFactorPolicy } from './schema.ts';

/** As it is kept; throws when it is no time. */
export function policyOf({ requiredFrom }: SecondFactorPolicy): SecondFactorPolicy {
  if (requiredFrom === null) return { requiredFrom };
  const at = Date.parse(requiredFrom);
  if (/^\d{4}-\d\d-\d\dT/.test(requiredFrom) && !Number.isNaN(at)) return { requiredFrom: iso(at) };
  const message = 'must be a time, as 2027-01-31T00:00:00Z';
  throw fail('invalid_request', `The date ${message}.`, undefined, [{ path: '/requiredFrom', message }]);
}
