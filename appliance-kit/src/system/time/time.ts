// How the clock is kept, in words and as measurements; and whom it is set by.
import { isIPv6, SocketAddress } from 'node:net';
import type { Audit } from '../../access/audit/index.ts';
import type { Conditions } from '../../alerting/alerts/index.ts';
import { fail, ProblemError } from '../../base/problems/problem.ts';
import type { Handlers } from '../../http/handlers.ts';
import type { Changes } from '../../http/live-updates/changes.ts';
import type { Measurement, Storaged } from '../../peers/storaged.ts';
import type { PlatformTime, PlatformTimeSource, TimePlatform } from '../../platform/time.ts';
import { apart } from '../machine/index.ts';
import { timeDisputed } from './alerts.ts';
import type { routes } from './routes.ts';
import type { TimeSettings, TimeState } from './schema.ts';

const SAYS: Readonly<Record<PlatformTimeSource['state'], string>> = {
  followed: 'The clock is set by it.',
  combined: 'It is followed, together with others.',
  spare: 'It is good, and others are better.',
  silent: 'It does not answer, or not often enough yet.',
  lies: 'It contradicts others, and is not believed.',
  unsteady: 'Its answers vary too much.',
  unresolved: 'Its name has no address yet.',
};

function sourceSentence({ state, nts, authenticated }: PlatformTimeSource): string {
  if (state === 'silent' && nts && !authenticated) return 'No keys could be agreed on with it (NTS, TCP port 4460).';
  return SAYS[state];
}

/** Servers whose time is not believed; null when all agree. */
export function disputed({ running, sources, tracking }: PlatformTime) {
  const servers = sources.filter(({ state }) => state === 'lies').map(({ name }) => name);
  if (!running || servers.length === 0) return null;
  return { servers, nobody: !tracking.synchronised };
}

function sentence(time: PlatformTime): string {
  const { running, sources, tracking } = time;
  if (!running) return 'chrony, which keeps the clock, does not run.';
  if (tracking.synchronised) {
    const followed = sources.find(({ address }) => address === tracking.source);
    return `It follows ${followed?.name ?? tracking.source}, ${apart(Math.abs(tracking.offsetSeconds))} apart from it.`;
  }
  if (disputed(time) !== null) return 'The servers contradict each other, and no majority agrees: none is followed.';
  return 'No time server has answered often enough yet.';
}

const bits = (reach: number) => reach.toString(2).replaceAll('0', '').length;

/** As execd keeps it. */
const asKept = (address: string) =>
  isIPv6(address) ? new SocketAddress({ address, family: 'ipv6' }).address : address.toLowerCase();

export const normalised = ({ servers, fromNetwork }: TimeSettings): TimeSettings => ({
  servers: servers.map(({ address, pool, nts }) => ({ address: asKept(address), pool, nts })),
  fromNetwork,
});

export const settingsOf = ({ document }: PlatformTime): TimeSettings => ({
  servers: document.servers.map(({ address, pool, nts }) => ({ address, pool, nts })),
  fromNetwork: document.fromNetwork,
});

function described(time: PlatformTime): TimeState {
  const { running, asked, sources, tracking } = time;
  const { synchronised } = tracking;
  return {
    ...settingsOf(time),
    ...{ running, synchronised, sentence: sentence(time) },
    stratum: synchronised ? tracking.stratum : null,
    offsetSeconds: synchronised ? Math.abs(tracking.offsetSeconds) : null,
    jitterSeconds: synchronised ? tracking.jitterSeconds : null,
    leapSecond: tracking.leap === '' ? 'unknown' : tracking.leap,
    asked: asked.map(({ address, pool, nts, from }) => ({ address, pool, nts, from })),
    sources: sources.map((one) => ({
      ...{ name: one.name, address: one.address === '' ? null : one.address },
      ...{ state: one.state, sentence: sourceSentence(one), stratum: one.stratum === 0 ? null : one.stratum },
      ...{ answers: bits(one.reach), ageSeconds: one.ageSeconds },
      ...{ offsetSeconds: one.offsetSeconds, jitterSeconds: one.jitterSeconds },
      ...{ nts: one.nts, authenticated: one.authenticated },
    })),
  };
}

/** None as long as the clock is not synchronised: it says nothing then. */
export function measurementsOf({ running, tracking }: PlatformTime): Measurement[] {
  if (!running || !tracking.synchronised) return [];
  return [
    { name: 'cistern_time_offset_seconds', labels: {}, value: Math.abs(tracking.offsetSeconds) },
    { name: 'cistern_time_jitter_seconds', labels: {}, value: tracking.jitterSeconds },
  ];
}

interface LookedAt {
  readonly platform: { readonly time: TimePlatform };
  readonly storaged: Pick<Storaged, 'store'>;
  readonly conditions: Conditions;
}

/** Once a minute: the store gets how far the clock is off, and who says another time is known. */
export async function lookAtTime({ platform, storaged, conditions }: LookedAt): Promise<void> {
  const time = await platform.time.read();
  const wrong = disputed(time);
  conditions.report(timeDisputed, wrong === null ? [] : [{ args: wrong }]);
  const measurements = measurementsOf(time);
  if (measurements.length > 0) await storaged.store(measurements);
}

/** execd names places in its own body, which has the settings as `document`. */
function asAsked(error: unknown): unknown {
  if (!(error instanceof ProblemError) || error.problem.code !== 'invalid_request') return error;
  const { detail, action, errors } = error.problem;
  const places = errors?.map((one) => ({ ...one, path: one.path.replace(/^\/document(?=\/)/, '') }));
  return fail('invalid_request', detail, action, places);
}

interface TimeRoutesParts {
  readonly platform: { readonly time: TimePlatform };
  readonly audit: Audit;
  readonly changes: Changes;
}

export function timeRoutes({ platform, audit, changes }: TimeRoutesParts): Handlers<typeof routes> {
  return {
    getTime: async () => described(await platform.time.read()),
    setTime: async ({ body, caller }) => {
      const before = settingsOf(await platform.time.read());
      const after = await platform.time.set(normalised(body)).catch((error: unknown) => {
        throw asAsked(error);
      });
      audit.record(caller, 'time.set', 'servers', before, settingsOf(after));
      changes.publish('time');
      return described(after);
    },
  };
}
