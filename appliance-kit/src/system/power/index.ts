// Reboot and power off, now or at a time, and how it ended before.
import type { AuditDomain } from '../../access/audit/index.ts';
import type { SetupDomain } from '../../access/setup/index.ts';
import type { AlertsDomain } from '../../alerting/alerts/index.ts';
import { iso } from '../../base/clock.ts';
import { domain, type Kernel } from '../../domain/domain.ts';
import { alertClasses, applianceInterrupted, powerMissed } from './alerts.ts';
import { Power, planSetting } from './power.ts';
import { routes } from './routes.ts';
import { type End, endSetting, Runs, runSetting } from './runs.ts';

/** An interruption is known as closely as this. */
const ALIVE_EVERY_MS = 60_000;

export const powerDomain = domain({
  name: 'system/power',
  routes,
  topics: ['power'],
  alertClasses,
  settings: [planSetting, runSetting, endSetting],
  create: (parts: Kernel & AuditDomain & AlertsDomain & SetupDomain) => {
    const { platform, settings, clock, alerts, setup, hostName } = parts;
    const runs = new Runs(settings, clock);
    const power = new Power({
      ...{ ...parts, runs },
      missed: ({ action, at, by }, why) =>
        alerts.raise({ kind: powerMissed, args: { hostName: hostName(), action, at, by, why } }),
    });
    let begun: Promise<{ bootId: string; end: End | null }> | undefined;
    /** Once, by whoever comes first: requests are answered before all domains have started. */
    const began = () => {
      begun ??= platform.bootId().then((bootId) => ({ bootId, end: runs.began(bootId) }));
      return begun;
    };
    const state = async () => {
      await began();
      return power.state();
    };
    return {
      handlers: {
        getPower: state,
        planPower: ({ body, caller }) => {
          power.make(body, caller);
          return state();
        },
        cancelPowerPlan: ({ caller }) => {
          power.cancel(caller);
          return undefined;
        },
        reboot: async ({ caller }) => {
          await power.end('reboot', caller);
          return undefined;
        },
        powerOff: async ({ caller }) => {
          await power.end('power-off', caller);
          return undefined;
        },
      },
      periodic: [
        { everyMs: ALIVE_EVERY_MS, run: () => runs.alive() },
        { everyMs: 5_000, run: () => power.due() },
      ],
      start: async () => {
        const { bootId, end } = await began();
        if (end?.how !== 'interrupted' || end.at === null || !setup.completed()) return;
        const args = { hostName: hostName(), bootId, aliveAt: iso(end.at) };
        alerts.raise({ kind: applianceInterrupted, args });
      },
      stop: () => runs.stopped(),
    };
  },
});
