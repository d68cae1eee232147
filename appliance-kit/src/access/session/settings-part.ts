// How long sessions last, as a part of the settings document.
import { asked, onePart } from '../../domain/settings-part.ts';
import type { Handlers } from '../../http/handlers.ts';
import type { routes } from './routes.ts';
import { SessionLifetime } from './schema.ts';
import type { Sessions } from './sessions.ts';

export const sessionLifetimePart = (sessions: Sessions, handlers: Handlers<typeof routes>) =>
  onePart({
    ...{ name: 'session-lifetime', title: 'How long sessions last', version: 1, schema: SessionLifetime },
    covers: ['setSessionLifetime'],
    read: () => sessions.lifetime(),
    set: (body, caller) => asked(handlers.setSessionLifetime, { body, caller }),
  });
