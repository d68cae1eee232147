// Follows supportd's crash records, so that a crash is an alert within seconds, and lets a person dismiss one. The records
// themselves are supportd's: they are there when akd is what crashed.

import type { Audit } from '../../access/audit/index.ts';
import type { Conditions } from '../../alerting/alerts/index.ts';
import type { Handlers } from '../../http/handlers.ts';
import type { Changes } from '../../http/live-updates/changes.ts';
import type { Peer } from '../../peers/peer.ts';
import { serviceFact } from '../../platform/service-facts.ts';
import { processCrashed } from './alerts.ts';
import type { routes } from './routes.ts';
import type { Crash } from './schema.ts';

const DEADLINE_MS = 10_000;
/** supportd answers as soon as there is something new, and otherwise after so long. */
const WAIT_SECONDS = 20;
/** supportd is away: a bundle of everything else is still possible once it is back. */
const AGAIN_MS = 2_000;

interface Answer {
  readonly crashes: Crash[];
  readonly seq: number;
}

export class Crashes {
  readonly #supportd: Peer;
  readonly #conditions: Conditions;
  readonly #changes: Changes;
  #stopped = false;
  #pause: { timer: NodeJS.Timeout; end: () => void } | null = null;

  constructor({ supportd, conditions, changes }: { supportd: Peer; conditions: Conditions; changes: Changes }) {
    this.#supportd = supportd;
    this.#conditions = conditions;
    this.#changes = changes;
  }

  async list(): Promise<Crash[]> {
    return (await this.#ask('/crashes', DEADLINE_MS)).crashes;
  }

  async #ask(path: string, deadlineMs: number): Promise<Answer> {
    return (await this.#supportd.call({ method: 'GET', path, deadlineMs })) as Answer;
  }

  /** Reports the conditions: active until dismissed. */
  report(crashes: readonly Crash[]): void {
    this.#conditions.report(
      processCrashed,
      crashes
        .filter(({ dismissed }) => !dismissed)
        .map(({ alert, service, process, signal, reason, count, recording }) => ({
          args: {
            id: alert,
            service,
            title: serviceFact(service)?.title ?? service,
            process,
            signal,
            reason,
            count,
            recording: recording === true,
          },
        })),
    );
  }

  async follow(): Promise<void> {
    let seq: number | null = null;
    while (!this.#stopped) {
      try {
        const path: string = seq === null ? '/crashes' : `/crashes?after=${seq}&wait=${WAIT_SECONDS}`;
        const answer = await this.#ask(path, WAIT_SECONDS * 1000 + DEADLINE_MS);
        if (this.#stopped) return;
        this.report(answer.crashes);
        if (seq !== answer.seq) this.#changes.publish('crashes');
        seq = answer.seq;
      } catch {
        // Services says that it is down. When it is back its numbers begin anew.
        seq = null;
        await new Promise<void>((resolve) => {
          this.#pause = { timer: setTimeout(resolve, AGAIN_MS).unref(), end: resolve };
        });
      }
    }
  }

  stop(): void {
    this.#stopped = true;
    if (this.#pause !== null) {
      clearTimeout(this.#pause.timer);
      this.#pause.end();
    }
  }

  async dismiss(id: string): Promise<void> {
    await this.#supportd.call({
      method: 'DELETE',
      path: `/crashes/${encodeURIComponent(id)}`,
      deadlineMs: DEADLINE_MS,
    });
    this.#changes.publish('crashes');
  }
}

export function crashRoutes(crashes: Crashes, audit: Audit): Handlers<typeof routes> {
  return {
    listCrashes: async () => ({ items: await crashes.list() }),
    dismissCrash: async ({ params, caller }) => {
      await crashes.dismiss(params.id);
      audit.record(caller, 'crash.dismiss', params.id);
      return undefined;
    },
  };
}
