// Reads the machine's parts and reports their conditions. Each source is asked for itself: one that cannot be asked
// changes nothing of what is known of it, and hides nothing of the others.
import type { Audit } from '../../access/audit/index.ts';
import type { Alerts, Conditions } from '../../alerting/alerts/index.ts';
import type { AlertClass } from '../../alerting/catalogue/alert-class.ts';
import { CachedReading, type Reading } from '../../base/cached-reading.ts';
import { type Clock, iso } from '../../base/clock.ts';
import { fail, ProblemError } from '../../base/problems/problem.ts';
import { enumerate, plural } from '../../base/words.ts';
import type { Handlers } from '../../http/handlers.ts';
import type { Changes as Published } from '../../http/live-updates/changes.ts';
import type { Storaged } from '../../peers/storaged.ts';
import type {
  Controller,
  ControllerEvent,
  ControllerSensor,
  Inventory,
  PartErrors,
  Port,
  Slot,
  Watchdog,
} from '../../platform/hardware.ts';
import type { Platform } from '../../platform/platform.ts';
import { ChangeDetector, type Poller } from '../../poller/poller.ts';
import type { Settings } from '../../state/settings.ts';
import type { DiskHealths } from '../../storage/disks/index.ts';
import type { Disk, Inventory as Storage } from '../../storage/inventory/index.ts';
import {
  controllerEvent,
  controllerSilent,
  type ErrorsArgs,
  enclosureSilent,
  fanFailed,
  hardwareChanged,
  hardwareSensor,
  linkErrors,
  memoryErrors,
  pcieErrors,
  powerSupplyFailed,
  processorErrors,
  type SensorArgs,
} from './alerts.ts';
import { compare, know } from './changes.ts';
import { type Counted, ErrorCounts } from './errors.ts';
import { hardwareChanges, knownHardware, seenEvent } from './known.ts';
import { ofDisks, ofErrors, ofSensors } from './measurements.ts';
import type { routes } from './routes.ts';
import type { Hardware as HardwareState } from './schema.ts';
import { chassisFaults, distinguished, isWrong, ShelfMemory, type Shelves, sentenceOf } from './sensors.ts';

const MINUTE_MS = 60_000;
const PATIENCE_MS = 1_500;
/** Parts change with a restart; cards and disks may be plugged in while it runs. */
const INVENTORY_MS = 30 * MINUTE_MS;
const CONTROLLER_MS = 10 * MINUTE_MS;
/** A controller that takes long is asked rarely: it rests for as many times as long as its last answer took. */
const REST = 10;
/** As many events in one alert; the page has them all. */
const EVENTS_TOLD = 5;
const CHANGES_KEPT = 50;

export interface HardwareParts {
  readonly platform: Platform;
  readonly clock: Clock;
  readonly settings: Settings;
  readonly conditions: Conditions;
  readonly alerts: Alerts;
  readonly audit: Audit;
  readonly changes: Published;
  readonly poller: Pick<Poller, 'look'>;
  readonly storaged: Storaged;
  readonly inventory: Storage;
  readonly healths: DiskHealths;
}

/** A reading of the management controller, which is asked no more often than it can bear. */
class Rested<T> {
  readonly #reading: CachedReading<T>;
  readonly #clock: Clock;
  #restingUntil = 0;
  #woken = false;
  /** It was asked, and did not answer; null: it was not asked, or could not be, as execd was away. */
  refused: boolean | null = null;

  constructor(read: () => Promise<T>, clock: Clock, options: { maxAgeMs: number; nothing: T }) {
    this.#clock = clock;
    const timed = async () => {
      const began = clock.monotonic();
      try {
        const value = await read();
        this.refused = false;
        return value;
      } catch (error) {
        const away = error instanceof ProblemError && error.problem.code === 'service_unavailable';
        this.refused = away ? null : true;
        throw error;
      } finally {
        const now = clock.monotonic();
        // Also one that refuses at once is left alone for a while.
        this.#restingUntil = now + Math.max((now - began) * REST, options.maxAgeMs);
      }
    };
    // Nobody waits for it: what it says next is looked at in the next round.
    this.#reading = new CachedReading(timed, clock, { ...options, patienceMs: 0 });
  }

