// The alerts that this domain can raise: what the pages, the mails and the traps say of each.
import { alertClass } from '../../alerting/catalogue/alert-class.ts';
import { sentences } from '../../alerting/catalogue/words.ts';
import { enumerate } from '../../base/words.ts';

export interface FaultArgs {
  readonly faultId: string;
  readonly code: string;
  /** Minor, Major or Critical. */
  readonly faultSeverity: string;
  readonly parts: readonly string[];
  /** Sentences of the system's own. */
  readonly diagnosis: string;
  readonly advice: string;
}

export const hardwareFaulty = alertClass<FaultArgs>({
  class: 'hardware.faulty',
  severity: ({ faultSeverity }) => (faultSeverity === 'Minor' ? 'warning' : 'critical'),
  severities: ['critical', 'warning'],
  title: ({ parts, code }) =>
    `The system reports that ${parts.length === 0 ? 'a part' : enumerate(parts)} is faulty (${code})`,
  text: ({ diagnosis, code }) => `${sentences(diagnosis)} The system's name for it is ${code}.`,
  impact: () => 'What the part does may fail, or has been taken over by others.',
  response: () => 'The system has taken the part out of use where it could do without it.',
  action: ({ advice, faultId }) =>
    `${advice === '' ? 'Replace the part' : sentences(advice).slice(0, -1)}. When it was repaired, report that to the system: fmadm repaired, or fmadm acquit ${faultId}.`,
  page: () => '/maintenance',
  labels: ({ code }) => ({ code }),
  dedupKey: ({ faultId }) => `hardware.faulty/${faultId}`,
  example: {
    faultId: '3a4d3c3e-7a11-4c55-8a08-b6f34d53f1c2',
    code: 'DISK-8000-0X',
    faultSeverity: 'Major',
    parts: ['Slot 05'],
    diagnosis: 'The disk says that it is about to fail.',
    advice: 'Replace it.',
  },
  dedupExample: 'hardware.faulty/3a4d3c3e-7a11-4c55-8a08-b6f34d53f1c2',
  dependsOn: () => [],
  visibleAfterSeconds: 0,
});

export const alertClasses = [hardwareFaulty] as const;
