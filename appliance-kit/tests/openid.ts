// A real OpenID provider (oidc-provider) in a test, and one that lies. Both over TLS.
import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { once } from 'node:events';
import { createServer, request, type Server } from 'node:https';
import Provider from 'oidc-provider';
import { type Signed, signed } from './certificates.ts';

export const PAGE = 'https://cistern.test';
export const CLIENT = { id: 'cistern', secret: 'client-s3cret-client-s3cret' };

export interface OpenIdServer {
  readonly issuer: string;
  readonly identity: Signed;
  /** Whoever signs in there next. */
  who: { sub: string; name: string; groups: readonly string[] };
  /** What is asked of it, before it answers. */
  onRequest: (path: string) => void | Promise<void>;
  stop(): Promise<void>;
}

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as { port: number }).port;
}

const ended = (server: Server) => () =>
  new Promise<void>((done) => {
    server.close(() => done());
    server.closeAllConnections();
  });

export async function openIdProvider(
  t: { after(end: () => void | Promise<void>): void },
  pages: readonly string[] = [PAGE],
  /** Where the appliance finds it, when it is an address. */
  address?: string,
): Promise<OpenIdServer> {
  const identity = signed(['IP:127.0.0.1', 'DNS:localhost', ...(address === undefined ? [] : [`IP:${address}`])]);
  let answer: ((request: unknown, response: unknown) => void) | undefined;
  const server = createServer({ cert: identity.certificate, key: identity.key }, (asked, response) => {
    void (async () => {
      await one.onRequest(asked.url ?? '');
      answer?.(asked, response);
    })();
  });
  const issuer = `https://${address ?? 'localhost'}:${await listen(server)}`;
  const one: OpenIdServer = {
    ...{ issuer, identity, stop: ended(server) },
    who: { sub: 'sub-bob', name: 'bob', groups: ['viewers'] },
    onRequest: () => {},
  };
  t.after(one.stop);
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const provider = new Provider(issuer, {
    clients: [
      {
        ...{ client_id: CLIENT.id, client_secret: CLIENT.secret, grant_types: ['authorization_code'] },
        redirect_uris: pages.map((page) => `${page}/sign-in/callback`),
        post_logout_redirect_uris: pages.map((page) => `${page}/sign-in`),
      },
    ],
    jwks: { keys: [{ ...(privateKey.export({ format: 'jwk' }) as object), kid: 'first', use: 'sig' } as never] },
    cookies: { keys: ['a-key-of-the-test'] },
    claims: { openid: ['sub'], profile: ['preferred_username'], groups: ['groups'] },
    conformIdTokenClaims: false,
    pkce: { required: () => true },
    features: {
      devInteractions: { enabled: false },
      rpInitiatedLogout: {
        enabled: true,
        // Its own page fetches fonts from elsewhere.
        logoutSource: (context, form) => {
          context.body = `<!doctype html><title>Sign out</title>${form}<button form="op.logoutForm" name="logout" value="yes">Yes</button>`;
        },
      },
    },
    interactions: { url: (_, { uid }) => `/interaction/${uid}` },
    findAccount: (_, sub) => ({
      accountId: sub,
      claims: () => ({ sub, preferred_username: one.who.name, groups: [...one.who.groups] }),
    }),
    loadExistingGrant: async (context) => {
      const { client, session } = context.oidc;
      const grant = new context.oidc.provider.Grant({
        clientId: client?.clientId as string,
        accountId: session?.accountId as string,
      });
      grant.addOIDCScope('openid profile groups');
      await grant.save();
      return grant;
    },
  });
  provider.proxy = true;
  const callback = provider.callback();
  answer = (asked, response) => {
    const { url = '' } = asked as { url?: string };
    if (!url.startsWith('/interaction/')) return void callback(asked as never, response as never);
    const login = { accountId: one.who.sub };
    void provider.interactionFinished(asked as never, response as never, { login }, { mergeWithLastSubmission: false });
  };
  return one;
}

/**
 * A browser at the provider: it goes where it is sent, with its cookies, until it is sent back to the page. Returns the query.
 * `through`: where the provider's address leads to from here.
 */
