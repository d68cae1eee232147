// One message instead of many: a burst of one class becomes one message to each destination, and what is not urgent is
// sent once a day. What is merged stays in the log alert by alert, and each alert's delivery is that of the message.

import { iso } from '../../base/clock.ts';
import { plural } from '../../base/words.ts';
import { type Groups, type Message, type MessageGroup, sharedWords } from '../alerts/index.ts';

/** How many of them a message names; the log has the rest. */
const NAMED = 50;
const IN_TEXT = 10;

const rank = { critical: 0, warning: 1, info: 2 } as const;
const said = { raise: 'raised', repost: 'still active', escalate: 'not acknowledged', clear: 'cleared' } as const;

/** In which order the events of a class are sent: an all-clear never before what it is about. */
export const ORDER: readonly Message['event'][] = ['raise', 'escalate', 'repost', 'clear'];

/** What all have in common, or null. */
function common<T>(items: readonly T[]): T | null {
  const [first] = items;
  return first !== undefined && items.every((one) => one === first) ? first : null;
}

/** Names the many, and says what they have in common. */
export type About = Pick<Groups, 'sharedBy' | 'titleOf'>;

/** @param messages at least one; of one event and class unless it is a digest */
export function merged(
  id: string,
  kind: MessageGroup['kind'],
  messages: readonly Message[],
  now: number,
  thread: string,
  about: About,
): Message {
  const first = messages[0] as Message;
  const worst = [...messages].sort((a, b) => rank[a.alert.severity] - rank[b.alert.severity])[0] as Message;
  const digest = kind === 'digest';
  const event = digest ? 'raise' : first.event;
  const count = messages.length;
  const ruleId = common(messages.map(({ alert }) => alert.ruleId));
  const rule = common(messages.map(({ alert }) => alert.ruleName));
  // What an older version wrote has none.
  const groupId = digest ? null : (common(messages.map(({ alert }) => alert.groupId)) ?? null);
  const shared = digest
    ? null
    : about.sharedBy(
        messages.map(({ alert }) => alert.labels),
        ruleId,
      );
  const words = shared === null ? '' : sharedWords(shared, count);
  const title =
    shared === null
      ? `The day’s ${plural(count, 'message')} that could wait`
      : rule === null
        ? `${plural(count, 'alert')} of the class ${first.alert.class}`
        : about.titleOf({
            ...{ class: first.alert.class, ruleName: rule, firstTitle: first.alert.title },
            ...{ count, series: shared.series, of: shared.of },
          });
  const named = messages.slice(0, IN_TEXT).map(({ alert }) => alert.title);
  const more = count > IN_TEXT ? ` And ${count - IN_TEXT} more.` : '';
  const text = digest
    ? `${plural(count, 'message')}: ${named.join('; ')}.${more}`
    : `${title}, ${said[event]}.${words && ` ${words}`} ${count > IN_TEXT ? 'The first of them' : 'They are'}: ${named.join('; ')}.${more}`;
  return {
    version: 1,
    eventId: id,
    event,
    at: iso(now),
    hostName: first.hostName,
    thread,
    group: {
      kind,
      count,
      ...(groupId !== null && { groupId }),
      ...(shared !== null && { shared: words, apart: shared.apart }),
      ...(shared?.of != null && { of: shared.of }),
      items: messages.slice(0, NAMED).map((one) => ({
        ...{ id: one.alert.id, event: one.event, at: one.at, severity: one.alert.severity },
        ...{ title: one.alert.title, text: one.alert.text },
      })),
    },
    alert: {
      id,
      groupId: groupId ?? '',
      class: digest ? 'alerts.digest' : first.alert.class,
      title,
      text,
      severity: worst.alert.severity,
      state: event === 'clear' ? 'cleared' : 'active',
      raisedAt: first.alert.raisedAt,
      clearedAt: event === 'clear' ? iso(now) : null,
      ...{ value: null, limit: null, unit: '', labels: shared?.common ?? {}, noData: false },
      ruleId: digest ? null : ruleId,
      ruleName: rule,
      impact: digest ? 'None of it is urgent.' : first.alert.impact,
      response: digest ? 'It was gathered through the day.' : first.alert.response,
      action: digest ? 'See the log for what there was.' : first.alert.action,
      page: groupId === null ? '/alerts/log' : `/alerts/${groupId}`,
    },
  };
}

/**
 * When alerts of a class are sent. A few at a time go out at once; when there are more it is a burst, and waited for until it is
 * quiet; after a burst the next ones are gathered for a while. Times are those of the machine's own clock.
 */
export class Bursts {
  readonly #options: BurstOptions;
  readonly #pending = new Map<string, { count: number; since: number; changed: number }>();
  readonly #lastBurst = new Map<string, number>();

  constructor(options: BurstOptions) {
    this.#options = options;
  }

  /** Milliseconds to wait before it is sent; 0: now. `merge`: as one message. */
  look(name: string, count: number, now: number): { wait: number; merge: boolean } {
    const { many, quietMs, maxMs, afterMs } = this.#options;
    let seen = this.#pending.get(name);
    if (seen === undefined) {
      seen = { count, since: now, changed: now };
      this.#pending.set(name, seen);
    } else if (seen.count !== count) {
      seen.count = count;
      seen.changed = now;
    }
    const last = this.#lastBurst.get(name);
    const after = last === undefined ? 0 : Math.max(0, last + afterMs - now);
    if (count <= many) {
      if (after > 0) return { wait: after, merge: true };
      // What was gathered after a burst is still one message.
      if (last !== undefined && now - seen.since >= afterMs / 2 && count > 1) return { wait: 0, merge: true };
      return { wait: 0, merge: false };
    }
    const quiet = Math.max(0, seen.changed + quietMs - now);
    const patience = Math.max(0, seen.since + maxMs - now);
    return { wait: Math.max(after, Math.min(quiet, patience)), merge: true };
  }

  isBurst(count: number): boolean {
    return count > this.#options.many;
  }

  sent(name: string, merge: boolean, now: number): void {
    this.#pending.delete(name);
    if (merge) this.#lastBurst.set(name, now);
    else if ((this.#lastBurst.get(name) ?? 0) + this.#options.afterMs < now) this.#lastBurst.delete(name);
  }
}

export interface BurstOptions {
  /** More than this of one class are a burst. */
  readonly many: number;
  /** A burst has ended when there was nothing new for so long. */
  readonly quietMs: number;
  /** It is sent after so long even when it has not. */
  readonly maxMs: number;
  /** What comes so soon after a burst is gathered until then. */
  readonly afterMs: number;
}

export const BURSTS: BurstOptions = { many: 5, quietMs: 1_000, maxMs: 10_000, afterMs: 30_000 };
