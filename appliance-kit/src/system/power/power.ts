// Rebooting and switching off: now, or at a time.
import type { Audit } from '../../access/audit/index.ts';
import { type Clock, iso } from '../../base/clock.ts';
import { fail } from '../../base/problems/problem.ts';
import { duration, plural } from '../../base/words.ts';
import { appliance, type By } from '../../http/gate/caller.ts';
import type { Changes } from '../../http/live-updates/changes.ts';
import type { Storaged } from '../../peers/storaged.ts';
import type { Platform } from '../../platform/platform.ts';
import { type Settings, setting } from '../../state/settings.ts';
import type { End, Runs } from './runs.ts';
import type { PowerAction, PowerPlanInput, PowerState } from './schema.ts';

interface Plan extends PowerPlanInput {
  readonly by: string;
}

export const planSetting = setting<Plan | null>('power.plan');

const DAY_MS = 86_400_000;
const SOONEST_MS = 60_000;
const LATEST_MS = 366 * DAY_MS;
const STORE_DEADLINE_MS = 5_000;
/** What was to be done longer ago, as the machine was off or its clock was set, is not done any more. */
const LATE_MS = 600_000;

export const VERBS: Readonly<Record<PowerAction, string>> = { reboot: 'reboot', 'power-off': 'switch off' };

export interface PowerParts {
  readonly platform: Platform;
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

export function endedWords({ how, action, by }: End): string {
  if (how === 'first') return 'It was not started before.';
  if (how === 'interrupted')
    return 'Before that it was interrupted: its power was cut, it was reset, or its system crashed.';
  if (action === null) return 'Before that it was shut down in order, by another way than this page.';
  return `Before that ${by} had it ${action === 'reboot' ? 'rebooted' : 'switched off'}.`;
}

function wrongTime(message: string) {
  return fail('invalid_request', `The time ${message}.`, 'Choose another time.', [{ path: '/at', message }]);
}

export class Power {
  readonly #parts: PowerParts;

  constructor(parts: PowerParts) {
    this.#parts = parts;
  }

  async #replayed(): Promise<PowerState['replayed']> {
    // A store that is away is shown by its service. Right after a start of the system it may take its time.
    const status = await this.#parts.storaged.status(STORE_DEADLINE_MS).catch(() => undefined);
    if (status?.replayed === undefined || status.startedAt === undefined) return null;
    const { samples, seconds, damagedBytes, damagedEntries } = status.replayed;
    const lost = damagedBytes > 0 || damagedEntries > 0;
    const back =
      samples === 0
        ? 'Nothing had to be read back from the journal.'
        : `${samples.toLocaleString('en-GB')} samples that were in no block yet were read back from the journal, in ${seconds < 1.5 ? `${seconds.toFixed(1)} seconds` : duration(seconds)}.`;
    const missing = lost
      ? ` ${plural(damagedBytes, 'byte')} of it could not be read: what they held is lost, unless a snapshot has it.`
      : samples > 0
        ? ' None is missing.'
        : '';
    return { at: status.startedAt, samples, seconds, damagedBytes, sentence: back + missing };
  }

  async state(): Promise<PowerState> {
    const { platform, clock, runs } = this.#parts;
    const upSeconds = platform.uptimeSeconds();
    const end = runs.before();
    const plan = this.plan();
    return {
      sentence: `It has run for ${duration(upSeconds)}. ${endedWords(end)}`,
      startedAt: iso(clock.now() - upSeconds * 1000),
      upSeconds,
      ended: { ...end, at: end.at === null ? null : iso(end.at) },
      replayed: await this.#replayed(),
      plan: plan && { ...plan, inSeconds: Math.max(0, (Date.parse(plan.at) - clock.now()) / 1000) },
    };
  }

  plan(): Plan | null {
    return this.#parts.settings.get(planSetting) ?? null;
  }

  make(input: PowerPlanInput, by: By): void {
    const { clock, audit, settings, changes } = this.#parts;
    const there = this.plan();
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
    const plan: Plan = { ...input, at: iso(at), by: by.name };
    settings.set(planSetting, plan);
    audit.record(by, 'power-plan.make', `${VERBS[plan.action]} at ${plan.at}`, null, plan);
    changes.publish('power');
  }

  cancel(by: By): void {
    const plan = this.plan();
    if (plan === null)
      throw fail('not_found', 'Nothing is planned.', 'It may have been cancelled, or done, meanwhile.');
    this.#parts.settings.set(planSetting, null);
    this.#parts.audit.record(by, 'power-plan.cancel', `${VERBS[plan.action]} at ${plan.at}`, plan, null);
    this.#parts.changes.publish('power');
  }

  /** Carries out what is due. */
  async due(): Promise<void> {
    const plan = this.plan();
    if (plan === null) return;
    const late = this.#parts.clock.now() - Date.parse(plan.at);
    if (late < 0) return;
    // Gone before it is done: what is started by it shall not do it again.
    this.#parts.settings.set(planSetting, null);
    this.#parts.changes.publish('power');
    if (late > LATE_MS) {
      this.#parts.missed(plan, `its time was ${duration(late / 1000)} ago when the appliance could look`);
      return;
    }
    try {
      await this.end(plan.action, appliance, plan.by);
    } catch (error) {
      this.#parts.missed(plan, error instanceof Error ? error.message : String(error));
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
