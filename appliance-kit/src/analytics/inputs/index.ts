// Inputs: the ways in for samples.
import { join } from 'node:path';
import type { AuditDomain } from '../../access/audit/index.ts';
import type { SetupDomain } from '../../access/setup/index.ts';
import type { AlertsDomain } from '../../alerting/alerts/index.ts';
import { logFailure } from '../../base/problems/log-failure.ts';
import { domain, type Kernel } from '../../domain/domain.ts';
import { Peer } from '../../peers/peer.ts';
import { Hourly } from '../../schedules/hourly.ts';
import { alertClasses, inputCertificateExpiring } from './alerts.ts';
import { type Door, doorsOf } from './doors.ts';
import { certificateOf, inputRoutes } from './handlers.ts';
import { migrations } from './migrations.ts';
import { NewNames } from './new-names.ts';
import { Newcomers } from './newcomers.ts';
import { routes } from './routes.ts';
import { settings as declared, inputSettings, ownByDefault, wantedOf } from './settings.ts';
import { inputsPart } from './settings-part.ts';
import { InputRunner, revisionOf } from './storaged.ts';

export type { Door } from './doors.ts';

const DAY_MS = 86_400_000;
const EXPIRES_SOON_DAYS = 30;
/** Who is new is announced within five seconds. */
const NEWCOMERS_MS = 4_000;
/** A sample is drawn two seconds after it came: statsd hands it on within one. */
const NAMES_MS = 500;

export interface InputsDomain {
  /** Where inputs listen now, and to whom; fails while the store is down. */
  readonly inputDoors: () => Promise<readonly Door[]>;
  /** Called after each change, which is answered once that has ended; what it throws is logged. */
  readonly onInputsChanged: (run: () => Promise<void>) => void;
}

export const inputsDomain = domain({
  name: 'analytics/inputs',
  routes,
  topics: ['inputs', 'metrics'],
  settings: declared,
  migrations,
  alertClasses,
  create: (parts: Kernel & AuditDomain & SetupDomain & AlertsDomain) => {
    const { db, config, clock, log, settings, changes, conditions, audit, setup } = parts;
    // An appliance that was set up before there was this keeps what it had: nothing that comes may be lost.
    if (settings.get(ownByDefault) === undefined)
      settings.set(ownByDefault, !setup.completed() && settings.get(inputSettings) === undefined);
    const runner = new InputRunner(new Peer('storaged', join(config.run, 'storaged', 'http.sock')));
    const newcomers = new Newcomers({ db, clock, changes, audit });
    const names = new NewNames({ clock, changes, version: () => runner.names() });
    const hourly = new Hourly(log, 'when the certificate of the inputs ends is not known', async () => {
      const { validTo, own } = certificateOf(await runner.look());
      const ends = validTo === null ? Number.POSITIVE_INFINITY : Date.parse(validTo);
      const days = (ends - clock.now()) / DAY_MS;
      conditions.report(
        inputCertificateExpiring,
        days < EXPIRES_SOON_DAYS ? [{ args: { validTo: ends, days, own } }] : [],
      );
    });
    const listeners: (() => Promise<void>)[] = [];
    const changed = async () => {
      for (const run of listeners) {
        await run().catch((error: unknown) => logFailure(log, 'a change of an input was not followed', error));
      }
    };
    const handlers = inputRoutes({ db, settings, runner, newcomers, audit, changes, changed });
    return {
      provides: {
        inputDoors: async () => doorsOf(await runner.look()),
        onInputsChanged: (run) => void listeners.push(run),
      } satisfies InputsDomain,
      handlers,
      settingsParts: [inputsPart(runner, handlers)],
      periodic: [
        { everyMs: NAMES_MS, run: () => names.look() },
        {
          everyMs: NEWCOMERS_MS,
          // That the store is down is seen elsewhere.
          run: () =>
            runner.look().then(
              (answer) => newcomers.look(answer),
              () => {},
            ),
        },
      ],
      start: () => hourly.start(),
      stop: () => hourly.stop(),
      watch: [
        {
          // A store that was put back, or came with a pool of another machine, has other settings than this appliance.
          look: async () => {
            const { revision } = await runner.look();
            return () =>
              runner.inTurn(async () => {
                const wanted = wantedOf(settings);
                if (revision === revisionOf(wanted) || revision !== (await runner.look()).revision) return;
                await runner.set(wanted).catch((error: Error) =>
                  log.warn('the settings of inputs could not be sent to storaged; it is tried again', {
                    error: error.message,
                  }),
                );
              });
          },
        },
      ],
    };
  },
});
