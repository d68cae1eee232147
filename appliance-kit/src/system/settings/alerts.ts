// The alerts that this domain can raise: what the pages, the mails and the traps say of each.
import { alertClass } from '../../alerting/catalogue/alert-class.ts';
import { iso } from '../../base/clock.ts';
import { enumerate } from '../../base/words.ts';

export interface TakenBackArgs {
  readonly user: string;
  readonly at: number;
  readonly parts: readonly string[];
}

export const settingsTakenBack = alertClass<TakenBackArgs>({
  class: 'settings.reverted',
  severity: () => 'warning',
  title: () => 'Applying settings was interrupted, and taken back',
  text: ({ user, at, parts }) =>
    `${user} began at ${iso(at)} to apply settings (${enumerate(parts)}). The appliance, or its management service, ended before all were applied.`,
  impact: () => 'None: all settings are as they were before.',
  response: () => 'What had been applied was put back, and read back.',
  action: () => 'Apply the document again.',
  page: () => '/settings/history',
  labels: ({ user }) => ({ user }),
  dedupKey: ({ at }) => `settings.reverted/${at}`,
  example: { user: 'ada', at: 1_767_225_600_000, parts: ['destinations', 'thresholds'] },
  dedupExample: 'settings.reverted/1767225600000',
  dependsOn: () => [],
  visibleAfterSeconds: 0,
  transient: true,
});

export interface IncompleteArgs {
  readonly since: number;
  readonly why: string;
}

export const settingsIncomplete = alertClass<IncompleteArgs>({
  class: 'settings.incomplete',
  severity: () => 'critical',
  title: () => 'Settings are applied in part',
  text: ({ since, why }) =>
    `Applying settings began at ${iso(since)} and did not end. What had been applied could not be put back: ${why}`,
  impact: () => 'Some settings are new and some old. They cannot be changed until this has ended.',
  response: () => 'It is tried again every few seconds.',
  action: () => 'See to what is named; mostly it is a service that does not run.',
  page: () => '/system/services',
  labels: () => ({}),
  dedupKey: () => 'settings.incomplete/now',
  example: {
    since: 1_767_225_600_000,
    why: 'The part inputs of the settings could not be applied: storaged does not answer.',
  },
  dedupExample: 'settings.incomplete/now',
  dependsOn: () => [],
  visibleAfterSeconds: 0,
});

export const alertClasses = [settingsTakenBack, settingsIncomplete] as const;
