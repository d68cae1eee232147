// The recorded statistics as a part of the settings document: by their names, as tracerd writes them.
import { closed } from '../../base/schema/schema.ts';
import { asked, manyPart } from '../../domain/settings-part.ts';
import type { Handlers } from '../../http/handlers.ts';
import type { Tracerd } from '../../peers/tracerd.ts';
import type { routes } from './routes.ts';

export const statisticsPart = (tracerd: Tracerd, handlers: Handlers<typeof routes>) =>
  manyPart({
    ...{ name: 'recorded-statistics', title: 'Recorded statistics', version: 1, schema: closed({}) },
    covers: ['recordStatistic', 'stopRecordingStatistic', 'destroyStatistic'],
    keys: /^[^\p{Cc}]{1,4096}$/u,
    read: async () =>
      Object.fromEntries((await tracerd.datasets()).filter(({ recorded }) => recorded).map(({ name }) => [name, {}])),
    create: (name, _, caller) => asked(handlers.recordStatistic, { params: { name }, caller }),
    update: () => {},
    remove: (name, caller) => asked(handlers.stopRecordingStatistic, { params: { name }, caller }),
  });
