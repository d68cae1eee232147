// A small stand-in for tracerd on a Unix socket: what docs/api/tracerd.md promises of it, with
// made-up measurements. Unit tests ask it; the browser tests' stack has it write series into a real storaged.
import { rmSync } from 'node:fs';
import http from 'node:http';
import type { Breakdown, Statistic, StatisticDataset } from '../src/peers/statistics.ts';

export interface Sample {
  readonly name: string;
  readonly labels: Record<string, string>;
  readonly time: number;
  readonly value?: number;
  readonly histogram?: { readonly bins: Record<string, number> };
}

export interface StandInOptions {
  readonly socket: string;
  /** Where its samples go; nothing is made up without it. */
  readonly write?: (samples: Sample[]) => Promise<void>;
  /** How much past a dataset has when it begins, in seconds. */
  readonly historySeconds?: number;
  /** Seconds of that past, counted from now backwards, in which nothing was measured. */
  readonly gap?: { readonly from: number; readonly to: number };
  /** How long a dataset is `starting`. */
  readonly startMs?: number;
}

const values = (name: string, title: string, known: string[], filterable = true): Breakdown => ({
  name,
  title,
  kind: 'value',
  unit: 'text',
  filterable,
  values: known,
});
const distribution = (name: string, title: string, unit: string): Breakdown => ({
  name,
  title,
  kind: 'distribution',
  unit,
  filterable: false,
  values: [],
});

const DISKS = ['sda', 'sdb', 'sdc', 'sdd'];
const PROCESSES = ['storaged', 'dd', 'txg_sync', 'akd', 'nginx "worker"'];
const statistic = (
  name: string,
  title: string,
  unit: string,
  more: Partial<Statistic> & Pick<Statistic, 'breakdowns'>,
): Statistic => ({
  name,
  title,
  unit,
  kind: 'amount',
  group: (name.split('.', 1)[0] as string).toUpperCase(),
  explanation: {
    check: `When ${title.toLowerCase()} may be what is slow.`,
    read: 'More is busier; what matters is who, and how long each one took.',
    next: name === 'io.ops' ? ['disk.bytes', 'cpu.utilization'] : ['io.ops'],
  },
  source: 'counter',
  cost: 'none',
  alwaysOn: true,
  available: true,
  reason: null,
  ...more,
});

export const catalogue: readonly Statistic[] = [
  statistic('cpu.utilization', 'CPU utilization', 'percent', {
    kind: 'level',
    breakdowns: [values('mode', 'by mode', ['user', 'system', 'iowait']), values('cpu', 'by CPU', ['0', '1'])],
  }),
  statistic('cpu.profile', 'CPU profile', 'count', {
    source: 'dtrace',
    cost: 'medium',
    alwaysOn: false,
    breakdowns: [{ ...values('process', 'by process', []), kind: 'filter' }],
  }),
  statistic('memory.bytes', 'Memory', 'bytes', {
    kind: 'level',
    breakdowns: [values('component', 'by component', ['processes', 'kernel', 'arc', 'free'])],
  }),
  statistic('io.ops', 'Disk operations', 'operations', {
    source: 'dtrace',
    cost: 'low',
    alwaysOn: false,
    breakdowns: [
      values('type', 'by type', ['read', 'write']),
      values('disk', 'by disk', DISKS),
      values('process', 'by process', []),
      distribution('latency', 'by latency', 'seconds'),
      distribution('size', 'by size', 'bytes'),
    ],
  }),
  statistic('disk.bytes', 'Disk bytes', 'bytes', {
    breakdowns: [values('disk', 'by disk', DISKS), values('type', 'by type', ['read', 'write'])],
  }),
  statistic('vdev.ops', 'ZFS I/O by vdev', 'operations', {
    breakdowns: [values('vdev', 'by vdev', DISKS), distribution('latency', 'by latency', 'seconds')],
  }),
  statistic('disk.utilization', 'Disk utilization', 'percent', {
    kind: 'level',
    breakdowns: [values('disk', 'by disk', DISKS), distribution('utilization', 'by utilization', 'percent')],
  }),
  statistic('net.bytes', 'Network bytes', 'bytes', {
    breakdowns: [values('direction', 'by direction', ['in', 'out']), values('device', 'by device', ['eth0', 'eth1'])],
  }),
  statistic('http.requests', 'HTTP requests', 'operations', {
    source: 'log',
    breakdowns: [
      values('client', 'by client', []),
      values('status', 'by status', ['200', '304', '404']),
      distribution('latency', 'by latency', 'seconds'),
    ],
  }),
  statistic('zfs.zil', 'ZIL commits', 'operations', {
    source: 'dtrace',
    cost: 'high',
    alwaysOn: false,
    available: false,
    reason: 'DTrace is not there: the module does not fit this kernel.',
    breakdowns: [],
  }),
];

