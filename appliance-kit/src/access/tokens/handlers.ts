// Making, changing and withdrawing API tokens: one's own, and for administrators all.

import { type Clock, iso } from '../../base/clock.ts';
import { fail } from '../../base/problems/problem.ts';
import { atLeast, type Caller } from '../../http/gate/caller.ts';
import type { Role } from '../../http/gate/roles.ts';
import type { Handlers } from '../../http/handlers.ts';
import type { Storaged } from '../../peers/storaged.ts';
import type { Database } from '../../state/database.ts';
import type { Audit } from '../audit/index.ts';
import type { Users } from '../users/index.ts';
import { checkCertificate } from './certificates.ts';
import { networkProblem } from './networks.ts';
import { checkLabels, checkSelector } from './restrictions.ts';
import type { routes } from './routes.ts';
import type { Token } from './schema.ts';
import { DEFAULT_DAYS, type Tokens, withinRole } from './tokens.ts';

export interface TokenParts {
  readonly tokens: Tokens;
  readonly users: Users;
  readonly db: Database;
  readonly clock: Clock;
  readonly audit: Audit;
  readonly storaged: Storaged;
}

export function checkNetworks(networks: readonly string[]): void {
  const errors = networks.flatMap((text, at) => {
    const problem = networkProblem(text);
    return problem === null ? [] : [{ path: `/networks/${at}`, message: problem }];
  });
  if (errors.length === 0) return;
  const words = errors.map(({ path, message }) => `“${networks[Number(path.split('/')[2])]}” ${message}.`).join(' ');
  throw fail('invalid_request', words, undefined, errors);
}

export function tokenRoutes({ tokens, users, db, clock, audit, storaged }: TokenParts): Handlers<typeof routes> {
  /** A token that the caller may see; another one is as if it were not there. */
  const visible = (id: string, caller: Caller): Token => {
    const token = tokens.mustFind(id);
    const may = atLeast(caller.role, 'administrator') || (caller.session !== undefined && token.owner === caller.name);
    if (!may) throw fail('not_found', `There is no token ${id}.`);
    return token;
  };
  /** A token made by a token belongs to whom that one belongs to. */
  const ownerOf = (caller: Caller) => (caller.session === undefined ? (caller.owner ?? null) : caller.name);

  return {
    listTokens: ({ caller }) => {
      if (atLeast(caller.role, 'administrator')) return { items: tokens.list(null) };
      return { items: caller.session === undefined ? [] : tokens.list(caller.name) };
    },
    getToken: ({ params, caller }) => visible(params.id, caller),

    createToken: async ({ body, caller }) => {
      const { name, role, expiresInDays = DEFAULT_DAYS, networks = [], labels = {}, selector = null } = body;
      const { certificate: pem = null, commonName = null } = body;
      checkNetworks(networks);
      if (caller.session === undefined && !atLeast(caller.role, 'administrator')) {
        throw fail('forbidden', 'A token makes no other token, unless it is an administrator’s.');
      }
      if (withinRole(role, caller.role as Role) !== role) {
        throw fail('forbidden', `${caller.name} is ${caller.role} and cannot make a token that is ${role}.`, undefined);
      }
      checkLabels(role, labels);
      if (pem === null && commonName !== null) {
        const message = 'it is for certificates of a CA, and there is none';
        throw fail('invalid_request', `The common name was refused: ${message}.`, undefined, [
          { path: '/commonName', message },
        ]);
      }
      const certificate = pem === null ? null : checkCertificate(pem, commonName, clock.now());
      await checkSelector(role, selector, storaged);
      return db.transaction(() => {
        const same = certificate === null ? undefined : tokens.withCertificate(certificate);
        if (same !== undefined) {
          // Whose it is is not for everybody to know.
          const whose = atLeast(caller.role, 'administrator') ? `the token “${same.name}”` : 'another token';
          throw fail('conflict', `This certificate belongs to ${whose}.`, 'Change that one, or delete it first.');
        }
        const owner = ownerOf(caller);
        const token = tokens.create({
          name,
          role,
          owner,
          days: expiresInDays,
          networks,
          labels,
          selector,
          certificate,
        });
        audit.record(caller, 'token.create', name, null, token);
        return token;
      });
    },

    changeToken: async ({ params, body, caller }) => {
      checkNetworks(body.networks);
      const { role } = visible(params.id, caller);
      if (body.labels !== undefined) checkLabels(role, body.labels);
      if (body.selector !== undefined) await checkSelector(role, body.selector, storaged);
      return db.transaction(() => {
        const before = visible(params.id, caller);
        const expiresAt = body.expiresAt === null ? null : Date.parse(body.expiresAt);
        if (expiresAt !== null && expiresAt <= clock.now()) {
          const message = `${iso(expiresAt)} is over; to withdraw the token, delete it`;
          throw fail('invalid_request', `${message}.`, undefined, [{ path: '/expiresAt', message }]);
        }
        const ends = before.certificate?.commonName === null ? before.certificate.validTo : null;
        if (ends !== null && (expiresAt === null || expiresAt > Date.parse(ends))) {
          const message = `its certificate ends on ${ends}: it cannot last longer`;
          throw fail('invalid_request', `The token was not changed: ${message}.`, undefined, [
            { path: '/expiresAt', message },
          ]);
        }
        if (body.owner !== before.owner) {
          if (!atLeast(caller.role, 'administrator')) {
            throw fail('forbidden', 'Only an administrator hands a token over to somebody else.');
          }
          if (body.owner !== null) users.get(body.owner);
        }
        const { labels, selector } = before;
        tokens.change(before.id, { labels, selector, ...body, expiresAt });
        const after = tokens.mustFind(before.id);
        audit.record(caller, 'token.update', before.name, before, after);
        return after;
      });
    },

    deleteToken: ({ params, caller }) =>
      db.transaction(() => {
        const gone = visible(params.id, caller);
        tokens.remove(gone.id);
        audit.record(caller, 'token.delete', gone.name, gone, null);
        return undefined;
      }),
  };
}
