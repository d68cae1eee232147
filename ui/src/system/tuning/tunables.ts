// Tunables as they are typed: bytes in MiB.
import type { Schemas } from '../../api/client.ts';
import { bytes } from '../../words/format.ts';

export type Tunable = Schemas['Tuning']['tunables'][number];
/** What is in each field, by name. */
export type Draft = Readonly<Record<string, string>>;

const MIB = 1024 ** 2;

export const typedIn = ({ unit }: Tunable) => (unit === 'bytes' ? ', MiB' : unit === 'seconds' ? ', seconds' : '');

export const valueWords = ({ unit }: Tunable, value: number) =>
  unit === 'bytes' ? bytes(value) : unit === 'seconds' ? `${value} s` : String(value);

export function draftOf({ values, tunables }: Schemas['Tuning']): Draft {
  return Object.fromEntries(
    tunables.map(({ name, unit }) => {
      const value = values[name];
      return [name, value === undefined ? '' : String(unit === 'bytes' ? value / MIB : value)];
    }),
  );
}

/** An empty field sets nothing; what is no number is sent as one that no tunable takes, so that it is said at its field. */
export function inputOf(draft: Draft, tunables: readonly Tunable[]): Schemas['TuningSettings']['values'] {
  const set = tunables.filter(({ name }) => (draft[name] ?? '').trim() !== '');
  return Object.fromEntries(
    set.map(({ name, unit }) => {
      const value = Number((draft[name] ?? '').replaceAll(/[\s,]/g, ''));
      return [name, Number.isFinite(value) ? Math.round(unit === 'bytes' ? value * MIB : value) : 0];
    }),
  );
}
