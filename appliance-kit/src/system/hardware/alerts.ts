// The alerts that this domain can raise: what the pages, the mails and the traps say of each.
import { alertClass } from '../../alerting/catalogue/alert-class.ts';
import { enumerate, plural } from '../../base/words.ts';

const page = () => '/maintenance/hardware';

export interface SensorArgs {
  readonly sensor: string;
  readonly level: 'warning' | 'critical';
  /** What it reports, as a sentence. */
  readonly words: string;
}

const sensorExample = (sensor: string, words: string): SensorArgs => ({ sensor, level: 'critical', words });
const ofSensor = {
  severity: ({ level }: SensorArgs) => level,
  severities: ['critical', 'warning'] as const,
  text: ({ words }: SensorArgs) => words,
  response: () => 'The appliance goes on working. This clears when the sensor reports that all is well.',
  page,
  labels: ({ sensor }: SensorArgs) => ({ sensor }),
  dependsOn: () => [],
  // Controllers report a value once in a while that the next reading takes back.
  visibleAfterSeconds: 60,
};

export const powerSupplyFailed = alertClass<SensorArgs>({
  ...ofSensor,
  class: 'psu.failed',
  title: ({ sensor, level }) => `The power supply ${sensor} ${level === 'critical' ? 'has failed' : 'needs attention'}`,
  impact: () => 'With a second power supply the machine goes on without a spare; without one it stops.',
  action: () =>
    'Look whether its cable is in and has power. Otherwise replace the power supply; most can be replaced while the machine runs.',
  dedupKey: ({ sensor }) => `psu.failed/${sensor}`,
  example: sensorExample('PS2 Status', 'PS2 Status: Power Supply AC lost.'),
  dedupExample: 'psu.failed/PS2 Status',
});

export const fanFailed = alertClass<SensorArgs>({
  ...ofSensor,
  class: 'fan.failed',
  title: ({ sensor, level }) => `The fan ${sensor} ${level === 'critical' ? 'has failed' : 'is out of its range'}`,
  impact: () =>
    'The others turn faster and louder; what it cooled gets warmer, and may slow itself down or switch itself off.',
  action: () => 'Look whether something blocks it, then replace it.',
  dedupKey: ({ sensor }) => `fan.failed/${sensor}`,
  example: sensorExample('FAN3', 'FAN3 reads 0 rpm: Lower Critical; it is well from 500 rpm on.'),
  dedupExample: 'fan.failed/FAN3',
});

export const hardwareSensor = alertClass<SensorArgs>({
  ...ofSensor,
  class: 'hardware.sensor',
  title: ({ sensor, level }) => `${sensor} is ${level === 'critical' ? 'critical' : 'not as it should be'}`,
  impact: () => 'What the part does may fail.',
  action: () =>
    'Look at the part. Of the machine’s own, the management controller’s web page and its event log say more; the manual of the machine, or of the enclosure, says what the sensor is.',
  dedupKey: ({ sensor }) => `hardware.sensor/${sensor}`,
  example: sensorExample('12V', '12V reads 10.9 V: Lower Critical; it is well from 11.2 V to 12.9 V.'),
  dedupExample: 'hardware.sensor/12V',
});

export interface ErrorsArgs {
  readonly part: string;
  readonly title: string;
  readonly corrected: number;
  readonly uncorrected: number;
  readonly detail: string;
}

const counted = ({ corrected, uncorrected }: ErrorsArgs) =>
  enumerate([
    ...(uncorrected > 0 ? [`${plural(uncorrected, 'error')} that could not be corrected`] : []),
    ...(corrected > 0 ? [plural(corrected, 'corrected error')] : []),
  ]);
const ofErrors = {
  severity: ({ uncorrected }: ErrorsArgs) => (uncorrected > 0 ? ('critical' as const) : ('warning' as const)),
  severities: ['critical', 'warning'] as const,
  text: (args: ErrorsArgs) =>
    `${args.title} has reported ${counted(args)}${args.detail === '' ? '' : `. The last: ${args.detail}`}.`,
  response: () =>
    'The appliance goes on working. This clears when the errors are cleared on the page, or with a restart of the machine.',
  page,
  labels: ({ part }: ErrorsArgs) => ({ part }),
  dependsOn: () => [],
  visibleAfterSeconds: 0,
};