  get(): Promise<Reading<T>> {
    if (this.#clock.monotonic() < this.#restingUntil) return Promise.resolve(this.last());
    if (!this.#woken) return this.#reading.get();
    this.#woken = false;
    return this.#reading.soon();
  }

  /** It is asked at the next look, however long it was to rest. */
  wake(): void {
    this.#restingUntil = 0;
    this.#woken = true;
  }

  last(): Reading<T> {
    return this.#reading.last();
  }
}

export class Hardware {
  readonly #parts: HardwareParts;
  readonly #inventory: CachedReading<Inventory | null>;
  readonly #ports: CachedReading<Port[]>;
  readonly #errors: CachedReading<PartErrors[]>;
  readonly #slots: CachedReading<Slot[]>;
  readonly #watchdogs: CachedReading<Watchdog[]>;
  readonly #controller: Rested<Controller | null>;
  readonly #sensors: Rested<ControllerSensor[]>;
  readonly #events: Rested<ControllerEvent[]>;
  readonly #enclosures: Rested<Shelves | null>;
  readonly #counts: ErrorCounts;
  readonly #detector: ChangeDetector;
  #bootId = '';
  /** The inventory that was compared last. */
  #compared: unknown = null;

  constructor(parts: HardwareParts) {
    this.#parts = parts;
    const { clock, settings } = parts;
    const { hardware } = parts.platform;
    const fresh = hardware.freshMs ?? MINUTE_MS;
    const minutely = { maxAgeMs: fresh, patienceMs: PATIENCE_MS };
    this.#inventory = new CachedReading<Inventory | null>(() => hardware.inventory(), clock, {
      ...{ maxAgeMs: INVENTORY_MS, patienceMs: PATIENCE_MS, nothing: null },
    });
    this.#ports = new CachedReading<Port[]>(() => hardware.ports(), clock, { ...minutely, nothing: [] });
    this.#errors = new CachedReading<PartErrors[]>(() => hardware.errors(), clock, { ...minutely, nothing: [] });
    this.#slots = new CachedReading<Slot[]>(() => hardware.slots(), clock, { ...minutely, nothing: [] });
    this.#watchdogs = new CachedReading<Watchdog[]>(() => hardware.watchdogs(), clock, {
      ...{ ...minutely, maxAgeMs: INVENTORY_MS, nothing: [] },
    });
    this.#controller = new Rested<Controller | null>(() => hardware.controller(), clock, {
      ...{ maxAgeMs: Math.min(CONTROLLER_MS, fresh * 10), nothing: null },
    });
    const rested = { maxAgeMs: fresh, nothing: [] };
    this.#sensors = new Rested<ControllerSensor[]>(
      async () => distinguished(await hardware.controllerSensors()),
      clock,
      rested,
    );
    this.#events = new Rested<ControllerEvent[]>(() => hardware.controllerEvents(), clock, rested);
    const shelves = new ShelfMemory();
    this.#enclosures = new Rested<Shelves | null>(async () => shelves.hear(await hardware.enclosures()), clock, {
      ...{ maxAgeMs: fresh, nothing: null },
    });
    this.#counts = new ErrorCounts(settings);
    this.#detector = new ChangeDetector(parts.changes, 'hardware');
  }

  /** Never fails, and waits for none of its sources for long. */
  async look(): Promise<() => void> {
    const { platform } = this.#parts;
    if (this.#bootId === '') this.#bootId = await platform.bootId();
    const [inventory, ports, errors, slots, controller, shelves] = await Promise.all([
      this.#inventory.get(),
      this.#ports.get(),
      this.#errors.get(),
      this.#slots.get(),
      this.#controller.get(),
      this.#enclosures.get(),
    ]);
    // Nothing more is asked of a controller that there is not, or that does not even say what it is.
    const present = controller.value !== null;
    const [sensors, events] = await Promise.all([
      present ? this.#sensors.get() : this.#sensors.last(),
      present ? this.#events.get() : this.#events.last(),
    ]);
    const disks = await this.#parts.inventory.disks();
    return () => {
      const all = this.#sensorsNow();
      this.#detector.compare([controller.error, all.map(({ state }) => state), slots.value, errors.value]);
      this.#reportController(controller, sensors);
      this.#reportEnclosures(shelves.value);
      // What it said last stands. A machine without a controller may have enclosures all the same.
      const heard = present ? sensors.error === null || sensors.value.length > 0 : controller.error === null;
      // A controller that is silent hides no shelf, and shelves that cannot be asked hide no controller.
      const told = heard || (shelves.value !== null && this.#silence(controller, sensors) !== null);
      const asked = shelves.value !== null || this.#enclosures.refused === true;
      if (told && asked && slots.error === null) this.#reportSensors(all, controller.value, slots.value);
      if (errors.error === null && ports.error === null) this.#reportErrors(this.#counted());
      if (present && events.error === null) this.#reportEvents(events.value);
      if (inventory.error === null && inventory.value !== null && ports.error === null && disks.error === null)
        this.#reportChanges(inventory.value, ports.value, disks.value);
    };
  }

  #reportController(controller: Reading<Controller | null>, sensors: Reading<ControllerSensor[]>): void {
    const why = this.#silence(controller, sensors);
    const answers = controller.error === null && (controller.value === null || this.#sensors.refused === false);
    // Before it was asked, and while execd is away, what was said of it stands.
    if (why !== null || answers)
      this.#parts.conditions.report(controllerSilent, why === null ? [] : [{ args: { why } }]);
  }

  /** Of the controller and of enclosures, as each said last. */
  #sensorsNow(): ControllerSensor[] {
    const { heard, standing } = this.#enclosures.last().value ?? { heard: [], standing: [] };
    return [...this.#sensors.last().value, ...heard, ...standing];
  }

  #reportEnclosures(shelves: Shelves | null): void {
    if (shelves === null) return;
    const silent = shelves.enclosures.flatMap(({ id, title, error }) =>
      error === null ? [] : [{ args: { id, title, why: error } }],
    );
    this.#parts.conditions.report(enclosureSilent, silent);
  }

  /** Why nothing is heard of it; null as long as there is no telling, or it answers. */
  #silence(controller: Reading<Controller | null>, sensors: Reading<ControllerSensor[]>): string | null {
    if (controller.error !== null) return this.#controller.refused ? controller.error : null;
    return controller.value !== null && this.#sensors.refused ? sensors.error : null;
  }

  #reportSensors(sensors: readonly ControllerSensor[], controller: Controller | null, slots: readonly Slot[]): void {
    const wrong = sensors.filter(isWrong);
    const report = (kind: AlertClass<SensorArgs>, mine: readonly SensorArgs[]) =>
      this.#parts.conditions.report(
        kind,
        mine.map((args) => ({ args })),
      );
    const args = (one: ControllerSensor): SensorArgs => ({
      sensor: one.name,
      level: one.state === 'critical' ? 'critical' : 'warning',
      words: sentenceOf(one),
    });
    const supplies = wrong.filter(({ kind }) => kind === 'power-supply');
    const fans = wrong.filter(({ kind }) => kind === 'fan');
    const others = wrong.filter(({ kind }) => kind !== 'power-supply' && kind !== 'fan');
    report(powerSupplyFailed, supplies.map(args));
    report(fanFailed, fans.map(args));
    report(hardwareSensor, [
      ...others.map(args),
      ...chassisFaults(controller, sensors).map(
        (words): SensorArgs => ({ sensor: words, level: 'warning', words: `${words}.` }),
      ),
      ...slots
        .filter(({ state }) => state === 'critical' || state === 'warning')
        .map(({ enclosure, slot, state }): SensorArgs => {
          const level = state === 'critical' ? 'critical' : 'warning';
          return {
            sensor: `${slot} of the enclosure ${enclosure}`,
            level,
            words: `${slot} reports a fault of its disk.`,
          };
        }),
    ]);
  }

  /** Since the start, or since they were cleared. */
  #counted(): Counted[] {
    const titles = new Map((this.#inventory.last().value?.cards ?? []).map(({ place, title }) => [place, title]));
    return this.#counts.count(this.#bootId, this.#errors.last().value, this.#ports.last().value, titles);
  }

  #reportErrors(counted: readonly Counted[]): void {
    const report = (kind: AlertClass<ErrorsArgs>, which: Counted['kind']) =>
      this.#parts.conditions.report(
        kind,
        counted
          .filter((one) => one.kind === which && one.alarming)
          .map(({ part, title, corrected, uncorrected, detail }) => ({
            args: { part, title, corrected, uncorrected, detail },
          })),
      );
    report(memoryErrors, 'memory');
    report(processorErrors, 'processor');
    report(pcieErrors, 'pcie');
    report(linkErrors, 'link');
  }

  /** Each event once, also after a restart; what was in the log before the appliance looked for the first time is old. */
  #reportEvents(events: readonly ControllerEvent[]): void {
    const { settings, alerts } = this.#parts;
    const newest = events.at(-1);
    const seen = settings.get(seenEvent);
    if (newest === undefined) {
      if (seen === undefined || seen.number !== 0) settings.set(seenEvent, { number: 0, at: null });
      return;
    }
    if (seen?.number === newest.number && seen.at === newest.at) return;
    settings.set(seenEvent, { number: newest.number, at: newest.at });
    if (seen === undefined) return;
    // A log that was emptied begins anew.
    const from = events.findIndex(({ number, at }) => number === seen.number && at === seen.at);
    const bad = events.slice(from + 1).filter(({ state }) => state === 'warning' || state === 'critical');
    if (bad.length === 0) return;
    const level = bad.some(({ state }) => state === 'critical') ? 'critical' : 'warning';
    const told = bad.slice(-EVENTS_TOLD).map(({ sensor, text }) => `${sensor}: ${text}`);
    const args = { number: newest.number, level, events: told, more: bad.length - told.length } as const;
    alerts.raise({ kind: controllerEvent, args });
  }

  #reportChanges(inventory: Inventory, ports: readonly Port[], disks: readonly Disk[]): void {
    const { settings, alerts, clock, changes: published } = this.#parts;
    if (this.#compared === inventory) return;
    this.#compared = inventory;
    const before = settings.get(knownHardware);
    const now = know(inventory, ports, disks, before);
    settings.set(knownHardware, now);
    if (before === undefined) return;
    const { changes, missing } = compare(before, now);
    if (changes.length === 0) return;
    const at = iso(clock.now());
    const kept = settings.get(hardwareChanges) ?? [];
    settings.set(hardwareChanges, [...changes.map((text) => ({ at, text })), ...kept].slice(0, CHANGES_KEPT));
    alerts.raise({ kind: hardwareChanged, args: { at, missing, changes } });
    published.publish('hardware');
  }

  /** Once a minute: what was read last, as metrics. */
  async measure(): Promise<void> {
    const { storaged, healths } = this.#parts;
    const disks = await this.#parts.inventory.disks();
    const [sensors, shelves] = [this.#sensors.last(), this.#enclosures.last()];
    const errors = this.#errors.last();
    const measurements = [
      ...(sensors.error === null ? ofSensors(sensors.value) : []),
      ...(shelves.error === null ? ofSensors(shelves.value?.heard ?? []) : []),
      ...(errors.error === null ? ofErrors(this.#counted()) : []),
      ...ofDisks(healths.facts(disks.value)),
    ];
    if (measurements.length === 0) return;
    await storaged.store(measurements).catch((error: unknown) => {
      // A store that is away, or not there yet, is shown by its service; what was read is read again in a minute.
      if (!(error instanceof ProblemError) || !['service_unavailable', 'timeout'].includes(error.problem.code))
        throw error;
    });
  }

  async read(): Promise<HardwareState> {
    const { settings, inventory: storage } = this.#parts;
    const [inventory, ports, errors, slots, watchdogs, disks] = await Promise.all([
      this.#inventory.get(),
      this.#ports.get(),
      this.#errors.get(),
      this.#slots.get(),
      this.#watchdogs.get(),
      storage.disks(),
    ]);
    const counted = this.#counted();
    const sensors = this.#sensors.last();
    const [all, shelves] = [this.#sensorsNow(), this.#enclosures.last()];
    const ids = new Map(disks.value.map(({ path, id }) => [path, id]));
    const known = inventory.value;
    const bytes = known?.memory.reduce((sum, { bytes: one }) => sum + (one ?? 0), 0) ?? 0;
    const controller = this.#describe(this.#controller.last(), sensors);
    return {
      ...this.#sentence(all, counted, slots.value, controller),
      summary:
        known === null
          ? null
          : {
              ...{ maker: known.maker, product: known.product, serial: known.serial, assetTag: known.assetTag },
              ...{ board: { ...known.board }, firmware: { ...known.firmware }, microcode: known.microcode },
              ...{ secureBoot: known.secureBoot, lockdown: known.lockdown },
            },
      memoryBytes: bytes > 0 ? bytes : null,
      processors: (known?.processors ?? []).map((one) => ({ ...one })),
      memory: (known?.memory ?? []).map((one) => ({ ...one })),
      cards: (known?.cards ?? []).map((one) => ({ ...one })),
      ports: ports.value.map((one) => ({ ...one })),
      controller,
      sensors: all.map((one) => ({ ...one, reports: [...one.reports] })),
      enclosures: (shelves.value?.enclosures ?? []).map(({ id, title, error }) => ({ id, title, error })),
      errors: counted.map(({ alarming, ...one }) => ({
        ...one,
        state: !alarming ? 'ok' : one.uncorrected > 0 && one.kind !== 'link' ? 'critical' : 'warning',
      })),
      slots: slots.value.map(({ disk, ...one }) => ({ ...one, disk: disk === null ? null : (ids.get(disk) ?? null) })),
      watchdogs: watchdogs.value.map((one) => ({ ...one })),
      changes: [...(settings.get(hardwareChanges) ?? [])],
      problems: [inventory, ports, errors, slots, watchdogs, ...(this.#enclosures.refused ? [shelves] : [])].flatMap(
        ({ error }) => error ?? [],
      ),
    };
  }

  #describe(controller: Reading<Controller | null>, sensors: Reading<ControllerSensor[]>): HardwareState['controller'] {
    const { value } = controller;
    const facts = {
      ...{ maker: value?.maker ?? null, firmware: value?.firmware ?? null, address: value?.address ?? null },
      ...{ mac: value?.mac ?? null, logUsedRatio: value?.logUsedRatio ?? null, ageSeconds: sensors.ageSeconds },
      chassis: chassisFaults(value, sensors.value),
    };
    const silence = this.#silence(controller, sensors);
    if (silence !== null) return { state: 'silent', sentence: silence, ...facts };
    const unheard = controller.error ?? (value === null ? null : sensors.error);
    if (unheard !== null) return { state: 'asked', sentence: unheard, ...facts };
    if (value === null) return { state: 'none', sentence: 'This machine has no management controller.', ...facts };
    return { state: 'answers', sentence: `It answers, with ${plural(sensors.value.length, 'sensor')}.`, ...facts };
  }

  #sentence(
    sensors: readonly ControllerSensor[],
    counted: readonly Counted[],
    slots: readonly Slot[],
    controller: HardwareState['controller'],
  ): Pick<HardwareState, 'state' | 'sentence'> {
    const wrong = sensors.filter(isWrong);
    const erring = counted.filter(({ alarming }) => alarming);
    const faulty = slots.filter(({ state }) => state === 'critical' || state === 'warning');
    const said = [
      ...(wrong.length > 0 ? [`${plural(wrong.length, 'sensor')} out of range`] : []),
      ...(erring.length > 0 ? [`${plural(erring.length, 'part')} with errors`] : []),
      ...(faulty.length > 0 ? [`${plural(faulty.length, 'slot')} with a fault`] : []),
      ...(controller.chassis.length > 0 ? ['a fault of the chassis'] : []),
    ];
    const silent = (this.#enclosures.last().value?.enclosures ?? []).filter(({ error }) => error !== null);
    if (silent.length > 0)
      said.push(`${plural(silent.length, 'enclosure')} that ${silent.length === 1 ? 'does' : 'do'} not answer`);
    if (said.length === 0 && controller.state === 'silent')
      return { state: 'warning', sentence: 'The management controller does not answer; no part reports errors.' };
    if (said.length === 0) return { state: 'ok', sentence: 'No part reports a fault or errors.' };
    const critical =
      [...wrong, ...faulty].some(({ state }) => state === 'critical') ||
      erring.some(({ kind, uncorrected }) => kind !== 'link' && uncorrected > 0);
    const verb = said.length === 1 && /^(1|a) /.test(said[0] ?? '') ? 'is' : 'are';
    return { state: critical ? 'critical' : 'warning', sentence: `There ${verb} ${enumerate(said)}.` };
  }

  /** The newest first. */
  async events() {
    const { value, ageSeconds, error } =
      this.#controller.last().value === null ? this.#events.last() : await this.#events.get();
    const none = this.#controller.last();
    const items = value.map(({ at, ...one }) => ({ ...one, at: at === null ? null : iso(at) })).reverse();
    // Without a controller there is nothing to wait for.
    return { items, ageSeconds, error: none.error === null && none.value === null ? null : error };
  }

  /** For whoever has just mended it: it would else be left alone for ten times as long as its last answer took. */
  retryController(caller: Parameters<Audit['record']>[0]): void {
    const known = this.#controller.last();
    if (known.error === null && known.value === null)
      throw fail('not_found', 'This machine has no management controller.', 'Nothing has to be asked.');
    for (const one of [this.#controller, this.#sensors, this.#events]) one.wake();
    this.#parts.audit.record(caller, 'hardware.controller.retry', 'the management controller');
    void this.#parts.poller.look();
  }

  async clear(part: string, caller: Parameters<Audit['record']>[0]): Promise<void> {
    const { audit, clock, changes } = this.#parts;
    const [errors, ports] = [await this.#errors.soon(), await this.#ports.soon()];
    if (!this.#counts.clear(this.#bootId, part, errors.value, ports.value, clock.now()))
      throw fail(
        'not_found',
        `There is no part ${part} that counts errors.`,
        'Load the page again: it may have been taken out.',
      );
    audit.record(caller, 'hardware.errors.clear', part);
    if (errors.error === null && ports.error === null) this.#reportErrors(this.#counted());
    changes.publish('hardware');
  }
}

export function hardwareRoutes(hardware: Hardware): Handlers<typeof routes> {
  return {
    getHardware: () => hardware.read(),
    listHardwareEvents: () => hardware.events(),
    retryController: ({ caller }) => {
      hardware.retryController(caller);
      return undefined;
    },
    clearHardwareErrors: async ({ params, caller }) => {
      await hardware.clear(params.part, caller);
      return undefined;
    },
  };
}
