// The alerts that this domain can raise: what the pages, the mails and the traps say of each.
import { alertClass } from '../../alerting/catalogue/alert-class.ts';
import { duration } from '../../base/words.ts';

export const linkKeys = (links: readonly string[]) => links.map((link) => `link.down/${link}`);

export interface UnsynchronisedArgs {
  /** As a sentence. */
  readonly why: string;
  /** When no network link is up: those that went down. */
  readonly cut: readonly string[];
}

export const timeUnsynchronised = alertClass<UnsynchronisedArgs>({
  class: 'time.unsynchronised',
  severity: () => 'warning',
  title: () => 'The clock is not synchronised',
  text: ({ why }) => `The clock of the appliance is not synchronised. ${why}`,
  impact: () =>
    'It drifts, by a few seconds a day at worst. Measurements, logs and alerts then carry times that do not fit those of other machines, and one-time passwords and certificates may be refused.',
  response: () => 'The appliance goes on with its own clock, and goes on asking for the time.',
  action: () =>
    'See that it reaches a time server (UDP port 123): one that is named under Maintenance → Time, or that the network names (DHCP option 42). If it is meant to have none, mute this class.',
  page: () => '/maintenance/machine',
  labels: () => ({}),
  dedupKey: () => 'time.unsynchronised/clock',
  example: { why: 'Tracing took 60 % of a processor over the last minute, 50 % is the budget.', cut: ['eno1'] },
  dedupExample: 'time.unsynchronised/clock',
  dependsOn: ({ cut }) => linkKeys(cut),
  // An hour: the quartz of a cheap board is then 0.2 s off at most, and a start or a server's outage is mostly over.
  visibleAfterSeconds: 3600,
});

export interface SteppedArgs {
  /** Above 0: to a later time. */
  readonly seconds: number;
  readonly at: string;
}

export const clockStepped = alertClass<SteppedArgs>({
  class: 'clock.stepped',
  severity: () => 'info',
  title: ({ seconds }) => `The clock was set ${seconds > 0 ? 'forward' : 'back'} by ${duration(Math.abs(seconds))}`,
  text: ({ seconds, at }) =>
    `The clock of the appliance was set ${seconds > 0 ? 'forward' : 'back'} by ${duration(Math.abs(seconds))}, to ${at}.`,
  impact: ({ seconds }) =>
    seconds > 0
      ? 'Charts have a gap that long which is none: no time has passed in it.'
      : 'What was measured in that time is stored twice for the same moments, or refused as too late.',
  response: () => 'Everything goes on by the new time. What waits for some time to pass does not count the step.',
  action: () =>
    'Nothing, if the appliance was just started or its clock was set by hand. Otherwise check its time server, or to the battery of its board; a virtual machine that was halted shows this too.',
  page: () => '/maintenance/machine',
  labels: () => ({}),
  dedupKey: ({ at }) => `clock.stepped/${at}`,
  example: { seconds: 300, at: '2026-01-01T02:00:00.000Z' },
  dedupExample: 'clock.stepped/2026-01-01T02:00:00.000Z',
  dependsOn: () => [],
  visibleAfterSeconds: 0,
  transient: true,
});

export interface LinkArgs {
  readonly link: string;
  /** The system does not find it any more. */
  readonly gone: boolean;
  /** The bond that it belongs to. */
  readonly member: string | null;
}

export const linkDown = alertClass<LinkArgs>({
  class: 'link.down',
  severity: () => 'warning',
  title: ({ link, gone }) => `The network link ${link} is ${gone ? 'gone' : 'down'}`,
  text: ({ link, gone, member }) =>
    `The network link ${link} ${gone ? 'is not there any more' : 'has lost its carrier'}${member === null ? '' : `; it belongs to ${member}`}.`,
  impact: ({ member }) =>
    member === null
      ? 'Whoever reaches the appliance over it does not: metrics that are sent over it are lost, and alerts may not be delivered.'
      : 'What is bonded goes on with the other ports; it is slower, and has one spare less.',
  response: () =>
    'The appliance goes on with its other links. What waits to be delivered is delivered when it is back.',
  action: ({ gone }) =>
    gone
      ? 'Look whether the network adapter is still in its place. If it was taken out for good, have the appliance forget it.'
      : 'Check the cable, and the port of the switch at its other end. If nothing is to be there, have the appliance forget it.',
  page: () => '/maintenance/machine',
  labels: ({ link }) => ({ link }),
  dedupKey: ({ link }) => `link.down/${link}`,
  example: { link: 'eno1', gone: false, member: null },
  dedupExample: 'link.down/eno1',
  dependsOn: ({ member }) => (member === null ? [] : linkKeys([member])),
  // A switch that is restarted, or a port that finds its speed.
  visibleAfterSeconds: 10,
});

export interface HotArgs {
  readonly sensor: string;
  /** As people find it. */
  readonly where: string;
  /** °C, as the limit that it is beyond. */
  readonly celsius: number;
  readonly highest: number;
  readonly level: 'warning' | 'critical';
  /** The disk whose temperature it is. */
  readonly disk: string | null;
}

const degrees = (celsius: number) => `${Math.round(celsius)} °C`;

export const temperatureHigh = alertClass<HotArgs>({
  class: 'temperature.high',
  severity: ({ level }) => level,
  severities: ['critical', 'warning'],
  title: ({ where, celsius }) => `${where} is ${degrees(celsius)} hot`,
  text: ({ where, celsius, highest, level }) =>
    `${where} is ${degrees(celsius)} hot; it is ${level === 'critical' ? 'critical' : 'too hot'} from ${degrees(highest)} on.`,
  impact: ({ level, disk }) =>
    level === 'critical'
      ? 'The hardware slows itself down, may switch itself off at any moment, and may be damaged.'
      : disk === null
        ? 'The hardware ages faster and may slow itself down.'
        : 'The disk ages faster, and may fail or slow itself down.',
  response: () => 'The appliance goes on working. This clears when it is some degrees cooler.',
  action: () =>
    'Check fans, filters and the temperature of the room, and whether something stands before the air inlet.',
  page: ({ disk }) => (disk === null ? '/maintenance/machine' : `/storage/disks/${encodeURIComponent(disk)}`),
  labels: ({ sensor }) => ({ sensor }),
  dedupKey: ({ sensor, level }) => `temperature.high/${sensor}/${level}`,
  example: {
    sensor: 'coretemp/temp1',
    where: 'Package (coretemp)',
    celsius: 91,
    highest: 84,
    level: 'warning',
    disk: null,
  },
  dedupExample: 'temperature.high/coretemp/temp1/warning',
  dependsOn: () => [],
  // A processor that is busy for a moment is hot for a moment.
  visibleAfterSeconds: 60,
});

export const alertClasses = [timeUnsynchronised, clockStepped, linkDown, temperatureHigh] as const;