export const memoryErrors = alertClass<ErrorsArgs>({
  ...ofErrors,
  class: 'memory.errors',
  title: ({ title, uncorrected }) =>
    uncorrected > 0
      ? `Memory has errors that cannot be corrected: ${title}`
      : `Memory has many corrected errors: ${title}`,
  impact: ({ uncorrected }) =>
    uncorrected > 0
      ? 'Data in it were lost: a process may have ended, or the machine may stop at any moment.'
      : 'Nothing was lost: each was corrected. Memory with many of them often has ones that cannot be corrected soon.',
  action: () =>
    'Replace the module. If errors follow it to another slot, it is the module; if not, the slot or the processor.',
  dedupKey: ({ part }) => `memory.errors/${part}`,
  example: { part: 'mc0/dimm3', title: 'CPU1_DIMM_B1', corrected: 214, uncorrected: 0, detail: '' },
  dedupExample: 'memory.errors/mc0/dimm3',
});

export const processorErrors = alertClass<ErrorsArgs>({
  ...ofErrors,
  class: 'processor.errors',
  title: ({ title, uncorrected }) =>
    `${title} reports ${uncorrected > 0 ? 'errors that cannot be corrected' : 'corrected errors'} (machine checks)`,
  impact: ({ uncorrected }) =>
    uncorrected > 0
      ? 'The processor, its caches or memory have lost data: the machine may stop at any moment.'
      : 'Nothing was lost: each was corrected.',
  action: () =>
    'See that it is cooled and its firmware is up to date. If errors go on, have the part that is named replaced: a processor, a board, or memory.',
  dedupKey: ({ part }) => `processor.errors/${part}`,
  example: {
    part: 'cpu0/bank5',
    title: 'Processor 0, bank 5',
    corrected: 12,
    uncorrected: 0,
    detail: 'Corrected error',
  },
  dedupExample: 'processor.errors/cpu0/bank5',
});

export const pcieErrors = alertClass<ErrorsArgs>({
  ...ofErrors,
  class: 'pcie.errors',
  title: ({ title, uncorrected }) => `${title} has ${uncorrected > 0 ? 'bus errors' : 'many corrected bus errors'}`,
  impact: ({ uncorrected }) =>
    uncorrected > 0
      ? 'What was being transferred was lost or sent again; the device may drop out.'
      : 'Nothing was lost: each was corrected by sending again, which costs time.',
  action: () =>
    'Put the card in again, or into another slot; check its cable or riser. If errors go on, replace the card.',
  dedupKey: ({ part }) => `pcie.errors/${part}`,
  example: {
    ...{ part: '0000:01:00.0', title: 'Intel Ethernet Controller X710 (0000:01:00.0)' },
    ...{ corrected: 0, uncorrected: 2, detail: 'CmpltTO' },
  },
  dedupExample: 'pcie.errors/0000:01:00.0',
});

export const linkErrors = alertClass<ErrorsArgs>({
  ...ofErrors,
  class: 'link.errors',
  severity: () => 'warning',
  severities: ['warning'],
  title: ({ title }) => `${title} loses packets`,
  text: ({ title, uncorrected, detail }) =>
    `${title} has lost ${plural(uncorrected, 'packet')}${detail === '' ? '' : `: ${detail}`}.`,
  impact: () =>
    'Connections over it are slower, as what was lost is sent again; metrics that are sent by UDP are lost.',
  action: () => 'Check the cable and its plugs first, then the port of the switch, then the card.',
  dedupKey: ({ part }) => `link.errors/${part}`,
  example: {
    part: 'eno1',
    title: 'The network link eno1',
    corrected: 0,
    uncorrected: 412,
    detail: '1 of 5,000 packets',
  },
  dedupExample: 'link.errors/eno1',
});

export interface SilentArgs {
  readonly why: string;
}

export const controllerSilent = alertClass<SilentArgs>({
  class: 'controller.silent',
  severity: () => 'warning',
  title: () => 'The management controller does not answer',
  text: ({ why }) => why,
  impact: () => 'Fans, power supplies and the other sensors are not watched. What is measured otherwise goes on.',
  response: () => 'The appliance asks it again, at longer intervals.',
  action: () =>
    'Open the controller’s own web page and restart it there; that does not touch the machine. If it does not answer there either, take the machine off power for a minute when that is possible.',
  page,
  labels: () => ({}),
  dedupKey: () => 'controller.silent/controller',
  example: { why: 'The management controller (BMC) did not answer within 90 seconds.' },
  dedupExample: 'controller.silent/controller',
  dependsOn: () => [],
  // Its own update takes some minutes.
  visibleAfterSeconds: 900,
});

