// Setting identity providers up, trying them, and the way to OpenID Connect and back.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { fail, ProblemError } from '../../base/problems/problem.ts';
import type { Caller } from '../../http/gate/caller.ts';
import { type CookiePolicy, dropCookie, readCookie, sessionCookie, setCookie } from '../../http/gate/cookies.ts';
import type { Handlers } from '../../http/handlers.ts';
import type { Changes } from '../../http/live-updates/changes.ts';
import type { Database } from '../../state/database.ts';
import type { Seal } from '../../state/sealed.ts';
import type { Audit } from '../audit/index.ts';
import type { BeginSession, Sessions } from '../session/index.ts';
import type { Dependent, Users } from '../users/index.ts';
import { type Begun, explain, type Identity } from './oidc.ts';
import type { Providers } from './providers.ts';
import type { routes } from './routes.ts';
import type { ProviderStep } from './schema.ts';
import type { Stored } from './settings.ts';

const BACK_MS = 10 * 60 * 1000;
const TEST_MS = 15_000;

export interface ProviderRoutesParts {
  readonly db: Database;
  readonly now: () => number;
  readonly users: Users;
  readonly sessions: Sessions;
  readonly beginSession: BeginSession;
  readonly audit: Audit;
  readonly changes: Changes;
  readonly seal: Seal;
  readonly providers: Providers;
  readonly cookies: CookiePolicy;
  readonly dependents: readonly Dependent[];
}

/** Kept by the browser, sealed, until the provider has sent it back. */
interface Way extends Begun {
  readonly provider: string;
  /** The session that is to be confirmed; null: it is a sign-in. */
  readonly session: string | null;
  readonly until: number;
}

const wayCookie = ({ secure }: CookiePolicy) => `${secure ? '__Host-' : ''}cistern_provider`;
const BELONGS = ['way-to-provider'] as const;

