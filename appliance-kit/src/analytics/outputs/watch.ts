// Makes storaged run what it should, and reports outputs that do not deliver, or not everything.
import type { Conditions } from '../../alerting/alerts/index.ts';
import { type Clock, iso } from '../../base/clock.ts';
import type { Changes } from '../../http/live-updates/changes.ts';
import { ChangeDetector, type Watch } from '../../poller/poller.ts';
import { outputFailing, outputRefused, outputSkipped } from './alerts.ts';
import type { Outputs } from './outputs.ts';
import type { OutputRunner, StreamStatus } from './storaged.ts';

/** How long it is reported that something was not sent. */
const REPORTED_MS = 3_600_000;

const minute = (seconds: number) =>
  iso(seconds * 1000)
    .slice(0, 16)
    .replace('T', ' ');

export function outputWatch(parts: {
  outputs: Outputs;
  runner: OutputRunner;
  conditions: Conditions;
  clock: Clock;
  changes: Changes;
}): Watch {
  const { outputs, runner, conditions, clock, changes } = parts;
  const detector = new ChangeDetector(changes, 'outputs');
  return {
    look: async () => {
      const statuses = runner.matters ? await runner.look() : [];
      return async () => {
        if (runner.matters) await runner.push();
        const all = outputs.all();
        const recent = (seconds: number | undefined) =>
          seconds !== undefined && clock.now() - seconds * 1000 < REPORTED_MS;
        // Only those that are still there.
        const known = statuses.flatMap((status) => {
          const one = all.find(({ id, enabled }) => id === status.id && enabled);
          return one === undefined ? [] : [{ status, common: { id: one.id, output: one.name }, lagMiB: one.lagMiB }];
        });
        conditions.report(
          outputFailing,
          known
            .filter(({ status: { state } }) => state === 'failing' || state === 'invalid')
            .map(({ status, common, lagMiB }) => ({
              args: {
                ...{ ...common, lagMiB, invalid: status.state === 'invalid' },
                why: status.error ?? 'storaged does not say why',
              },
            })),
        );
        conditions.report(
          outputSkipped,
          known
            .filter(({ status }) => recent(status.skippedAt))
            .map(({ status, common, lagMiB }) => ({
              args: {
                ...{ ...common, lagMiB, samples: status.skipped },
                span: `${minute(status.skippedFrom ?? 0)} to ${minute(status.skippedTo ?? 0)} UTC`,
              },
            })),
        );
        conditions.report(
          outputRefused,
          known
            .filter(({ status }) => recent(status.refusedAt))
            .map(({ status, common }) => ({
              args: { ...common, samples: status.refused, words: status.refusedWords ?? 'nothing more' },
            })),
        );
        detector.compare(statuses.map(({ id, state, error }: StreamStatus) => [id, state, error]));
      };
    },
  };
}
