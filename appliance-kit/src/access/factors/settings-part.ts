// From when on administrators need a second factor, as a part of the settings document.
import { fail } from '../../base/problems/problem.ts';
import { onePart } from '../../domain/settings-part.ts';
import type { Caller } from '../../http/gate/caller.ts';
import type { Changes } from '../../http/live-updates/changes.ts';
import type { Audit } from '../audit/index.ts';
import type { Factors } from './factors.ts';
import { policyOf } from './policy.ts';
import { SecondFactorPolicy } from './schema.ts';

/** Throws when whoever demands it would be kept out by it. */
export function mayDemand(policy: SecondFactorPolicy, caller: Caller, factors: Factors): void {
  if (policyOf(policy).requiredFrom === null || (caller.session !== undefined && factors.has(caller.name))) return;
  throw fail(
    'conflict',
    'Only an administrator who has signed in and has a second factor can demand one of all administrators.',
    'Add one in your profile first.',
  );
}

export const secondFactorPart = (factors: Factors, audit: Audit, changes: Changes) =>
  onePart({
    ...{ name: 'second-factor-policy', title: 'Second factor of administrators', version: 1 },
    schema: SecondFactorPolicy,
    covers: ['setSecondFactorPolicy'],
    normalise: policyOf,
    read: () => factors.policy(),
    check: (given, by) => mayDemand(given, by, factors),
    set: (given, by) => {
      factors.changePolicy(given, by, audit);
      changes.publish('users');
    },
  });
