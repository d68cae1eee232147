// Rebooting and switching off: now, or at a time.
import type { Audit } from '../../access/audit/index.ts';
import { CachedReading } from '../../base/cached-reading.ts';
import { type Clock, iso } from '../../base/clock.ts';
import { asProblem, fail } from '../../base/problems/problem.ts';
import { duration, plural } from '../../base/words.ts';
import { appliance, type By } from '../../http/gate/caller.ts';
import type { Changes } from '../../http/live-updates/changes.ts';
import type { Storaged, StorageStatus } from '../../peers/storaged.ts';
import type { Platform } from '../../platform/platform.ts';
import { type Settings, setting } from '../../state/settings.ts';
import type { End, Runs } from './runs.ts';
import { DONE, type PowerAction, type PowerPlanInput, type PowerState } from './schema.ts';

interface Plan extends PowerPlanInput {
  readonly by: string;
  /** When it was begun, and in which start of the system; null until then. */
  readonly begun: { readonly bootId: string; readonly at: number } | null;
}

export const planSetting = setting<Plan | null>('power.plan');

const SOONEST_MS = 60_000;
const LATEST_MS = 366 * 86_400_000;
/** What was to be done longer ago, as the machine was off or its clock was set, is not done any more; so long may it take to end. */
const LATE_MS = 600_000;
const STORE_DEADLINE_MS = 5_000;
/** What the store has read back stays the same until it starts again. */
const STORE_MAX_AGE_MS = 60_000;
/** How long a page waits for it. */
const STORE_PATIENCE_MS = 1_000;

export interface PowerParts {
  readonly platform: Pick<Platform, 'bootId' | 'power' | 'uptimeSeconds'>;
  readonly settings: Settings;
  readonly clock: Clock;
  readonly audit: Audit;
  readonly changes: Pick<Changes, 'publish'>;
  readonly storaged: Pick<Storaged, 'status'>;
  readonly runs: Runs;
  hostName(): string;
  /** Told of a plan that was not carried out, and why. */
  readonly missed: (plan: Plan, why: string) => void;
}

function endedWords({ how, action, by }: End): string {
  if (how === 'first') return 'No start before this one is known.';
  if (how === 'interrupted')
    return 'Before that it was interrupted: its power was cut, it was reset, or its system crashed.';
  if (action === null) return 'Before that it was shut down in order, by another way than this page.';
  return `Before that ${by} had it ${DONE[action]}.`;
}

function wrongTime(message: string) {
  return fail('invalid_request', `The time ${message}.`, 'Choose another time.', [{ path: '/at', message }]);
}

export class Power {
  readonly #parts: PowerParts;
  /** Every open page asks; right after a start of the system the store may take its time. */
  readonly #store: CachedReading<StorageStatus | null>;

