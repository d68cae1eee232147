// The one gate: every request passes here first, and only a route's line in the table lets it through.

import type { FastifyRequest } from 'fastify';
import type { Clock } from '../../base/clock.ts';
import { fail } from '../../base/problems/problem.ts';
import type { Route } from '../routes.ts';
import { atLeast, type Caller, type CallerSession, type Way } from './caller.ts';
import { type CookiePolicy, readCookie, sessionCookie, setupCookie } from './cookies.ts';
import type { Role, TokenRole } from './roles.ts';

/** What the gate has to know of a token. */
export interface KnownToken {
  readonly name: string;
  readonly role: TokenRole;
  readonly owner: string | null;
  /** Forced on what it sends. */
  readonly labels: Readonly<Record<string, string>>;
  /** Of the series that it may read; null: all. */
  readonly selector: string | null;
  /** When it ends, in milliseconds since the epoch; null: never. */
  readonly expiresAt: number | null;
}

/** Whom a secret belongs to; undefined: it is not known here. */
export interface Identities {
  bySession?(
    secret: string,
    address: string,
  ): (CallerSession & { readonly user: string; readonly role: Role }) | undefined;
  /** A token that may not be used from that address is not known. */
  byToken?(secret: string, address: string): KnownToken | undefined;
  /** Whether it was given to who knew the set-up code. */
  isSetup?(secret: string): boolean;
}

export interface GateParts {
  /** Those of the domains that know some; they are asked in order. */
  readonly identities: readonly Identities[];
  /** Whether the routes under /internal/sim are there. */
  readonly simulated: boolean;
  readonly cookies: CookiePolicy;
  readonly clock: Clock;
}

/** The address of a caller that did not come through nginx. */
const LOCAL = 'local';
const WRITES = new Set(['POST', 'PUT', 'DELETE', 'PATCH']);

/**
 * The client's address. Our only peer on the socket is nginx, which *appends* the address it saw; whatever stands
 * before it was sent by the client and proves nothing.
 */
export function addressOf(request: FastifyRequest): string {
  const header = request.headers['x-forwarded-for'];
  const text = Array.isArray(header) ? header.at(-1) : header;
  return text?.split(',').at(-1)?.trim().slice(0, 64) || LOCAL;
}

/** Who is on the socket itself is on the appliance; the command line says its name (services/cli). */
function wayOf(request: FastifyRequest, address: string, by: Caller['by']): Way {
  if (address === LOCAL) return 'console';
  if (request.headers['user-agent'] === 'cistern') return 'cli';
  return by === 'token' ? 'token' : 'page';
}

/**
 * A token as `Bearer TOKEN`, as `Token TOKEN` (as clients of InfluxDB 2 send theirs), or as the password of basic
 * authentication (for Prometheus' and Grafana's forms, and InfluxDB 1).
 */
function tokenIn(request: FastifyRequest): string | undefined {
  const [scheme, value] = (request.headers.authorization ?? '').split(' ', 2);
  if (value === undefined) return undefined;
  if (/^(bearer|token)$/i.test(scheme as string)) return value;
  if (/^basic$/i.test(scheme as string)) {
    const text = Buffer.from(value, 'base64').toString('utf8');
    return text.slice(text.indexOf(':') + 1);
  }
  return undefined;
}