export interface EnclosureArgs {
  readonly id: string;
  readonly title: string;
  readonly why: string;
}

export const enclosureSilent = alertClass<EnclosureArgs>({
  class: 'enclosure.silent',
  severity: () => 'warning',
  title: ({ id, title }) => `The enclosure ${title} (${id}) does not answer`,
  text: ({ id, title, why }) => `The enclosure ${title} (${id}) was asked for its sensors. ${why}`,
  impact: () => 'Its fans, power supplies and temperatures are not watched. Its disks may go on all the same.',
  response: () => 'The appliance asks it again; what it said last stands until then.',
  action: () =>
    'Look at its lights and its cables. If its disks are well, its services processor hangs: restart that, or the enclosure, at the next opportunity.',
  page,
  labels: ({ id }) => ({ enclosure: id }),
  dedupKey: ({ id }) => `enclosure.silent/${id}`,
  example: { id: '6:0:8:0', title: 'EXAMPLE SHELF24-12G', why: 'It did not answer within 20 seconds.' },
  dedupExample: 'enclosure.silent/6:0:8:0',
  dependsOn: () => [],
  // It restarts its processor for an update of its own.
  visibleAfterSeconds: 300,
});

export interface EventsArgs {
  /** The newest number of the log. */
  readonly number: number;
  readonly level: 'warning' | 'critical';
  readonly events: readonly string[];
  /** Beyond those. */
  readonly more: number;
}

export const controllerEvent = alertClass<EventsArgs>({
  class: 'controller.event',
  severity: ({ level }) => level,
  severities: ['critical', 'warning'],
  title: ({ events, more }) =>
    `The management controller has logged: ${events[0] ?? ''}${events.length + more > 1 ? `, and ${plural(events.length + more - 1, 'more event')}` : ''}`,
  text: ({ events, more }) =>
    `The management controller has logged: ${events.join('; ')}${more > 0 ? `; and ${plural(more, 'more event')}` : ''}.`,
  impact: () => 'A part of the machine had a fault then. Whether it still has one is said by an alert of its sensor.',
  response: () => 'Nothing.',
  action: () => 'Read the log on the page, and look at the part.',
  page,
  labels: () => ({}),
  dedupKey: ({ number }) => `controller.event/${number}`,
  example: { number: 214, level: 'critical', events: ['Memory #0x53: Uncorrectable ECC'], more: 0 },
  dedupExample: 'controller.event/214',
  dependsOn: () => [],
  visibleAfterSeconds: 0,
  transient: true,
});

export interface ChangedArgs {
  readonly at: string;
  readonly missing: boolean;
  readonly changes: readonly string[];
}

export const hardwareChanged = alertClass<ChangedArgs>({
  class: 'hardware.changed',
  severity: ({ missing }) => (missing ? 'warning' : 'info'),
  severities: ['warning', 'info'],
  title: ({ changes }) =>
    changes.length === 1
      ? (changes[0] as string).replace(/\.$/, '')
      : `The hardware has changed in ${changes.length} places`,
  text: ({ changes }) => changes.join(' '),
  impact: ({ missing }) =>
    missing ? 'A part is missing: it has failed, or was taken out.' : 'Nothing, if the change was meant.',
  response: () => 'The appliance goes on with what is there.',
  action: ({ missing }) =>
    missing ? 'If the part was not taken out, put it in again or replace it.' : 'Nothing, if the change was meant.',
  page,
  labels: () => ({}),
  dedupKey: ({ at }) => `hardware.changed/${at}`,
  example: {
    at: '2026-01-01T02:00:00.000Z',
    missing: true,
    changes: ['The memory module in DIMM_B1 (16 GiB) is missing.'],
  },
  dedupExample: 'hardware.changed/2026-01-01T02:00:00.000Z',
  dependsOn: () => [],
  visibleAfterSeconds: 0,
  transient: true,
});

export const alertClasses = [
  powerSupplyFailed,
  fanFailed,
  hardwareSensor,
  memoryErrors,
  processorErrors,
  pcieErrors,
  linkErrors,
  controllerSilent,
  enclosureSilent,
  controllerEvent,
  hardwareChanged,
] as const;
