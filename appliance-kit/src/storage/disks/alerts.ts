// The alerts that this domain can raise: what the pages, the mails and the traps say of each.
import { alertClass } from '../../alerting/catalogue/alert-class.ts';

export interface AilingDiskArgs {
  readonly device: string;
  readonly words: string;
  /** As a sentence. */
  readonly complaint: string;
}

export const diskAiling = alertClass<AilingDiskArgs>({
  class: 'disk.ailing',
  severity: () => 'warning',
  title: ({ words }) => `Disk ${words} is not well`,
  text: ({ words, complaint }) => `Disk ${words}: ${complaint}`,
  impact: () => 'It works now. When it fails, its data has one copy less.',
  response: () => 'The disk goes on being used.',
  action: () => 'Replace it at the next occasion.',
  page: ({ device }) => `/storage/disks/${encodeURIComponent(device)}`,
  labels: ({ device }) => ({ disk: device }),
  dedupKey: ({ device }) => `disk.ailing/${device}`,
  example: { device: 'scsi-A', words: 'A (bay 3)', complaint: 'It says of itself that it is about to fail.' },
  dedupExample: 'disk.ailing/scsi-A',
  dependsOn: () => [],
  visibleAfterSeconds: 0,
});

export const alertClasses = [diskAiling] as const;