const SHOWN: Record<string, readonly string[]> = { process: PROCESSES, client: ['10.0.0.7', '10.0.0.9', 'fe80::1'] };

class Refused extends Error {
  readonly status: number;
  readonly code: string;
  constructor(status: number, code: string, detail: string) {
    super(detail);
    this.status = status;
    this.code = code;
  }
}

interface Parsed {
  readonly statistic: Statistic;
  readonly filters: [string, string][];
  readonly breakdown: Breakdown | null;
  readonly name: string;
}

function unquoted(text: string): string {
  return text.replace(/\\(?:x([0-9a-fA-F]{2})|(.))/g, (_, hex: string | undefined, letter: string) =>
    hex !== undefined
      ? String.fromCharCode(Number.parseInt(hex, 16))
      : (({ n: '\n', r: '\r', t: '\t' } as Record<string, string>)[letter] ?? letter),
  );
}

export function parse(text: string): Parsed {
  const head = /^[a-z0-9_.]+/.exec(text)?.[0];
  if (head === undefined) throw new Refused(400, 'bad_statistic', `column 1: a statistic's name is wanted: ${text}`);
  const found = catalogue.find(({ name }) => name === head);
  if (found === undefined) {
    const known = catalogue.map(({ name }) => name).join(', ');
    throw new Refused(404, 'unknown_statistic', `There is no statistic ${head}; there are ${known}.`);
  }
  const filters: [string, string][] = [];
  let breakdown: Breakdown | null = null;
  let at = head.length;
  while (at < text.length) {
    const part = /^\[([a-z0-9_]+)(?:=("(?:[^"\\]|\\.)*"|[^\]"]*))?\]/.exec(text.slice(at));
    if (part === null || breakdown !== null)
      throw new Refused(400, 'bad_statistic', `column ${at + 1}: not understood`);
    const [whole, name = '', value] = part;
    const known = found.breakdowns.find((one) => one.name === name);
    if (known === undefined || (value !== undefined && !known.filterable)) {
      const what = value === undefined ? 'breakdown' : 'filter';
      const there = found.breakdowns.map((one) => one.name).join(', ');
      throw new Refused(400, `unknown_${what}`, `${head} has no ${what} ${name}; there are ${there}.`);
    }
    if (value === undefined) breakdown = known;
    else filters.push([name, value.startsWith('"') ? unquoted(value.slice(1, -1)) : value]);
    at += whole.length;
  }
  filters.sort((a, b) => (a[0] < b[0] ? -1 : 1));
  const quoted = (value: string) =>
    /[\]"\\]|\p{Cc}/u.test(value)
      ? `"${value.replace(/[\\"]/g, '\\$&').replaceAll('\n', '\\n').replaceAll('\t', '\\t')}"`
      : value;
  const name = `${head}${filters.map(([key, value]) => `[${key}=${quoted(value)}]`).join('')}${breakdown ? `[${breakdown.name}]` : ''}`;
  return { statistic: found, filters, breakdown, name };
}

interface Kept extends Parsed {
  readonly begun: number;
  readonly startsAt: number;
  recorded: boolean;
  suspended: boolean;
  overBudget: boolean;
  watchedUntil: number;
  written: number;
  samples: number;
}

/** As PromQL writes a text. */
const promql = (text: string) => `"${text.replace(/[\\"]/g, '\\$&').replaceAll('\n', '\\n')}"`;

export class StandIn {
  readonly #options: StandInOptions;
  readonly #kept = new Map<string, Kept>();
  readonly asked: string[] = [];
  /** How long a dataset that is begun from now on is `starting`. */
  startMs = 0;
  #server: http.Server | null = null;
  #timer: NodeJS.Timeout | null = null;
  #busy = false;

  constructor(options: StandInOptions) {
    this.#options = options;
    this.startMs = options.startMs ?? 0;
  }