export function providerRoutes(parts: ProviderRoutesParts): Handlers<typeof routes> {
  const { db, users, sessions, audit, changes, seal, providers, cookies } = parts;

  /** What the audit log has of it: no secrets. */
  const audited = (one: Stored) => providers.describe(one);

  const readWay = (request: FastifyRequest): Way => {
    const cookie = readCookie(request, wayCookie(cookies));
    const opened =
      cookie === undefined ? null : seal.open(BELONGS, Buffer.from(cookie, 'base64url').toString('base64'));
    const way = opened === null ? null : (JSON.parse(opened.toString('utf8')) as Way);
    if (way === null || way.until <= parts.now()) {
      throw fail('conflict', 'This browser has begun no sign-in, or more than ten minutes ago.', 'Begin again.');
    }
    return way;
  };

  /** The page as it is open, if it is one of those that the provider knows. */
  const pageOf = ({ name, oidc }: Stored, request: FastifyRequest): string => {
    const page = `${cookies.secure ? 'https' : 'http'}://${(request.headers.host ?? '').toLowerCase()}`;
    const pages = oidc?.pages ?? [];
    if (pages.includes(page)) return page;
    throw fail(
      'conflict',
      `${name} does not know this address of the page, ${page}.`,
      `Open ${pages.join(' or ')}, or sign in with a local account.`,
    );
  };

  const finished = async (provider: Stored, way: Way, query: string, caller: Caller): Promise<Identity> => {
    try {
      return await providers.openId(provider).finish(way, query);
    } catch (error) {
      const refused = error instanceof ProblemError ? error : fail('wrong_credentials', ...explain(error));
      audit.recordRepeated(caller, 'session.refused', provider.name, { why: refused.message });
      throw refused;
    }
  };

  const signedIn = (
    provider: Stored,
    identity: Identity,
    request: FastifyRequest,
    reply: FastifyReply,
    caller: Caller,
  ) => {
    const { acr, amr } = identity;
    return db.transaction(() => {
      const account = providers.accountOf(provider, identity);
      users.signedIn(account.name);
      const session = parts.beginSession(account, request, reply, caller);
      audit.record({ ...caller, name: account.name }, 'session.create', account.name, null, {
        by: provider.name,
        acr,
        amr,
      });
      changes.publish('users');
      return session;
    });
  };

  return {
    listOfferedProviders: () => ({
      items: providers
        .all()
        .filter(({ enabled }) => enabled)
        .map(({ id, name, kind }) => ({ id, name, kind })),
    }),
    listProviders: () => ({ items: providers.all().map((one) => providers.describe(one)) }),
    getProvider: ({ params: { id } }) => providers.describe(providers.get(id)),

    createProvider: ({ body, caller }) =>
      db.transaction(() => {
        const one = providers.checked(undefined, body);
        providers.keep(one);
        audit.record(caller, 'provider.create', one.name, null, audited(one));
        changes.publish('users');
        return providers.describe(one);
      }),

    changeProvider: ({ params: { id }, body, caller }) =>
      db.transaction(() => {
        const before = providers.get(id);
        const one = providers.checked(id, body);
        providers.keep(one);
        if (before.enabled && !one.enabled)
          for (const name of users.ofProvider(id)) for (const of of parts.dependents) of.ended(name);
        audit.record(caller, 'provider.update', one.name, audited(before), audited(one));
        changes.publish('users');
        return providers.describe(one);
      }),

    deleteProvider: ({ params: { id }, caller }) =>
      db.transaction(() => {
        const gone = providers.get(id);
        const disabled = users.ofProvider(id);
        for (const name of disabled) {
          users.change(name, users.get(name).role, true);
          for (const one of parts.dependents) one.ended(name);
        }
        providers.remove(id);
        audit.record(caller, 'provider.delete', gone.name, audited(gone), { disabled });
        changes.publish('users');
        return undefined;
      }),

    testProvider: async ({ body, caller }) => {
      const one = providers.checked(body.id, body.provider);
      audit.record(caller, 'provider.test', one.name);
      const steps: ProviderStep[] = [];
      const tell = (what: string, ok: boolean, found: string, action?: string) => {
        steps.push({ what, ok, found, ...(!ok && action !== undefined && action !== '' && { action }) });
      };
      const trying = async () => {
        if (one.kind === 'oidc') return providers.openId(one).test(tell);
        const directory = providers.directory(one, tell);
        if (body.user === undefined || body.user === '') return directory.with(async () => {});
        const person = await directory.signIn(body.user, body.password === '' ? undefined : body.password);
        if (person === null) return;
        try {
          tell('Look for the role', true, `${person.name} would be ${providers.roleOf(one, person)}.`);
        } catch (error) {
          tell('Look for the role', false, (error as Error).message, 'Add one of the groups to the roles.');
        }
      };
      const late = new Promise((_, reject) => {
        setTimeout(() => reject(new Error('it takes longer than a quarter of a minute')), TEST_MS).unref();
      });
      await Promise.race([trying(), late]).catch((error: unknown) => {
        // Each failure that belongs to a step was told there.
        if (steps.every(({ ok }) => ok)) tell('Go on', false, `${(error as Error).message}`, 'Try again.');
      });
      return { ok: steps.every(({ ok }) => ok), steps };
    },

    startProvider: async ({ params: { id }, body, caller, request, reply }) => {
      const provider = providers.usable(id, 'oidc');
      const page = pageOf(provider, request);
      const confirming = body.for === 'confirmation';
      if (confirming && (caller.session === undefined || users.find(caller.name)?.provider !== id))
        throw fail('unauthenticated', `You have not signed in by ${provider.name}.`, 'Confirm in another way.');
      try {
        const { url, begun } = await providers.openId(provider).begin(page, confirming);
        const session = confirming ? (caller.session?.id ?? null) : null;
        const way: Way = { ...begun, provider: id, session, until: parts.now() + BACK_MS };
        const sealed = Buffer.from(seal.seal(BELONGS, Buffer.from(JSON.stringify(way))), 'base64').toString(
          'base64url',
        );
        setCookie(reply, cookies, wayCookie(cookies), sealed, BACK_MS / 1000);
        return { url };
      } catch (error) {
        if (error instanceof ProblemError) throw error;
        const [found, action] = explain(error);
        throw fail('service_unavailable', found, action);
      }
    },

    finishProvider: async ({ body, caller, request, reply }) => {
      const way = readWay(request);
      // Good once, whatever comes of it.
      dropCookie(reply, cookies, wayCookie(cookies));
      const provider = providers.usable(way.provider, 'oidc');
      const identity = await finished(provider, way, body.query, caller);
      if (way.session === null) return signedIn(provider, identity, request, reply, caller);
      const account = users.findExternal(provider.id, identity.subject);
      if (caller.session === undefined || caller.session.id !== way.session || account?.name !== caller.name)
        throw fail(
          'wrong_credentials',
          'Somebody else has signed in at the provider.',
          'Sign in there as who you are here.',
        );
      return db.transaction(() => {
        sessions.confirm(way.session as string);
        audit.record(caller, 'session.confirm', caller.name, null, { by: provider.name });
        return parts.beginSession.describe(account, caller.session?.expiresAt ?? 0);
      });
    },

    endAtProvider: async ({ caller, request, reply }) => {
      const account = users.find(caller.name);
      const provider = account?.provider ? providers.find(account.provider) : undefined;
      const cookie = readCookie(request, sessionCookie(cookies));
      db.transaction(() => {
        if (cookie !== undefined) sessions.end(cookie);
        audit.record(caller, 'session.end', caller.name);
      });
      dropCookie(reply, cookies, sessionCookie(cookies));
      if (provider?.oidc?.endSession !== true) return { url: null };
      const page = `${cookies.secure ? 'https' : 'http'}://${(request.headers.host ?? '').toLowerCase()}`;
      if (!provider.oidc.pages.includes(page)) return { url: null };
      // Signing out here never waits for, nor fails by, the provider.
      return {
        url: await providers
          .openId(provider)
          .endUrl(page)
          .catch(() => null),
      };
    },
  };
}
