// How the operating system is tuned, and what each tunable does, in words.
import type { Audit } from '../../access/audit/index.ts';
import { fail, ProblemError } from '../../base/problems/problem.ts';
import type { Handlers } from '../../http/handlers.ts';
import type { Changes } from '../../http/live-updates/changes.ts';
import type { PlatformTuning, TunableName, TuningPlatform } from '../../platform/tuning.ts';
import type { routes } from './routes.ts';
import type { Tuning, TuningSettings } from './schema.ts';

type Words = Pick<Tuning['tunables'][number], 'unit' | 'title' | 'effect'>;

const WORDS: Readonly<Record<TunableName, Words>> = {
  'arc-maximum-bytes': {
    ...{ unit: 'bytes', title: 'Most that ZFS keeps in memory' },
    effect:
      'More: questions about what was read before are answered from memory. Less: more is left for the store and its questions. ZFS gives it back when memory is short.',
  },
  'arc-minimum-bytes': {
    ...{ unit: 'bytes', title: 'What ZFS keeps in memory in any case' },
    effect: 'More: what was read before stays in memory also when others need it. Less: others get it sooner.',
  },
  'transaction-group-seconds': {
    ...{ unit: 'seconds', title: 'Longest time between two writes to the disks' },
    effect:
      'More: fewer and larger writes, and more that has to be written at once. Less: smaller ones, more often. What the store has acknowledged is safe in any case.',
  },
  'writes-per-disk': {
    ...{ unit: 'count', title: 'Writes that a disk is given at the same time' },
    effect: 'More: faster writing to solid-state disks. Less: reading is disturbed less while much is written.',
  },
  'socket-buffer-bytes': {
    ...{ unit: 'bytes', title: 'What may wait at a socket' },
    effect:
      'More: longer bursts of datagrams (statsd) are taken in while the store is busy. Less: less memory. It holds for sockets that are opened afterwards: start the store again.',
  },
  'log-bytes': {
    ...{ unit: 'bytes', title: 'Size of the system’s log' },
    effect: 'More: the log reaches further back. Less: more room on the system pool. What is older goes at once.',
  },
};

/** As they are kept. */
export const settingsOf = ({ tunables }: PlatformTuning): TuningSettings => ({
  values: Object.fromEntries(tunables.flatMap(({ name, set }) => (set === null ? [] : [[name, set]]))),
});

function described(tuning: PlatformTuning): Tuning {
  const { origin, atStart, tunables } = tuning;
  return {
    ...settingsOf(tuning),
    ...{ unreadable: origin === 'broken', atStart },
    tunables: tunables.map(({ name, least, most, now, default: atBoot }) => ({
      ...{ name, ...WORDS[name], least, most, now, default: atBoot },
    })),
  };
}

/** execd names places in its own body, which has the settings as `document`. */
function asAsked(error: unknown): unknown {
  if (!(error instanceof ProblemError) || error.problem.code !== 'invalid_request') return error;
  const { detail, action, errors } = error.problem;
  const [first] = errors ?? [];
  const name = first?.path.replace(/^\/document\/values\//, '') as TunableName | undefined;
  const what = name !== undefined && Object.hasOwn(WORDS, name) ? `${WORDS[name].title}: ` : '';
  const places = errors?.map((one) => ({ ...one, path: one.path.replace(/^\/document(?=\/)/, '') }));
  return fail('invalid_request', `${what}${detail}`, action, places);
}

interface TuningRoutesParts {
  readonly platform: { readonly tuning: TuningPlatform };
  readonly audit: Audit;
  readonly changes: Changes;
}

export function tuningRoutes({ platform, audit, changes }: TuningRoutesParts): Handlers<typeof routes> {
  return {
    getTuning: async () => described(await platform.tuning.read()),
    setTuning: async ({ body, caller }) => {
      const before = settingsOf(await platform.tuning.read());
      const after = await platform.tuning.set(body.values).catch((error: unknown) => {
        throw asAsked(error);
      });
      audit.record(caller, 'tuning.set', 'system', before, settingsOf(after));
      changes.publish('tuning');
      return described(after);
    },
  };
}
