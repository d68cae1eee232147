// Looks at the machine itself and reports its conditions. Each of the three is asked for itself: one that cannot be
// asked changes nothing of what is known of it, and hides nothing of the others.

import type { Audit } from '../../access/audit/index.ts';
import type { Alerts, Conditions } from '../../alerting/alerts/index.ts';
import { CachedReading, type Reading } from '../../base/cached-reading.ts';
import type { Clock } from '../../base/clock.ts';
import { fail } from '../../base/problems/problem.ts';
import type { Handlers } from '../../http/handlers.ts';
import type { Changes } from '../../http/live-updates/changes.ts';
import type { PlatformLink, Sensor, TimeSource } from '../../platform/machine.ts';
import type { Platform } from '../../platform/platform.ts';
import type { Settings } from '../../state/settings.ts';
import type { DiskHealths, Heat } from '../../storage/disks/index.ts';
import type { Disk } from '../../storage/inventory/index.ts';
import { clockStepped, linkDown, temperatureHigh, timeUnsynchronised } from './alerts.ts';
import { describeClock, fault, Steps } from './clock.ts';
import { Links } from './links.ts';
import type { routes } from './routes.ts';
import type { MachineClock, MachineLink, Machine as MachineState, MachineTemperature } from './schema.ts';
import { describeHeat, type Level } from './temperatures.ts';

const TIME_MS = 30_000;
const SOON_MS = 5_000;
const PATIENCE_MS = 2_000;

export interface MachineParts {
  readonly platform: Platform;
  readonly clock: Clock;
  readonly settings: Settings;
  readonly conditions: Conditions;
  readonly alerts: Alerts;
  readonly healths: DiskHealths;
  readonly audit: Audit;
  readonly changes: Changes;
}

export class Machine {
  readonly #parts: MachineParts;
  readonly #time: CachedReading<TimeSource | null>;
  readonly #links: CachedReading<PlatformLink[]>;
  readonly #sensors: CachedReading<Sensor[]>;
  readonly #known: Links;
  readonly #steps: Steps;
  /** The links that were down when they were looked at last. */
  #down = new Set<string>();
  #linkUp: () => void = () => {};
  /** Those that were there when the system was last asked. */
  disks: readonly Disk[] = [];

