// The identity providers as a part of the settings document, by their ids: their users are known by them.
import { asked, manyPart } from '../../domain/settings-part.ts';
import type { Handlers } from '../../http/handlers.ts';
import type { Changes } from '../../http/live-updates/changes.ts';
import type { Audit } from '../audit/index.ts';
import type { Providers } from './providers.ts';
import type { routes } from './routes.ts';
import { ProviderInput } from './schema.ts';
import { checked, SECRETS, type Stored } from './settings.ts';

const inputOf = ({ id: _, lost: __, ...input }: Stored): ProviderInput => input;

export function providersPart(parts: {
  providers: Providers;
  now: () => number;
  audit: Audit;
  changes: Changes;
  handlers: Handlers<typeof routes>;
}) {
  const { providers, now, audit, changes, handlers } = parts;
  return manyPart({
    ...{ name: 'providers', title: 'Identity providers', version: 1, schema: ProviderInput },
    covers: ['createProvider', 'changeProvider', 'deleteProvider'],
    secrets: Object.entries(SECRETS).flatMap(([kind, fields]) => fields.map((field) => `/${kind}/${field}`)),
    emptied: ['/ldap/ca', '/oidc/ca'],
    normalise: (input, id) => inputOf(checked(id, input, undefined, now())),
    read: () => Object.fromEntries(providers.all().map((one) => [one.id, inputOf(one)])),
    check: (id, given) => void checked(id, given, providers.find(id), now()),
    checkAll: (wanted) => {
      const names = new Map<string, string>();
      return Object.entries(wanted).flatMap(([id, { name }]) => {
        const other = names.get(name.toLowerCase());
        names.set(name.toLowerCase(), id);
        return other === undefined ? [] : [{ path: `/${id}/name`, message: `is that of ${other}, too` }];
      });
    },
    create: (id, input, by) => {
      const one = checked(id, input, undefined, now());
      providers.keep(one);
      audit.record(by, 'provider.create', one.name, null, providers.describe(one));
      changes.publish('users');
    },
    update: (id, body, caller) => asked(handlers.changeProvider, { params: { id }, body, caller }),
    remove: (id, caller) => asked(handlers.deleteProvider, { params: { id }, caller }),
  });
}
