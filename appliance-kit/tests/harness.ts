// An appliance on the simulated machine, in this process, with a clock that is set by hand, and a client that talks to
// it as a browser would. Every answer is held against the route table's schema.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { Compile } from 'typebox/compile';
import { codeOfStep, stepAt } from '../src/access/factors/totp.ts';
import type { BurstOptions } from '../src/alerting/outbox/grouping.ts';
import { type Appliance, allRoutes, createAppliance } from '../src/appliance.ts';
import type { Clock } from '../src/base/clock.ts';
import type { Config } from '../src/base/config.ts';
import { silentLog } from '../src/base/log.ts';
import { Problem } from '../src/base/problems/schema.ts';
import type { TSchema } from '../src/base/schema/schema.ts';
import type { Route } from '../src/http/routes.ts';
import { Vdev } from '../src/platform/pool.ts';
import { Simulation } from '../src/platform/sim/simulation.ts';
import { program } from './cistern.ts';

export class TestClock implements Clock {
  #now: number;
  #passed = 0;
  constructor(now = Date.UTC(2026, 0, 1)) {
    this.#now = now;
  }
  now(): number {
    return this.#now;
  }
  monotonic(): number {
    return this.#passed;
  }
  advance(seconds: number): void {
    this.#now += seconds * 1000;
    this.#passed += seconds * 1000;
  }
  /** Sets the clock, without that any time has passed. */
  step(seconds: number): void {
    this.#now += seconds * 1000;
  }
}

export const CODE = 'ABCD-EFGH-JKLM';
export const PASSWORD = 'correct horse battery';

const compiled = new Map<TSchema, ReturnType<typeof Compile>>();

export function assertFits(schema: TSchema, value: unknown, what: string): void {
  let validator = compiled.get(schema);
  if (validator === undefined) {
    validator = Compile({ '#/components/schemas/Vdev': Vdev } as never, schema) as ReturnType<typeof Compile>;
    compiled.set(schema, validator);
  }
  if (validator.Check(value)) return;
  assert.fail(`${what} does not fit its schema: ${JSON.stringify([...validator.Errors(value)].slice(0, 3))}`);
}

function routeOf(method: string, path: string): Route | undefined {
  const parts = path.split('?')[0]?.split('/') ?? [];
  const fits = (route: Route) => {
    const wanted = route.path.split('/');
    return wanted.length === parts.length && wanted.every((part, at) => part.startsWith(':') || part === parts[at]);
  };
  const all = allRoutes
    .flatMap((routes) => Object.values(routes))
    .filter((route) => route.method === method && fits(route));
  // A path without parameters wins, as in the router.
  return all.sort((a, b) => a.path.split(':').length - b.path.split(':').length)[0];
}

export interface Answer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers freely; their shape was checked before
  readonly body: any;
  readonly headers: Record<string, unknown>;
}

export interface RequestOptions {
  readonly headers?: Record<string, string>;
  /** Sent as it is, instead of JSON. */
  readonly raw?: string;
}

export class Client {
  readonly #appliance: Appliance;
  readonly cookies = new Map<string, string>();
  readonly address: string;
  /** Null: a request that needs the password again is refused. */
  password: string | null = PASSWORD;

  constructor(appliance: Appliance, address = '192.0.2.7') {
    this.#appliance = appliance;
    this.address = address;
  }

  /** As a page does: what needs the password again gets it, and is repeated. */
  async request(method: string, path: string, body?: unknown, options: RequestOptions = {}): Promise<Answer> {
    const answer = await this.requestOnce(method, path, body, options);
    if (answer.body?.code !== 'confirmation_required' || this.password === null) return answer;
    const confirmed = await this.requestOnce('POST', '/api/session/confirm', { password: this.password });
    assert.equal(confirmed.status, 200, JSON.stringify(confirmed.body));
    return this.requestOnce(method, path, body, options);
  }

  async requestOnce(method: string, path: string, body?: unknown, options: RequestOptions = {}): Promise<Answer> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const payload = options.raw ?? (body === undefined ? undefined : JSON.stringify(body));
    const response = await this.#appliance.app.inject({
      method: method as 'GET',
      url: path,
      headers: {
        host: 'cistern.test',
        origin: 'https://cistern.test',
        'x-forwarded-for': this.address,
        ...(cookie && { cookie }),
        ...(payload !== undefined && { 'content-type': 'application/json' }),
        ...options.headers,
      },
      ...(payload !== undefined && { payload }),
    });
    for (const { name, value, maxAge } of response.cookies) {
      if (maxAge === 0) this.cookies.delete(name);
      else this.cookies.set(name, value);
    }
    const text = response.body;
    const parsed = text === '' ? undefined : JSON.parse(text);
    const what = `${method} ${path} → ${response.statusCode}`;
    if (response.statusCode >= 400) {
      assertFits(Problem, parsed, what);
      assert.match(String(response.headers['content-type']), /^application\/problem\+json/);
      assert.equal(parsed.status, response.statusCode);
    } else {
      const route = routeOf(method, path);
      assert.ok(route, `${what}: the route is not in the table`);
      const unchanged = response.statusCode === 304 && route.conditional === true && text === '';
      if (!unchanged) assert.equal(response.statusCode, route.answer.status, what);
      if (!unchanged && route.answer.schema !== null) assertFits(route.answer.schema, parsed, what);
    }
    return { status: response.statusCode, body: parsed, headers: response.headers };
  }

  get = (path: string, options?: RequestOptions) => this.request('GET', path, undefined, options);
  post = (path: string, body?: unknown, options?: RequestOptions) => this.request('POST', path, body, options);
  put = (path: string, body?: unknown, options?: RequestOptions) => this.request('PUT', path, body, options);
  delete = (path: string, options?: RequestOptions) => this.request('DELETE', path, undefined, options);

  /** As far as a first administrator, who is then signed in. */
  async setUp(): Promise<void> {
    assert.equal((await this.post('/api/setup/enter-code', { code: CODE })).status, 200);
    assert.equal((await this.post('/api/setup/create-administrator', { name: 'ada', password: PASSWORD })).status, 200);
  }
}

