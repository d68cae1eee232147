// Whom the simulated machine asks for the time: each server answers, unless a failure is asked for.
import { isIP } from 'node:net';
import { fail } from '../../base/problems/problem.ts';
import type { PlatformTime, PlatformTimeSource, TimeDocument, TimePlatform } from '../time.ts';

export interface SimTimeState {
  kept: TimeDocument | null;
  /** Servers that say another time. */
  lying: string[];
  running: boolean;
}

export const noTime = (): SimTimeState => ({ kept: null, lying: [], running: true });

const NETWORK = { address: 'time.example', pool: false, nts: false, from: 'network' } as const;
/** A host name as RFC 1123 has them, that is no address cut off. */
const NAME = /^(?![0-9.]+$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/;

function read({ kept, lying, running }: SimTimeState): PlatformTime {
  const document = kept ?? { servers: [], fromNetwork: true };
  const asked = [
    ...document.servers.map((one) => ({ ...one, from: 'settings' as const })),
    ...(document.fromNetwork ? [NETWORK] : []),
  ];
  const honest = asked.filter(({ address }) => !lying.includes(address));
  // Nobody is believed without a majority.
  const believed = honest.length * 2 > asked.length;
  const sources = asked.map(({ address: name, nts }, at): PlatformTimeSource => {
    const good = believed && honest.some(({ address }) => address === name);
    return {
      name,
      address: isIP(name) === 0 ? `192.0.2.${at + 100}` : name,
      state: !good ? 'lies' : honest[0]?.address === name ? 'followed' : 'combined',
      ...{ stratum: 1, reach: 255, pollSeconds: 64, ageSeconds: 20, jitterSeconds: 0.0003, nts, authenticated: nts },
      offsetSeconds: lying.includes(name) ? -30 : 0.0021,
    };
  });
  const synchronised = running && believed;
  const followed = sources.find(({ state }) => state === 'followed')?.address ?? '';
  return {
    ...{ document, origin: kept === null ? 'default' : 'kept', asked, running },
    tracking: {
      ...{ synchronised, source: synchronised ? followed : '', stratum: synchronised ? 2 : 0 },
      ...{ offsetSeconds: 0.0021, jitterSeconds: 0.0003, leap: synchronised ? 'none' : 'unknown' },
    },
    sources: running ? sources : [],
  };
}

export function simTime(state: () => SimTimeState, save: () => void): TimePlatform {
  return {
    read: async () => read(state()),
    set: async ({ servers, fromNetwork }) => {
      servers.forEach(({ address }, at) => {
        if (isIP(address) !== 0 || NAME.test(address)) return;
        const message = `'${address}' is no host name and no address of a time server.`;
        throw fail('invalid_request', message, undefined, [{ path: `/document/servers/${at}/address`, message }]);
      });
      state().kept = { servers: servers.map((one) => ({ ...one })), fromNetwork };
      save();
      return read(state());
    },
  };
}
