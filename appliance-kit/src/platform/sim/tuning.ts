// How the simulated machine is tuned: what is set holds at once, between execd's bounds for 8 GiB of memory.
import { fail } from '../../base/problems/problem.ts';
import type { PlatformTuning, TunableName, TuningPlatform, TuningValues } from '../tuning.ts';

export interface SimTuningState {
  kept: TuningValues | null;
}
export const noTuning = (): SimTuningState => ({ kept: null });

const MIB = 1024 ** 2;
const GIB = 1024 ** 3;
const MEMORY = 8 * GIB;
const ARC_MOST = MEMORY - 512 * MIB;

const BOUNDS: Readonly<Record<TunableName, readonly [least: number, most: number, start: number | null]>> = {
  'arc-maximum-bytes': [64 * MIB, ARC_MOST, 7 * GIB],
  'arc-minimum-bytes': [32 * MIB, ARC_MOST, 256 * MIB],
  'transaction-group-seconds': [1, 60, 5],
  'writes-per-disk': [1, 100, 10],
  'socket-buffer-bytes': [MIB, GIB, 64 * MIB],
  'log-bytes': [16 * MIB, 4 * GIB, null],
};

const words = (name: string, value: number): string =>
  !name.endsWith('-bytes') ? String(value) : value % GIB === 0 ? `${value / GIB} GiB` : `${value / MIB} MiB`;

function read({ kept }: SimTuningState): PlatformTuning {
  return {
    ...{ origin: kept === null ? 'default' : 'kept', atStart: false },
    tunables: (Object.keys(BOUNDS) as TunableName[]).map((name) => {
      const [least, most, start] = BOUNDS[name];
      const set = kept?.[name] ?? null;
      return { name, least, most, set, now: set ?? start, default: start };
    }),
  };
}

export function simTuning(state: () => SimTuningState, save: () => void): TuningPlatform {
  return {
    read: async () => read(state()),
    set: async (values) => {
      const refuse = (name: string, message: string): never => {
        throw fail('invalid_request', message, undefined, [{ path: `/document/values/${name}`, message }]);
      };
      for (const [name, value] of Object.entries(values).sort()) {
        const [least, most] = BOUNDS[name as TunableName];
        if (value < least || value > most) refuse(name, `It is ${words(name, least)} to ${words(name, most)}.`);
      }
      const { 'arc-minimum-bytes': lowest = 0, 'arc-maximum-bytes': highest = 0 } = values;
      if (highest !== 0 && lowest > highest) {
        const most = words('arc-maximum-bytes', highest);
        refuse('arc-minimum-bytes', `It is more than the most that ZFS may keep, ${most}.`);
      }
      state().kept = { ...values };
      save();
      return read(state());
    },
  };
}