export interface Bench {
  readonly appliance: Appliance;
  readonly clock: TestClock;
  readonly simulation: Simulation;
  readonly directory: string;
  readonly client: Client;
  /** Ends the appliance and starts it anew on the same state. */
  restart(): Promise<Bench>;
}

export interface BenchOptions {
  readonly cistern?: string;
  readonly start?: boolean;
  /** How long each step of the simulated machine takes. */
  readonly stepMs?: number;
  readonly scanSeconds?: number;
  readonly retryAfterMs?: (attempts: number) => number;
  readonly gatherMs?: number;
  readonly bursts?: BurstOptions;
}

async function begin(t: TestContext, directory: string, clock: TestClock, options: BenchOptions): Promise<Bench> {
  const config: Config = {
    platform: 'sim',
    run: join(directory, 'run'),
    state: join(directory, 'state'),
    setupCodeFile: join(directory, 'code'),
    placesFile: join(directory, 'places.conf'),
    cistern: options.cistern ?? join(directory, 'no-such-command'),
    version: '0.0.0-test',
    secureCookies: true,
    evaluateMs: 3_600_000,
    pollMs: 3_600_000,
    httpsPort: 1,
  };
  const simulation = new Simulation({
    clock,
    file: join(directory, 'simulation.json'),
    stepMs: options.stepMs ?? 0,
    scanSeconds: options.scanSeconds ?? 0,
    certificates: { program: () => program('execd'), folder: join(directory, 'tls') },
  });
  const appliance = createAppliance({
    config,
    clock,
    platform: simulation,
    log: silentLog,
    deliveryTiming: {
      retryAfterMs: options.retryAfterMs ?? (() => 20),
      gatherMs: options.gatherMs ?? 0,
      ...(options.bursts && { bursts: options.bursts }),
    },
  });
  if (options.start) await appliance.start();
  let stopped = false;
  const stop = async () => {
    if (stopped) return;
    stopped = true;
    await appliance.jobs.settled();
    await appliance.stop();
  };
  t.after(stop);
  return {
    appliance,
    clock,
    simulation,
    directory,
    client: new Client(appliance),
    restart: async () => {
      await stop();
      return begin(t, directory, clock, options);
    },
  };
}

export async function bench(t: TestContext, options: BenchOptions = {}): Promise<Bench> {
  const directory = mkdtempSync(join(tmpdir(), 'akd-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  for (const folder of ['run', 'state']) mkdirSync(join(directory, folder));
  writeFileSync(join(directory, 'code'), `${CODE}\n`);
  return begin(t, directory, new TestClock(), options);
}

/** An authenticator app, as it is on a phone. */
export interface App {
  readonly id: string;
  readonly recoveryCodes: string[] | null;
  /** What it shows now; `later` steps of half a minute from now. */
  code(later?: number): string;
}

/** What an app with that secret shows; `later` steps of half a minute from then. */
export const codeOfApp = (secret: string, now: number, later = 0) =>
  codeOfStep(fromBase32(secret), stepAt(now) + later);

/** Adds an app as a second factor of who has signed in with the client. */
export async function addFactor({ client, clock }: { client: Client; clock: Clock }, name = 'phone'): Promise<App> {
  const started = await client.post('/api/factors/start', { name });
  assert.equal(started.status, 200, JSON.stringify(started.body));
  const code = (later = 0) => codeOfApp(started.body.secret, clock.now(), later);
  const finished = await client.post(`/api/factors/${started.body.id}/finish`, { code: code() });
  assert.equal(finished.status, 200, JSON.stringify(finished.body));
  return { id: started.body.id, recoveryCodes: finished.body.recoveryCodes, code };
}

/** RFC 4648, as an app reads what is typed into it. */
function fromBase32(text: string): Buffer {
  const bits = [...text].map((letter) =>
    'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(letter).toString(2).padStart(5, '0'),
  );
  return Buffer.from((bits.join('').match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
}

/** Waits until it holds; fails with the last error when it does not within the time. */
export async function eventually<T>(check: () => T | Promise<T>, milliseconds = 10_000): Promise<T> {
  const end = Date.now() + milliseconds;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() > end) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 15));
  }
}
