// API tokens as a part of the settings document, by their ids: names need not differ. A token is its hash; one that was withdrawn
// here does not come back by an old document.
import { iso } from '../../base/clock.ts';
import { fail } from '../../base/problems/problem.ts';
import { asked, LeftOut, manyPart } from '../../domain/settings-part.ts';
import type { Handlers } from '../../http/handlers.ts';
import { checkCertificate } from './certificates.ts';
import { checkNetworks, type TokenParts } from './handlers.ts';
import { checkLabels, checkSelector } from './restrictions.ts';
import type { routes } from './routes.ts';
import { KeptToken } from './schema.ts';

const HASH = /^[0-9a-f]{64}$/;
const refuse = (path: string, message: string) =>
  fail('invalid_request', `The token was refused: it ${message}.`, undefined, [{ path, message }]);

export function tokensPart(parts: TokenParts & { handlers: Handlers<typeof routes> }) {
  const { tokens, users, db, clock, audit, storaged, handlers } = parts;
  const shown = ({ hash: _, ...token }: KeptToken) => token;
  return manyPart({
    ...{ name: 'tokens', title: 'API tokens', version: 1, schema: KeptToken },
    covers: ['createToken', 'changeToken', 'deleteToken'],
    after: ['users'],
    credentials: ['/hash'],
    refersTo: ({ owner }) =>
      owner === null || users.find(owner)?.provider ? [] : [{ part: 'users', key: owner, path: '/owner' }],
    normalise: (token) => {
      if (token.hash !== undefined && !HASH.test(token.hash)) throw refuse('/hash', 'has no hash of a token');
      const { expiresAt } = token;
      if (expiresAt === null) return token;
      if (Number.isNaN(Date.parse(expiresAt))) throw refuse('/expiresAt', 'has no time, as 2027-01-31T00:00:00Z');
      return { ...token, expiresAt: iso(Date.parse(expiresAt)) };
    },
    read: () => Object.fromEntries(tokens.kept().map(({ id, ...token }) => [id, token])),
    check: async (id, token) => {
      const { role, networks, labels, selector, certificate, commonName } = token;
      const before = tokens.get(id);
      if (before === undefined && tokens.wasWithdrawn(id)) {
        throw new LeftOut('was withdrawn on this appliance: make a new one');
      }
      if (before === undefined && certificate === null && token.hash === undefined) {
        throw new LeftOut('cannot be made without its secret, which the document does not have: make a new one');
      }
      checkNetworks(networks);
      checkLabels(role, labels);
      if (certificate !== null && before === undefined) checkCertificate(certificate, commonName, clock.now());
      await checkSelector(role, selector, storaged);
    },
    create: (id, token, by) =>
      db.transaction(() => {
        tokens.keep(id, token);
        audit.record(by, 'token.create', token.name, null, shown(token));
      }),
    update: (id, token, by) =>
      db.transaction(() => {
        const before = tokens.mustFind(id);
        tokens.keep(id, token);
        audit.record(by, 'token.update', token.name, before, shown(token));
      }),
    remove: (id, caller) => asked(handlers.deleteToken, { params: { id }, caller }),
  });
}