function first<T>({ identities }: GateParts, ask: (one: Identities) => T | undefined): T | undefined {
  for (const one of identities) {
    const found = ask(one);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Who is asking. An identity that was given but is not known is anonymous; it never falls back to another. */
export function identify(parts: GateParts, request: FastifyRequest): Caller {
  const found = known(parts, request);
  return { ...found, way: wayOf(request, found.address, found.by) };
}

export function callerOf(token: KnownToken, address: string): Omit<Caller, 'way'> {
  const { name, role, owner, labels, selector, expiresAt } = token;
  return {
    ...{ name: `token:${name}`, role, by: 'token', address, owner, labels },
    ...(selector !== null && { selector }),
    ...(expiresAt !== null && { tokenExpiresAt: expiresAt }),
  };
}

function known(parts: GateParts, request: FastifyRequest): Omit<Caller, 'way'> {
  const address = addressOf(request);
  const anonymous = { name: '', role: null, by: 'anonymous', address } as const;
  if (request.headers.authorization !== undefined) {
    const secret = tokenIn(request);
    const token = secret === undefined ? undefined : first(parts, (one) => one.byToken?.(secret, address));
    if (token === undefined) return anonymous;
    return callerOf(token, address);
  }
  const cookie = readCookie(request, sessionCookie(parts.cookies));
  const session = cookie === undefined ? undefined : first(parts, (one) => one.bySession?.(cookie, address));
  if (session !== undefined) {
    const { user, role, ...rest } = session;
    const may = !rest.mustChangePassword && !rest.mustAddFactor;
    return { name: user, role: may ? role : null, by: 'cookie', address, session: rest };
  }
  const setup = readCookie(request, setupCookie(parts.cookies));
  if (setup !== undefined && parts.identities.some((one) => one.isSetup?.(setup) === true))
    return { name: 'setup', role: null, by: 'setup', address };
  return anonymous;
}

/**
 * Whether a browser says that the request was made by our own pages. `Sec-Fetch-Site` cannot be set by a page;
 * `Origin` neither. A client that sends no cookie needs neither.
 */
export function fromOwnPages(request: FastifyRequest): boolean {
  if (request.headers['sec-fetch-site'] === 'same-origin') return true;
  const { origin, host } = request.headers;
  if (origin === undefined || host === undefined) return false;
  try {
    return new URL(origin).host === host.toLowerCase();
  } catch {
    return false;
  }
}

/** A sign-in has no cookie yet, but another site must not be able to sign a browser in as another user. */
function fromAnotherSite(request: FastifyRequest): boolean {
  const saysWhere = request.headers.origin !== undefined || request.headers['sec-fetch-site'] !== undefined;
  return saysWhere && !fromOwnPages(request);
}

/** Throws what a session has to do before anything else, if there is something. */
export function mustBeComplete({ session }: Caller, route?: Route): void {
  if (session?.mustChangePassword) {
    if (route?.duringPasswordChange) return;
    throw fail('password_change_required', 'You signed in with a one-time password.', 'Choose a password of your own.');
  }
  if (session?.mustAddFactor && !route?.duringFactorAddition) {
    throw fail('factor_addition_required', 'Administrators need a second factor, and you have none.', 'Add one.');
  }
}

function decide(route: Route, caller: Caller, simulated: boolean): void {
  const { access } = route;
  if (access !== 'anyone') mustBeComplete(caller, route);
  // Whatever it would be answered here is of the whole appliance.
  if (caller.selector !== undefined && access !== 'nginx') {
    throw fail(
      'forbidden',
      `${caller.name} may only read the series of its selector, ${caller.selector}; this is about more.`,
      'Ask for metrics at /api/v1/query, /api/v1/series or /api/v1/labels, or use a token without a selector.',
    );
  }
  switch (access) {
    case 'anyone':
    case 'nginx':
      return;
    case 'simulation':
      if (!simulated) throw fail('not_found', 'There is no such address.');
      return;
    case 'session':
      if (caller.session !== undefined) return;
      if (caller.role === null) throw fail('unauthenticated', 'You are not signed in.', 'Sign in.');
      throw fail('forbidden', 'This is for users who have signed in: a token has no password and no session.');
    case 'setup':
      if (caller.by === 'setup') return;
      throw fail('unauthenticated', 'The set-up code has not been given, or too long ago.', 'Enter the set-up code.');
    default:
      if (atLeast(caller.role, access)) return;
      if (caller.role === null) throw fail('unauthenticated', 'You are not signed in.', 'Sign in.');
      throw fail('forbidden', `${caller.name} is ${caller.role}; this needs ${access}.`, `Ask an administrator.`);
  }
}

const lowerFirst = (text: string) => text.charAt(0).toLowerCase() + (text.split(';')[0] as string).slice(1);

/** Returns if the route's line lets the caller through; else the refusal is thrown. */
export function admit(parts: GateParts, route: Route, request: FastifyRequest, caller: Caller): void {
  const write = WRITES.has(route.method);
  const byBrowser = caller.by === 'cookie' || caller.by === 'setup';
  if (write && (byBrowser ? !fromOwnPages(request) : caller.by === 'anonymous' && fromAnotherSite(request))) {
    throw fail('out_of_origin', 'A change was asked for from a page that is not this appliance’s own.');
  }
  decide(route, caller, parts.simulated);
  if (route.confirm && caller.session !== undefined && caller.session.confirmedUntil <= parts.clock.now()) {
    throw fail('confirmation_required', `To ${lowerFirst(route.summary)}, give your password again.`);
  }
}