  constructor(parts: PowerParts) {
    this.#parts = parts;
    this.#store = new CachedReading<StorageStatus | null>(() => parts.storaged.status(STORE_DEADLINE_MS), parts.clock, {
      ...{ maxAgeMs: STORE_MAX_AGE_MS, patienceMs: STORE_PATIENCE_MS, nothing: null },
    });
  }

  async #replayed(): Promise<PowerState['replayed']> {
    const { value: status, error } = await this.#store.get();
    if (error !== null || status?.replayed === undefined || status.startedAt === undefined) return null;
    const { samples, seconds, damagedBytes, damagedEntries } = status.replayed;
    const took = seconds < 1.5 ? `${seconds.toFixed(1)} seconds` : duration(seconds);
    const said =
      samples === 0
        ? ['Nothing had to be read back from the journal.']
        : [
            `${samples.toLocaleString('en-GB')} samples that were in no block yet were read back from the journal, in ${took}.`,
          ];
    const damage = [
      ...(damagedBytes > 0 ? [plural(damagedBytes, 'byte')] : []),
      ...(damagedEntries > 0 ? [`a part of ${plural(damagedEntries, 'entry', 'entries')}`] : []),
    ];
    if (damage.length > 0)
      said.push(`Of the journal ${damage.join(' and ')} could not be read: that is lost, unless a snapshot has it.`);
    else if (samples > 0) said.push('None is missing.');
    return { at: status.startedAt, samples, seconds, damagedBytes, sentence: said.join(' ') };
  }

  async state(): Promise<PowerState> {
    const { platform, clock, runs } = this.#parts;
    const upSeconds = platform.uptimeSeconds();
    const end = runs.before();
    const plan = this.#plan();
    return {
      sentence: `It has run for ${duration(upSeconds)}. ${endedWords(end)}`,
      startedAt: iso(clock.now() - upSeconds * 1000),
      upSeconds,
      ended: { ...end, at: end.at === null ? null : iso(end.at) },
      replayed: await this.#replayed(),
      plan: plan && {
        ...{ action: plan.action, at: plan.at, reason: plan.reason, by: plan.by },
        inSeconds: Math.max(0, (Date.parse(plan.at) - clock.now()) / 1000),
      },
    };
  }

  #plan(): Plan | null {
    return this.#parts.settings.get(planSetting) ?? null;
  }

  #keep(plan: Plan | null): void {
    this.#parts.settings.set(planSetting, plan);
    this.#parts.changes.publish('power');
  }

  make(input: PowerPlanInput, by: By): void {
    const { clock, audit } = this.#parts;
    const there = this.#plan();
    if (there !== null)
      throw fail(
        'conflict',
        `${there.by} has planned something already.`,
        'Cancel that first: there is one plan at most.',
      );
    const at = Date.parse(input.at);
    const ahead = at - clock.now();
    if (!(ahead >= SOONEST_MS)) throw wrongTime('is not a minute ahead of the clock of the appliance');
    if (ahead > LATEST_MS) throw wrongTime('is more than a year ahead');
    const made = { ...input, at: iso(at), by: by.name };
    audit.record(by, 'power-plan.make', `${DONE[made.action]} at ${made.at}`, null, made);
    this.#keep({ ...made, begun: null });
  }

  cancel(by: By): void {
    const plan = this.#plan();
    if (plan === null)
      throw fail('not_found', 'Nothing is planned.', 'It may have been cancelled, or done, meanwhile.');
    const { begun, ...made } = plan;
    this.#parts.audit.record(by, 'power-plan.cancel', `${DONE[plan.action]} at ${plan.at}`, made, null);
    this.#keep(null);
  }

  /** Carries out what is due, once: what was begun is never begun again, whatever ended akd meanwhile. */
  async due(): Promise<void> {
    const { clock, platform, missed } = this.#parts;
    const plan = this.#plan();
    if (plan === null || clock.now() < Date.parse(plan.at)) return;
    const bootId = await platform.bootId();
    const drop = (why: string) => {
      this.#keep(null);
      missed(plan, why);
    };
    if (plan.begun !== null) {
      if (plan.begun.bootId !== bootId) this.#keep(null);
      else if (clock.now() - plan.begun.at > LATE_MS) drop('the system has not ended since');
      return;
    }
    const late = clock.now() - Date.parse(plan.at);
    if (late > LATE_MS) return drop(`its time was ${duration(late / 1000)} ago when the appliance could look`);
    this.#keep({ ...plan, begun: { bootId, at: clock.now() } });
    try {
      await this.end(plan.action, appliance, plan.by);
    } catch (error) {
      drop(asProblem(error).detail.replace(/\.$/, ''));
    }
  }

  /** @param asker who asked for it, when that is not the caller */
  async end(action: PowerAction, caller: By, asker = caller.name): Promise<void> {
    const { audit, platform, runs } = this.#parts;
    const how = action === 'reboot' ? 'reboot' : 'off';
    // Before it: afterwards may be too late to write anything down.
    audit.record(caller, `power.${how}`, this.#parts.hostName());
    runs.asked({ action, by: asker });
    try {
      await platform.power(how);
    } catch (error) {
      runs.asked(null);
      throw error;
    }
  }
}
