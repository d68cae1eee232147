// The inputs as a part of the settings document, by their names: there are as many as the store has.
import { asked, manyPart } from '../../domain/settings-part.ts';
import type { Handlers } from '../../http/handlers.ts';
import { mustMakeSense, settingsOf } from './handlers.ts';
import type { routes } from './routes.ts';
import { InputSettings } from './schema.ts';
import type { InputRunner } from './storaged.ts';

export const inputsPart = (runner: InputRunner, handlers: Handlers<typeof routes>) =>
  manyPart({
    ...{ name: 'inputs', title: 'Inputs', version: 1, fixed: true, schema: InputSettings },
    covers: ['setInput', 'nameSender', 'refuseSender', 'withdrawRefusal'],
    read: async () =>
      Object.fromEntries(Object.entries((await runner.look()).inputs).map(([name, one]) => [name, settingsOf(one)])),
    check: (_, given) => mustMakeSense(given),
    update: (name, body, caller) => asked(handlers.setInput, { params: { name }, body, caller }),
  });
