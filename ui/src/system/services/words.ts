// How a service's state is worded, and what its absence means.
import type { Schemas } from '../../api/client.ts';
import type { Condition } from '../../words/ConditionIcon.tsx';

export type Service = Schemas['Service'];

export const serviceState: Record<Service['state'], { condition: Condition; words: string }> = {
  online: { condition: 'ok', words: 'running' },
  starting: { condition: 'info', words: 'starting' },
  stopped: { condition: 'warning', words: 'stopped' },
  failed: { condition: 'critical', words: 'failed' },
  maintenance: { condition: 'critical', words: 'in maintenance: it failed too often' },
};

/** What happens while it is down, shown before it is restarted. */
export const lost: Record<string, string> = {
  storaged: 'For a few seconds no measurement is taken in. Senders that keep what was not acknowledged lose nothing.',
  akd: 'For a few seconds nothing can be shown or changed. Measurements go on.',
  nginx: 'This page loses its connection for a moment; HTTP senders as well.',
};
