// What the operating system has diagnosed of the machine's parts (illumos' fault manager), as alerts. What other
// alerts explain is left out: pools and their disks (ZFS says more), and the appliance's own services.

import type { Conditions } from '../../alerting/alerts/index.ts';
import { CachedReading } from '../../base/cached-reading.ts';
import type { Clock } from '../../base/clock.ts';
import type { Platform, PlatformFault } from '../../platform/platform.ts';
import type { Watch } from '../../poller/poller.ts';
import { hardwareFaulty } from './alerts.ts';

/** A diagnosis itself takes minutes, and asking starts a program. */
const MAX_AGE_MS = 5 * 60_000;
const PATIENCE_MS = 1_500;

const toldElsewhere = ({ classes, affects }: PlatformFault) =>
  (classes.length > 0 && classes.every((one) => /^(fault|defect|upset)\.fs\.zfs\./.test(one))) ||
  (affects.length > 0 && affects.every((one) => /^svc:\/+(application|network|system)\/cistern\//.test(one)));

export class Faults implements Watch {
  readonly #conditions: Conditions;
  readonly #faults: CachedReading<PlatformFault[]> | null;

  constructor(platform: Platform, clock: Clock, conditions: Conditions) {
    this.#conditions = conditions;
    const read = platform.faults?.bind(platform);
    this.#faults =
      read === undefined
        ? null
        : new CachedReading(read, clock, { maxAgeMs: MAX_AGE_MS, patienceMs: PATIENCE_MS, nothing: [] });
  }

  /** What cannot be read changes nothing: what was known stands. */
  async look(): Promise<() => void> {
    const reading = await this.#faults?.get();
    return () => {
      if (reading !== undefined && reading.error === null) this.#report(reading.value);
    };
  }

  #report(faults: readonly PlatformFault[]): void {
    this.#conditions.report(
      hardwareFaulty,
      faults
        .filter((fault) => !toldElsewhere(fault))
        .map(({ id, code, severity, classes, affects, parts, description, action }) => ({
          args: {
            faultId: id,
            code,
            faultSeverity: severity,
            parts: [...(parts.length > 0 ? parts : affects)],
            diagnosis: description || `A fault of the class ${classes.join(', ') || 'unknown'} was diagnosed.`,
            advice: action,
          },
        })),
    );
  }
}
