// How long measurements are kept. storaged holds it, beside the blocks, so that it moves with the pool; akd says who may
// change it, and writes down who did.

import type { Audit } from '../../access/audit/index.ts';
import { asked, onePart } from '../../domain/settings-part.ts';
import { appliance } from '../../http/gate/caller.ts';
import type { Handlers } from '../../http/handlers.ts';
import type { Peer } from '../../peers/peer.ts';
import type { routes } from './routes.ts';
import { type Retention, RetentionInput } from './schema.ts';

const PATH = '/admin/retention';
const DEADLINE_MS = 10_000;

export function retentionRoutes(storaged: Peer, audit: Audit): Handlers<typeof routes> {
  return {
    getRetention: async () =>
      (await storaged.call({ method: 'GET', path: PATH, deadlineMs: DEADLINE_MS })) as Retention,
    setRetention: async ({ body, caller }) => {
      const { rawSeconds, minuteSeconds, hourSeconds } = body;
      const json = { rawSeconds, minuteSeconds, hourSeconds };
      const now = (await storaged.call({ method: 'PUT', path: PATH, json, deadlineMs: DEADLINE_MS })) as Retention;
      audit.record(caller, 'retention.set', `${rawSeconds} s, ${minuteSeconds} s, ${hourSeconds} s`);
      return now;
    },
  };
}

export const retentionPart = (handlers: Handlers<typeof routes>) =>
  onePart({
    ...{ name: 'retention', title: 'How long measurements are kept', version: 1, schema: RetentionInput },
    covers: ['setRetention'],
    read: async () => {
      const { rawSeconds, minuteSeconds, hourSeconds } = await asked(handlers.getRetention, { caller: appliance });
      return { rawSeconds, minuteSeconds, hourSeconds };
    },
    set: (body, caller) => asked(handlers.setRetention, { body, caller }),
    warn: (before, after) =>
      after.rawSeconds < before.rawSeconds ||
      after.minuteSeconds < before.minuteSeconds ||
      after.hourSeconds < before.hourSeconds
        ? 'Measurements that are older than is kept from now on go, and do not come back.'
        : null,
  });
