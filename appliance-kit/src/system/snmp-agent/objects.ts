// What CISTERN-MIB has for polling (mib/CISTERN-MIB.txt says the same; a test compares the two), and how one value of it is
// written for snmpd's pass_persist program. The numbers stay from the first release on: a new object goes to the end.
import { ENTERPRISE } from '../../alerting/destinations/index.ts';
import { oneLine } from '../../base/words.ts';

/** `time` is milliseconds since the epoch, `ticks` seconds. */
export type Kind = 'text' | 'enum' | 'gauge' | 'counter64' | 'time' | 'ticks' | 'truth';
type Columns = Readonly<Record<string, Kind>>;

const size = (name: string): Columns => ({ [`${name}MiB`]: 'gauge', [name]: 'counter64' });

/** The group's number below cisternObjects, and its scalars in order from 1. */
export const scalars = {
  System: {
    group: 2,
    objects: { LastUpdate: 'time', Version: 'text', UpTime: 'ticks', Condition: 'enum', Sentence: 'text' },
  },
  Pools: { group: 3, objects: { LastUpdate: 'time' } },
  Disks: { group: 4, objects: { LastUpdate: 'time' } },
  Datasets: { group: 5, objects: { LastUpdate: 'time' } },
  Services: { group: 6, objects: { LastUpdate: 'time' } },
  Alerts: { group: 7, objects: { LastUpdate: 'time', Critical: 'gauge', Warning: 'gauge', Info: 'gauge' } },
  Ingest: { group: 8, objects: { LastUpdate: 'time', StartedAt: 'time', SamplesPerSecond: 'gauge', Series: 'gauge' } },
} as const satisfies Record<string, { group: number; objects: Columns }>;

/** The table's number within its group, and its columns in order from 2; the index is the first. */
export const tables = {
  Pool: {
    ...{ group: 3, table: 2 },
    columns: {
      ...{ Name: 'text', State: 'enum', ...size('Size'), ...size('Allocated'), ...size('Free'), Capacity: 'gauge' },
      ...{ Errors: 'gauge', Scan: 'enum', ScanPercent: 'gauge', Sentence: 'text' },
    },
  },
  Disk: {
    ...{ group: 4, table: 2 },
    columns: {
      ...{ Name: 'text', Model: 'text', Serial: 'text', State: 'enum', ...size('Size'), PoolName: 'text' },
      ...{ ReadErrors: 'gauge', WriteErrors: 'gauge', ChecksumErrors: 'gauge' },
    },
  },
  Dataset: {
    ...{ group: 5, table: 2 },
    columns: {
      ...{ Name: 'text', Kind: 'enum', ...size('Used'), ...size('Available'), ...size('Referenced') },
      CompressRatio: 'gauge',
    },
  },
  Service: {
    ...{ group: 6, table: 2 },
    columns: { Name: 'text', State: 'enum', MemoryMiB: 'gauge', Restarts: 'gauge' },
  },
  ActiveAlert: {
    ...{ group: 7, table: 5 },
    columns: {
      ...{ Id: 'text', Class: 'text', Severity: 'enum', Title: 'text', Text: 'text', Value: 'text', Limit: 'text' },
      ...{ Raised: 'time', Acknowledged: 'truth' },
    },
  },
  Input: { group: 8, table: 5, columns: { Name: 'text', Accepted: 'counter64' } },
  Refusal: { group: 8, table: 6, columns: { Reason: 'text', Samples: 'counter64' } },
} as const satisfies Record<string, { group: number; table: number; columns: Columns }>;

export type Group = keyof typeof scalars;
export type Table = keyof typeof tables;
/** Enumerations are their numbers. What is left out or null is not answered. */
export type Values = Readonly<Record<string, string | number | boolean | null | undefined>>;

const OBJECTS = `${ENTERPRISE}.1`;

/** Every object's name in the MIB, with its OID and kind: of columns without the index. */
export function objects(): { name: string; oid: string; kind: Kind }[] {
  const entries = (of: Columns, prefix: string, oid: string, from: number) =>
    Object.entries(of).map(([name, kind], at) => ({ name: prefix + name, oid: `${oid}.${from + at}`, kind }));
  return [
    ...Object.entries(scalars).flatMap(([name, { group, objects: of }]) =>
      entries(of, `cistern${name}`, `${OBJECTS}.${group}`, 1),
    ),
    ...Object.entries(tables).flatMap(([name, { group, table, columns }]) =>
      entries(columns, `cistern${name}`, `${OBJECTS}.${group}.${table}.1`, 2),
    ),
  ];
}

const MAX_GAUGE = 2 ** 32 - 1;
/** SnmpAdminString (RFC 3411) holds this many octets. */
const MAX_OCTETS = 255;

function text(value: string): string {
  let flat = oneLine(value, MAX_OCTETS);
  while (Buffer.byteLength(flat) > MAX_OCTETS) flat = [...flat].slice(0, -1).join('');
  return flat;
}

/** DateAndTime (RFC 2579), in UTC, as net-snmp reads octets. */
export function dateAndTime(milliseconds: number): string {
  const at = new Date(milliseconds);
  const year = at.getUTCFullYear();
  const octets = [
    ...[year >> 8, year & 255, at.getUTCMonth() + 1, at.getUTCDate(), at.getUTCHours(), at.getUTCMinutes()],
    ...[at.getUTCSeconds(), Math.floor(at.getUTCMilliseconds() / 100), '+'.charCodeAt(0), 0, 0],
  ];
  return octets.map((octet) => octet.toString(16).padStart(2, '0').toUpperCase()).join(' ');
}

function written(kind: Kind, value: string | number | boolean): string {
  const whole = (most: number) => Math.max(0, Math.min(most, Math.floor(Number(value))));
  switch (kind) {
    case 'text':
      return `string ${text(String(value))}`;
    case 'enum':
      return `integer ${Number(value)}`;
    case 'truth':
      return `integer ${value ? 1 : 2}`;
    case 'gauge':
      return `gauge ${whole(MAX_GAUGE)}`;
    case 'counter64':
      return `counter64 ${whole(Number.MAX_SAFE_INTEGER)}`;
    case 'time':
      return `octet ${dateAndTime(Number(value))}`;
    case 'ticks':
      // Hundredths of a second; it begins anew after 497 days (RFC 2578, 7.1.8).
      return `timeticks ${Math.floor(Number(value) * 100) % 2 ** 32}`;
  }
}

function lines(of: Columns, values: Values, oid: (at: number) => string): string[] {
  return Object.entries(of).flatMap(([name, kind], at) => {
    const value = values[name];
    if (value === null || value === undefined || (typeof value === 'number' && !Number.isFinite(value))) return [];
    return [`.${oid(at)} ${written(kind, value)}`];
  });
}

/** The lines of a group's scalars. */
export function scalarLines(name: Group, values: Values): string[] {
  const { group, objects: of } = scalars[name];
  return lines(of, values, (at) => `${OBJECTS}.${group}.${at + 1}.0`);
}

/** The lines of one row. */
export function rowLines(name: Table, index: number, values: Values): string[] {
  const { group, table, columns } = tables[name];
  return lines(columns, values, (at) => `${OBJECTS}.${group}.${table}.1.${at + 2}.${index}`);
}

export const mebibytes = (bytes: number): number => Math.floor(bytes / 2 ** 20);
