// How a disk says that it is (SMART). Asking wakes it and takes a while, and one that hangs may never answer: so the last
// answer is kept, and asked for anew in the background.

import type { Audit } from '../../access/audit/index.ts';
import { CachedReading } from '../../base/cached-reading.ts';
import type { Clock } from '../../base/clock.ts';
import { fail } from '../../base/problems/problem.ts';
import { plural } from '../../base/words.ts';
import type { Handlers } from '../../http/handlers.ts';
import type { Platform } from '../../platform/platform.ts';
import { NO_SMART, type SmartReport } from '../../platform/poolActions.ts';
import { type Disk, diskWords, type Inventory } from '../inventory/index.ts';
import type { DiskHealth } from './health.schema.ts';
import type { Heat } from './heat.ts';
import type { routes } from './routes.ts';

const MAX_AGE_MS = 10 * 60_000;
const PATIENCE_MS = 1_500;
/** For a disk that states no limit: beyond this most makers call it out of range for disks and SSDs alike. */
export const HOT_CELSIUS = 60;

/** What is wrong with a disk by its own word, or null. */
export function complaint(report: SmartReport): string | null {
  if (report.warnings.length > 0) return report.warnings.join(' ');
  if (report.passed === false) return 'It says of itself that it is about to fail.';
  const failed = report.selfTests[0]?.passed === false;
  if (failed) return `Its last self-test failed (${report.selfTests[0]?.result}).`;
  if ((report.wearRatio ?? 0) >= 1) return 'It has been written to as much as it was made for.';
  return null;
}

function sentence(report: SmartReport, error: string | null): string {
  if (error !== null) return error;
  if (!report.supported) return 'This disk does not say how it is. Virtual disks and some controllers cannot be asked.';
  const facts = [
    report.temperatureCelsius === null ? null : `${report.temperatureCelsius} °C`,
    report.powerOnHours === null ? null : `${plural(report.powerOnHours, 'hour')} in use`,
    report.wearRatio === null ? null : `${Math.round(report.wearRatio * 100)} % worn`,
    (report.reallocatedSectors ?? 0) > 0 ? `${plural(report.reallocatedSectors ?? 0, 'sector')} replaced` : null,
    (report.pendingSectors ?? 0) > 0 ? `${plural(report.pendingSectors ?? 0, 'sector')} it could not read` : null,
  ].filter((fact) => fact !== null);
  return `${complaint(report) ?? 'It says that it is well.'}${facts.length === 0 ? '' : ` ${facts.join(', ')}.`}`;
}

export class DiskHealths {
  readonly #parts: { platform: Platform; inventory: Inventory; clock: Clock; audit: Audit };
  readonly #known = new Map<string, CachedReading<SmartReport>>();

  constructor(parts: { platform: Platform; inventory: Inventory; clock: Clock; audit: Audit }) {
    this.#parts = parts;
  }

  #reading(id: string): CachedReading<SmartReport> {
    let one = this.#known.get(id);
    if (one === undefined) {
      const read = async () => this.#parts.platform.poolActions.smart(await this.#link(id));
      one = new CachedReading(read, this.#parts.clock, {
        maxAgeMs: MAX_AGE_MS,
        patienceMs: PATIENCE_MS,
        nothing: NO_SMART,
      });
      this.#known.set(id, one);
    }
    return one;
  }

  async #link(id: string): Promise<string> {
    const { links } = await this.#parts.inventory.known();
    const link = links.get(id);
    if (link === undefined) throw fail('disk_missing', `The disk ${id} is not there.`);
    return link;
  }

  async #disk(id: string): Promise<Disk> {
    const { value } = await this.#parts.inventory.disks();
    const disk = value.find((one) => one.id === id);
    if (disk === undefined) throw fail('not_found', `There is no disk ${id}.`);
    return disk;
  }

  async read(id: string): Promise<DiskHealth> {
    await this.#disk(id);
    const { value, ageSeconds, error } = await this.#reading(id).get();
    const { selfTests, highestCelsius: _, criticalCelsius: __, warnings: ___, ...facts } = value;
    return {
      ...facts,
      selfTests: selfTests.map((test) => ({ ...test })),
      sentence: sentence(value, error),
      lit: this.#lit.has(id),
      ageSeconds,
      error,
    };
  }

  async selfTest(
    id: string,
    kind: 'short' | 'long' | 'abort',
    caller: Parameters<Audit['record']>[0],
  ): Promise<DiskHealth> {
    await this.#disk(id);
    this.#parts.audit.record(caller, `disk.test.${kind}`, id);
    await this.#parts.platform.poolActions.selfTest(await this.#link(id), kind);
    await this.#reading(id).soon();
    return this.read(id);
  }

  /** Whose light is on; as far as this akd has switched it. */
  readonly #lit = new Set<string>();

  async locate(id: string, on: boolean, caller: Parameters<Audit['record']>[0]): Promise<{ on: boolean }> {
    await this.#disk(id);
    await this.#parts.platform.poolActions.locate(await this.#link(id), on);
    this.#parts.audit.record(caller, on ? 'disk.locate' : 'disk.locate-off', id);
    if (on) this.#lit.add(id);
    else this.#lit.delete(id);
    return { on };
  }

  /** Of the disks that are there, what each said last; asks those that were not asked for long, without waiting for them. */
  complaints(disks: readonly Disk[]): { disk: Disk; reason: string }[] {
    const present = new Set(disks.map(({ id }) => id));
    for (const id of this.#known.keys()) if (!present.has(id)) this.#known.delete(id);
    return disks.flatMap((disk) => {
      const reading = this.#reading(disk.id);
      void reading.get().catch(() => {});
      const reason = complaint(reading.last().value);
      return reason === null ? [] : [{ disk, reason }];
    });
  }

  /** Of the disks that are there, what each said when it was asked last; those that cannot be asked are left out. */
  facts(disks: readonly Disk[]): (SmartReport & { id: string })[] {
    return disks.flatMap(({ id }) => {
      const known = this.#known.get(id)?.last().value;
      return known?.supported ? [{ id, ...known }] : [];
    });
  }

  /** Of the disks that are there, as warm as each said it was when it was asked last. */
  temperatures(disks: readonly Disk[]): Heat[] {
    return disks.flatMap((disk) => {
      const known = this.#known.get(disk.id)?.last().value;
      const celsius = known?.temperatureCelsius ?? null;
      if (known === undefined || celsius === null) return [];
      const { highestCelsius: maximum, criticalCelsius: critical } = known;
      return [{ id: disk.id, title: `Disk ${diskWords(disk, disk.id)}`, celsius, maximum, critical, disk: disk.id }];
    });
  }
}

export function healthRoutes(
  healths: DiskHealths,
): Pick<Handlers<typeof routes>, 'getDiskHealth' | 'testDisk' | 'locateDisk'> {
  return {
    getDiskHealth: ({ params }) => healths.read(params.id),
    locateDisk: ({ params, body, caller }) => healths.locate(params.id, body.on, caller),
    testDisk: ({ params, body, caller }) => healths.selfTest(params.id, body.kind, caller),
  };
}
