// What the state of a pool means for its reader.
import type { Condition } from '../words/Sentence.tsx';
import type { Pool } from './queries.ts';

export function poolCondition(pool: Pick<Pool, 'state'>): Condition {
  return pool.state === 'ONLINE' ? 'ok' : pool.state === 'DEGRADED' ? 'warning' : 'critical';
}
