// How the operating system is tuned. execd keeps it and tells the system (services/execd/host/tunables); the simulated machine makes it up.

export const TUNABLES = [
  'arc-maximum-bytes',
  'arc-minimum-bytes',
  'transaction-group-seconds',
  'writes-per-disk',
  'socket-buffer-bytes',
  'log-bytes',
] as const;
export type TunableName = (typeof TUNABLES)[number];

export interface PlatformTunable {
  readonly name: TunableName;
  readonly least: number;
  readonly most: number;
  /** Null: nothing is set. */
  readonly set: number | null;
  /** What holds; null: the system does not say. */
  readonly now: number | null;
  /** What the system had when it started; null: it decides by itself. */
  readonly default: number | null;
}

export interface PlatformTuning {
  /** `broken`: what was kept cannot be read, and everything is as the system has it. */
  readonly origin: 'kept' | 'default' | 'broken';
  /** What is set holds from the next start of the system on. */
  readonly atStart: boolean;
  /** Those that this system has. */
  readonly tunables: readonly PlatformTunable[];
}

export type TuningValues = Readonly<Partial<Record<TunableName, number>>>;

export interface TuningPlatform {
  read(): Promise<PlatformTuning>;
  /** What is not named is as the system has it. */
  set(values: TuningValues): Promise<PlatformTuning>;
}

/** What the verbs take, by their names. */
export interface TuningVerbs {
  'tunables.read': Record<string, never>;
  'tunables.set': { document: { version: 1; values: TuningValues } };
}

/** @param run carries out one of the verbs */
export function tuningBy(
  run: <V extends keyof TuningVerbs>(verb: V, body: TuningVerbs[V]) => Promise<unknown>,
): TuningPlatform {
  return {
    read: async () => (await run('tunables.read', {})) as PlatformTuning,
    set: async (values) => (await run('tunables.set', { document: { version: 1, values } })) as PlatformTuning,
  };
}
