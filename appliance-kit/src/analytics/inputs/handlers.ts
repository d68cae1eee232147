// Inputs: what there are, and changing them.

import type { Audit } from '../../access/audit/index.ts';
import { networkProblem } from '../../access/tokens/index.ts';
import { iso } from '../../base/clock.ts';
import { fail } from '../../base/problems/problem.ts';
import type { Handlers } from '../../http/handlers.ts';
import type { Changes } from '../../http/live-updates/changes.ts';
import type { Database } from '../../state/database.ts';
import type { Settings } from '../../state/settings.ts';
import type { routes } from './routes.ts';
import type { Input, InputSettings } from './schema.ts';
import { inputSettings } from './settings.ts';
import type { InputRunner, InputState } from './storaged.ts';

function settingsOf(one: InputSettings): InputSettings {
  const { enabled, networks, seriesPerSecond, seriesBurst, senderSeriesPerSecond, senderSeriesBurst } = one;
  return { enabled, networks, seriesPerSecond, seriesBurst, senderSeriesPerSecond, senderSeriesBurst };
}

const shown = (name: string, { senders, ...state }: InputState): Omit<Input, 'etag'> => ({
  name,
  ...settingsOf(state),
  ...{ listens: [...state.listens], newSeries: state.newSeries, refused: state.refused },
  senders: senders.map(({ last, ...sender }) => ({
    ...sender,
    lastAt: Date.parse(last) > 0 ? iso(Date.parse(last)) : null,
  })),
});

function mustMakeSense(body: InputSettings): void {
  const errors = body.networks.flatMap((text) => {
    const message = networkProblem(text);
    return message === null ? [] : [{ path: '/networks', message: `${text} ${message}` }];
  });
  for (const [rate, burst] of [
    ['seriesPerSecond', 'seriesBurst'],
    ['senderSeriesPerSecond', 'senderSeriesBurst'],
  ] as const) {
    if (body[rate] > 0 && body[burst] === 0)
      errors.push({
        path: `/${burst}`,
        message: 'must be above 0 where there is a limit a second: nothing new would come in',
      });
  }
  if (errors.length === 0) return;
  const words = errors.map(({ path, message }) => `${path.slice(1)}: ${message}`).join('; ');
  throw fail('invalid_request', `The input was refused: ${words}.`, undefined, errors);
}

export function inputRoutes(parts: {
  db: Database;
  settings: Settings;
  runner: InputRunner;
  audit: Audit;
  changes: Changes;
}): Handlers<typeof routes> {
  const { db, settings, runner, audit, changes } = parts;
  const find = (inputs: Readonly<Record<string, InputState>>, name: string): InputState => {
    const one = Object.hasOwn(inputs, name) ? inputs[name] : undefined;
    if (one === undefined) throw fail('not_found', `There is no input ${name}.`);
    return one;
  };
  return {
    listInputs: async () => {
      const { inputs } = await runner.look();
      return { items: Object.entries(inputs).map(([name, state]) => shown(name, state)) };
    },
    getInput: async ({ params: { name } }) => shown(name, find((await runner.look()).inputs, name)),
    setInput: ({ params: { name }, body, caller }) =>
      runner.inTurn(async () => {
        mustMakeSense(body);
        const before = settingsOf(find((await runner.look()).inputs, name));
        const wanted = { ...settings.get(inputSettings), [name]: settingsOf(body) };
        // storaged first: a port that somebody else has is found out there. What is written after that is what runs; were
        // akd to end in between, the watch would take back what nobody was told is set.
        const { inputs } = await runner.set(wanted);
        db.transaction(() => {
          settings.set(inputSettings, wanted);
          audit.record(caller, 'input.set', name, before, settingsOf(body));
        });
        changes.publish('inputs', name);
        return shown(name, find(inputs, name));
      }),
  };
}