  constructor(parts: MachineParts) {
    this.#parts = parts;
    const { platform, clock, settings } = parts;
    const options = { maxAgeMs: SOON_MS, patienceMs: PATIENCE_MS };
    const { machine } = platform;
    this.#time = new CachedReading<TimeSource | null>(() => machine.timeSource(), clock, {
      ...{ ...options, maxAgeMs: TIME_MS, nothing: null },
    });
    this.#links = new CachedReading<PlatformLink[]>(() => machine.links(), clock, { ...options, nothing: [] });
    this.#sensors = new CachedReading<Sensor[]>(() => machine.sensors(), clock, { ...options, nothing: [] });
    this.#known = new Links(settings);
    this.#steps = new Steps(clock, (args) => parts.alerts.raise({ kind: clockStepped, args }));
  }

  /** Called once: `linkUp` is called when a network link has come up that was down. */
  onLinkUp(linkUp: () => void): void {
    this.#linkUp = linkUp;
  }

  /** Once a second: cheap, and it never fails. */
  tick(): void {
    this.#steps.look();
  }

  /** Never fails, and waits for none of the three for long. */
  async look(): Promise<void> {
    const { conditions, clock } = this.#parts;
    const [time, links, sensors] = await Promise.all([this.#time.get(), this.#links.soon(), this.#sensors.soon()]);
    // The links first: they explain the others.
    if (links.error === null) this.#reportLinks(this.#known.look(links.value));
    if (time.error === null && time.value !== null) {
      const wrong = fault(time.value, clock.now());
      const cut = this.cut();
      conditions.report(timeUnsynchronised, wrong === null ? [] : [{ args: { why: wrong, cut } }]);
    }
    if (sensors.error === null) this.#reportHeat(sensors.value);
  }

  #reportLinks(links: readonly MachineLink[]): void {
    const wrong = links.filter(({ state }) => state === 'down' || state === 'gone');
    const up = links.some(({ name, state }) => state === 'up' && this.#down.has(name));
    this.#down = new Set(wrong.map(({ name }) => name));
    if (up) this.#linkUp();
    // A bond explains its ports: it comes first.
    const ordered = [...wrong].sort((a, b) => Number(b.bond) - Number(a.bond));
    this.#parts.conditions.report(
      linkDown,
      ordered.map(({ name: link, state, member }) => ({ args: { link, gone: state === 'gone', member } })),
    );
  }

  #reportHeat(sensors: readonly Sensor[]): void {
    const hot = this.#temperatures(sensors).filter(({ state }) => state !== 'ok');
    this.#parts.conditions.report(
      temperatureHigh,
      hot.map(({ id: sensor, title: where, celsius, warning, critical, state, disk }) => {
        const level = state as Level;
        const highest = level === 'critical' ? (critical as number) : warning;
        return { args: { sensor, where, celsius, highest, level, disk }, value: celsius, limit: highest };
      }),
    );
  }

  #temperatures(sensors: readonly Sensor[]): MachineTemperature[] {
    const { conditions, healths } = this.#parts;
    const ofDisks: Heat[] = healths.temperatures(this.disks);
    const all: Heat[] = [...sensors.map((sensor) => ({ ...sensor, disk: null })), ...ofDisks];
    // Two chips of one name and no device: distinguished by their order.
    const times = new Map<string, number>();
    return all.map((heat) => {
      const count = (times.get(heat.id) ?? 0) + 1;
      times.set(heat.id, count);
      const one = count === 1 ? heat : { ...heat, id: `${heat.id}/${count}` };
      const { id: sensor, title: where, celsius, disk } = one;
      const active = (level: Level) =>
        conditions.active(temperatureHigh, { sensor, where, celsius, highest: 0, level, disk });
      return describeHeat(one, active);
    });
  }

  /** None as long as the system has never said which there are. */
  #described({ value, error }: Reading<PlatformLink[]>): MachineLink[] {
    return error !== null && value.length === 0 ? [] : this.#known.look(value);
  }

  /** The links that are down and have had a carrier, as they were seen last. */
  down(): { names: string[]; all: boolean } {
    const links = this.#described(this.#links.last());
    const names = links.filter(({ state }) => state === 'down' || state === 'gone').map(({ name }) => name);
    return { names, all: names.length > 0 && !links.some(({ state }) => state === 'up') };
  }

  /** When no link at all is up, those that went down. */
  cut(): string[] {
    const { names, all } = this.down();
    return all ? names : [];
  }

  async read(): Promise<MachineState> {
    const { clock, alerts } = this.#parts;
    const [time, links, sensors] = await Promise.all([this.#time.get(), this.#links.get(), this.#sensors.get()]);
    const lasting = alerts.activeOfClass(timeUnsynchronised.class).length > 0;
    const unknown: MachineClock = {
      ...{ state: 'unknown', sentence: time.error ?? 'It is not known yet.' },
      ...{ daemon: null, source: null, answeredAt: null, offsetSeconds: null },
    };
    return {
      clock: time.value === null || time.error !== null ? unknown : describeClock(time.value, clock.now(), lasting),
      links: this.#described(links),
      temperatures: this.#temperatures(sensors.value),
      errors: [links.error, sensors.error].filter((error) => error !== null),
    };
  }

  async forget(name: string, caller: Parameters<Audit['record']>[0]): Promise<void> {
    const { audit, changes } = this.#parts;
    const links = await this.#links.get();
    const link = this.#described(links).find((one) => one.name === name);
    if (link === undefined) throw fail('not_found', `There is no network link ${name}.`);
    if (link.state !== 'down' && link.state !== 'gone') {
      throw fail('conflict', `The network link ${name} is not down.`, 'Only a link that is down can be forgotten.');
    }
    this.#known.forget(name);
    audit.record(caller, 'link.forget', name);
    this.#reportLinks(this.#described(links));
    changes.publish('status');
  }
}

export function machineRoutes(machine: Machine): Handlers<typeof routes> {
  return {
    getMachine: () => machine.read(),
    forgetLink: async ({ params, caller }) => {
      await machine.forget(params.name, caller);
      return undefined;
    },
  };
}
