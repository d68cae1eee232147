// Host name and time zone, as a part of the settings document.
import { closed } from '../../base/schema/schema.ts';
import { asked, onePart } from '../../domain/settings-part.ts';
import type { Handlers } from '../../http/handlers.ts';
import type { routes } from './routes.ts';
import { Identity } from './schema.ts';
import { mustBeIdentity, type SetupParts } from './setup.ts';

const { hostName, timeZone } = Identity.properties;

export const identityPart = (
  parts: Pick<SetupParts, 'platform' | 'passkeys'>,
  handlers: Pick<Handlers<typeof routes>, 'setIdentity'>,
) =>
  onePart({
    ...{ name: 'identity', title: 'Host name and time zone', version: 1, schema: closed({ hostName, timeZone }) },
    covers: ['setIdentity'],
    normalise: (value) => ({ ...value, hostName: value.hostName.toLowerCase() }),
    read: () => {
      const now = parts.platform.identity();
      return { hostName: now.hostName, timeZone: now.timeZone };
    },
    check: (given) => mustBeIdentity(given, parts),
    set: (body, caller) => asked(handlers.setIdentity, { body, caller }),
  });