  async start(): Promise<void> {
    if (this.#server !== null) return;
    rmSync(this.#options.socket, { force: true });
    const server = http.createServer((request, response) => {
      let text = '';
      request.on('data', (chunk) => {
        text += chunk;
      });
      request.on('end', () => {
        const answer = (status: number, body?: unknown) =>
          response
            .writeHead(status, { 'content-type': status < 400 ? 'application/json' : 'application/problem+json' })
            .end(body === undefined ? '' : JSON.stringify(body));
        try {
          const url = new URL(request.url ?? '/', 'http://tracerd');
          this.asked.push(`${request.method} ${url.pathname}`);
          const body = this.#answer(request.method ?? 'GET', url, text === '' ? {} : JSON.parse(text));
          answer(body === undefined ? 204 : 200, body);
        } catch (error) {
          const { status = 500, code = 'internal', message } = error as Refused;
          answer(status, { type: 'about:blank', title: 'The statistic was refused', status, code, detail: message });
        }
      });
    });
    this.#server = server;
    await new Promise<void>((resolve) => server.listen(this.#options.socket, resolve));
    if (this.#options.write !== undefined) {
      this.#timer = setInterval(() => void this.#tick(), 250);
    }
  }

  async stop(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    const server = this.#server;
    this.#server = null;
    if (server === null) return;
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    rmSync(this.#options.socket, { force: true });
  }

  /** As tracerd suspends what takes too much of the processor. */
  exceedBudget(name: string): void {
    const one = this.#keep(name);
    one.suspended = true;
    one.overBudget = true;
  }

  #of(one: Kept): StatisticDataset {
    const now = Date.now();
    const watched = one.watchedUntil > now;
    const runs = one.statistic.alwaysOn || one.recorded || watched;
    const starting = now < one.startsAt;
    const metric = `cistern_${one.statistic.name.replaceAll('.', '_')}`;
    const kind =
      one.statistic.name === 'cpu.profile' ? 'stacks' : one.breakdown?.kind === 'distribution' ? 'histogram' : 'series';
    return {
      name: one.name,
      statistic: one.statistic.name,
      filters: one.filters,
      breakdown: one.breakdown?.name ?? null,
      kind,
      unit: one.breakdown?.kind === 'distribution' ? one.breakdown.unit : one.statistic.unit,
      metric,
      selector: `${metric}{dataset=${promql(one.name)}}`,
      overBudget: one.overBudget,
      state: one.suspended ? 'suspended' : starting ? 'starting' : runs ? 'recording' : 'stopped',
      since: new Date(one.begun).toISOString(),
      reason: null,
      recorded: one.recorded,
      watched,
      cpuRatio: one.statistic.cost === 'none' ? 0 : 0.004,
      samples: one.samples,
      seriesNow: kind === 'series' ? 5 : 1,
      drops: 0,
      restarts: 0,
      restIncluded: one.breakdown?.name === 'process',
    };
  }

  #keep(text: unknown): Kept {
    const parsed = parse(String(text));
    if (!parsed.statistic.available) throw new Refused(409, 'not_available', parsed.statistic.reason ?? '');
    const known = this.#kept.get(parsed.name);
    if (known !== undefined) return known;
    const now = Date.now();
    const begun = {
      ...parsed,
      begun: now,
      startsAt: now + this.startMs,
      recorded: false,
      suspended: false,
      overBudget: false,
      watchedUntil: 0,
      written: Math.floor(now / 1000) - (this.#options.historySeconds ?? 0),
      samples: 0,
    };
    this.#kept.set(parsed.name, begun);
    void this.#tick();
    return begun;
  }

  #answer(method: string, url: URL, body: { name?: unknown; recording?: unknown }): unknown {
    const name = url.searchParams.get('name') ?? '';
    const there = (text: unknown) => {
      const found = this.#kept.get(parse(String(text)).name);
      if (found === undefined) throw new Refused(404, 'not_found', `There is no dataset ${String(text)}.`);
      return found;
    };
    switch (`${method} ${url.pathname}`) {
      case 'GET /v1/statistics':
        return { items: catalogue };
      case 'GET /v1/datasets':
        return { items: [...this.#kept.values()].map((one) => this.#of(one)) };
      case 'GET /v1/dataset':
        return this.#of(there(name));
      case 'DELETE /v1/dataset':
        this.#kept.delete(there(name).name);
        return undefined;
      case 'POST /v1/dataset/watch': {
        const one = this.#keep(body.name);
        one.watchedUntil = Date.now() + 30_000;
        return this.#of(one);
      }
      case 'POST /v1/dataset/record': {
        const one = this.#keep(body.name);
        one.recorded = body.recording === true;
        return this.#of(one);
      }
      case 'POST /v1/dataset/suspend':
      case 'POST /v1/dataset/resume': {
        const one = this.#keep(body.name);
        one.suspended = url.pathname.endsWith('suspend');
        one.overBudget = false;
        return this.#of(one);
      }
      case 'GET /v1/stacks':
        this.#keep(name);
        return stacks;
      case 'GET /healthz':
        return {};
      default:
        throw new Refused(404, 'not_found', `There is nothing at ${method} ${url.pathname}.`);
    }
  }

  /** Writes what was not written yet, up to the second that has just ended. */
  async #tick(): Promise<void> {
    if (this.#busy || this.#options.write === undefined) return;
    this.#busy = true;
    try {
      const until = Math.floor(Date.now() / 1000);
      for (const one of this.#kept.values()) {
        const { state, kind } = this.#of(one);
        const from = one.written;
        if (kind === 'stacks' || until <= from) continue;
        one.written = until;
        if (state === 'starting') {
          one.written = until;
          continue;
        }
        if (state !== 'recording') continue;
        const samples: Sample[] = [];
        for (let time = from; time < until; time += 1) {
          const { gap } = this.#options;
          const age = until - time;
          if (gap !== undefined && age <= gap.from && age > gap.to && until - from > gap.from) continue;
          samples.push(...samplesOf(one, time));
        }
        one.samples += samples.length;
        for (let at = 0; at < samples.length; at += 5_000) await this.#options.write(samples.slice(at, at + 5_000));
      }
    } catch {
      // A store that is away gets the rest when it is back; what was on its way is lost, as in life.
    } finally {
      this.#busy = false;
    }
  }
}

/** Repeatable noise in [0, 1) of a second and a place. */
function noise(time: number, place: number): number {
  let state = (Math.imul(time, 0x9e3779b1) ^ Math.imul(place + 1, 0x85ebca6b)) >>> 0;
  state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) >>> 0;
  state = Math.imul(state ^ (state >>> 12), 0x297a2d39) >>> 0;
  return ((state ^ (state >>> 15)) >>> 0) / 2 ** 32;
}

/** How much of it there is in that second, of the value in that place. */
function amount(one: Kept, time: number, place: number): number {
  const scale = one.statistic.unit === 'bytes' ? 2 ** 20 : one.statistic.unit === 'percent' ? 0.35 : 1;
  const wave = 40 + 30 * Math.sin(time / (17 + 7 * place)) + 25 * noise(time, place);
  // So much less than the one before that their order by size is the same whenever it is looked at.
  const shared = wave / 2 ** place;
  return scale === 0.35 ? shared * scale : Math.round(shared * scale);
}

function samplesOf(one: Kept, time: number): Sample[] {
  const name = `cistern_${one.statistic.name.replaceAll('.', '_')}`;
  const labels = { dataset: one.name, ...Object.fromEntries(one.filters) };
  const narrowed = one.filters.length + 1;
  if (one.breakdown?.kind === 'distribution') {
    const bins: Record<string, number> = {};
    const events = Math.round((60 + 40 * Math.sin(time / 23)) / narrowed);
    for (let event = 0; event < events; event += 1) {
      const kind: number = noise(time, event);
      const spread: number = 0.5 + noise(time, event + 7_000);
      const seconds: number = kind < 0.7 ? 0.004 * spread : kind < 0.985 ? 0.03 * spread : 0.4 + spread;
      const value: number = one.breakdown.unit === 'bytes' ? 2 ** (9 + Math.floor(8 * kind)) : seconds;
      const bin = String(Number(value.toPrecision(2)));
      bins[bin] = (bins[bin] ?? 0) + 1;
    }
    // As tracerd does: how many there were, also when there were none and so no histogram.
    const counted: Sample = { name: `${name}_events`, labels, time, value: events };
    return events === 0 ? [counted] : [{ name, labels, time, histogram: { bins } }, counted];
  }
  const breakdown = one.breakdown;
  if (breakdown === null) return [{ name, labels, time, value: amount(one, time, 0) / narrowed }];
  const shown = breakdown.values.length > 0 ? breakdown.values : (SHOWN[breakdown.name] ?? []);
  const parts: Sample[] = shown.map((value, place) => ({
    name,
    labels: { ...labels, [breakdown.name]: value },
    time,
    value: amount(one, time, place) / narrowed,
  }));
  const rest: Sample[] =
    breakdown.name === 'process' ? [{ name, labels: { ...labels, rest: 'true' }, time, value: 3 }] : [];
  const total = [...parts, ...rest].reduce((sum, { value = 0 }) => sum + value, 0);
  return [...parts, ...rest, { name, labels, time, value: total }];
}

const stacks = {
  samples: 1_000,
  stacks: [
    { frames: ['_start', 'main', 'serve', 'zfs_read', 'arc_read'], count: 420 },
    { frames: ['_start', 'main', 'serve', 'zfs_read', 'dmu_buf_hold'], count: 130 },
    { frames: ['_start', 'main', 'serve', 'sha256_transform'], count: 250 },
    { frames: ['_start', 'main', 'poll'], count: 90 },
    { frames: ['kthread', 'txg_sync_thread', 'spa_sync', 'dsl_pool_sync'], count: 110 },
  ],
};