export function browser(ca: string, through?: string) {
  const cookies = new Map<string, string>();
  const get = (url: URL) =>
    new Promise<{ status: number; location: string | undefined }>((resolve, reject) => {
      const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
      const headers = { host: url.host, ...(cookie !== '' && { cookie }) };
      const asking = request(url, { ca, agent: false, headers, ...(through && { hostname: through }) }, (answer) => {
        for (const text of answer.headers['set-cookie'] ?? []) {
          const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(text) ?? [];
          if (value === '') cookies.delete(name);
          else cookies.set(name, value);
        }
        answer.resume().on('end', () => resolve({ status: answer.statusCode ?? 0, location: answer.headers.location }));
      });
      asking.on('error', reject);
      asking.end();
    });
  return async (start: string): Promise<string> => {
    let at = new URL(start);
    for (let n = 0; n < 20; n++) {
      const { status, location } = await get(at);
      if (location === undefined) throw new Error(`${at.href} answered ${status}`);
      const next = new URL(location, at);
      if (next.pathname === '/sign-in/callback') return next.search.slice(1);
      at = next;
    }
    throw new Error('it is sent in circles');
  };
}

const base64url = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');

/** What is other than it should be, in the token that it signs. */
export interface Lie {
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly alg?: 'none' | 'HS256';
  /** Signed by a key that nobody knows. */
  readonly foreign?: boolean;
  /** Of what it says of itself. */
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/** A provider without people: whoever asks is bob. `lie` is what it says wrong. */
export async function lyingProvider(t: { after(end: () => void | Promise<void>): void }) {
  const identity = signed(['IP:127.0.0.1', 'DNS:localhost']);
  const keyOf = () => generateKeyPairSync('rsa', { modulusLength: 2048 });
  const keys: { kid: string; privateKey: KeyObject; publicKey: KeyObject }[] = [{ kid: 'first', ...keyOf() }];
  const foreign = keyOf();
  const state: { lie: Lie; nonce: string; served: number } = { lie: {}, nonce: '', served: 0 };
  const tokenOf = () => {
    const { lie, nonce } = state;
    const now = Math.floor(Date.now() / 1000);
    const claims = {
      ...{ iss: issuer, sub: 'sub-bob', aud: CLIENT.id, exp: now + 600, iat: now, auth_time: now, nonce },
      ...{ preferred_username: 'bob', groups: ['viewers'], ...lie.claims },
    };
    const { kid, privateKey } = keys.at(-1) as (typeof keys)[number];
    const signedPart = `${base64url({ alg: lie.alg ?? 'RS256', kid })}.${base64url(claims)}`;
    if (lie.alg === 'none') return `${signedPart}.`;
    const by = lie.foreign ? foreign.privateKey : privateKey;
    return `${signedPart}.${sign('sha256', Buffer.from(signedPart), by).toString('base64url')}`;
  };
  const server = createServer({ cert: identity.certificate, key: identity.key }, (asked, response) => {
    const { pathname } = new URL(asked.url ?? '/', issuer);
    const json = (value: object) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    if (pathname === '/.well-known/openid-configuration') {
      json({
        ...{ issuer, authorization_endpoint: `${issuer}/authorize`, token_endpoint: `${issuer}/token` },
        ...{ jwks_uri: `${issuer}/keys`, response_types_supported: ['code'], subject_types_supported: ['public'] },
        id_token_signing_alg_values_supported: ['RS256'],
        ...state.lie.metadata,
      });
    } else if (pathname === '/keys') {
      state.served++;
      json({
        keys: keys.map(({ kid, publicKey }) => ({
          ...publicKey.export({ format: 'jwk' }),
          kid,
          use: 'sig',
          alg: 'RS256',
        })),
      });
    } else if (pathname === '/token') {
      asked
        .resume()
        .on('end', () => json({ access_token: 'a', token_type: 'bearer', expires_in: 60, id_token: tokenOf() }));
    } else response.writeHead(404).end('{}');
  });
  const issuer = `https://localhost:${await listen(server)}`;
  const stop = ended(server);
  t.after(stop);
  return {
    ...{ issuer, identity, state, stop },
    /** What the page comes back with, after what `start` has answered. */
    back: (url: string): string => {
      const asked = new URL(url).searchParams;
      state.nonce = asked.get('nonce') ?? '';
      return new URLSearchParams({ code: randomBytes(8).toString('hex'), state: asked.get('state') ?? '' }).toString();
    },
    rotate: (kid: string) => {
      keys.splice(0, keys.length, { kid, ...keyOf() });
    },
  };
}
