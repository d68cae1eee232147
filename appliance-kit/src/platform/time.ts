// Whom the machine asks for the time. execd keeps it and tells chrony (services/execd/host/chrony); the simulated machine makes it up.

export interface TimeServer {
  readonly address: string;
  /** The name stands for many, of which some are asked. */
  readonly pool: boolean;
  /** Only answers that are authenticated by Network Time Security are taken. */
  readonly nts: boolean;
}

export interface TimeDocument {
  readonly servers: readonly TimeServer[];
  /** Those that the network names (DHCP) as well. */
  readonly fromNetwork: boolean;
}

/** What chrony does with a server. */
export const SOURCE_STATES = ['followed', 'combined', 'spare', 'silent', 'lies', 'unsteady', 'unresolved'] as const;

export interface PlatformTimeSource {
  /** As it was named; its address, empty as long as the name has none. */
  readonly name: string;
  readonly address: string;
  readonly state: (typeof SOURCE_STATES)[number];
  /** 0: not known. */
  readonly stratum: number;
  /** Answers to the last eight questions, a bit each. */
  readonly reach: number;
  readonly pollSeconds: number;
  /** Null: it has never answered. */
  readonly ageSeconds: number | null;
  /** How far the clock is ahead of it. */
  readonly offsetSeconds: number | null;
  readonly jitterSeconds: number | null;
  readonly nts: boolean;
  readonly authenticated: boolean;
}

export interface PlatformTime {
  readonly document: TimeDocument;
  /** `broken`: what was kept cannot be read, and the default holds. */
  readonly origin: 'kept' | 'default' | 'broken';
  readonly asked: readonly (TimeServer & { readonly from: 'settings' | 'network' | 'default' })[];
  readonly running: boolean;
  readonly tracking: {
    readonly synchronised: boolean;
    readonly source: string;
    readonly stratum: number;
    readonly offsetSeconds: number;
    readonly jitterSeconds: number;
    /** Empty: chrony does not run. */
    readonly leap: 'none' | 'insert' | 'delete' | 'unknown' | '';
  };
  readonly sources: readonly PlatformTimeSource[];
}

export interface TimePlatform {
  read(): Promise<PlatformTime>;
  /** Asks them from now on. */
  set(document: TimeDocument): Promise<PlatformTime>;
}

/** What the verbs take, by their names. */
export interface TimeVerbs {
  'time.read': Record<string, never>;
  'time.set': { document: TimeDocument & { version: 1 } };
}

/** @param run carries out one of the verbs */
export function timeBy(
  run: <V extends keyof TimeVerbs>(verb: V, body: TimeVerbs[V]) => Promise<unknown>,
): TimePlatform {
  return {
    read: async () => (await run('time.read', {})) as PlatformTime,
    set: async ({ servers, fromNetwork }) =>
      (await run('time.set', { document: { version: 1, servers, fromNetwork } })) as PlatformTime,
  };
}
