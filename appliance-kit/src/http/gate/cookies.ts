// The cookies: one for who is signed in, one for who gave the set-up code, and one by which a browser is known again.
//
// Over HTTPS their names begin with __Host-: a browser takes such a cookie only from this very host, with Secure and for
// all paths (RFC 6265bis, 4.1.3.2), so that no other host of the domain can set one.
import type { FastifyReply, FastifyRequest } from 'fastify';

export interface CookiePolicy {
  /** False only for development over plain HTTP (CISTERN_INSECURE_COOKIES=1). */
  readonly secure: boolean;
}

const name = ({ secure }: CookiePolicy, plain: string) => (secure ? `__Host-${plain}` : plain);
export const sessionCookie = (policy: CookiePolicy) => name(policy, 'cistern_session');
export const setupCookie = (policy: CookiePolicy) => name(policy, 'cistern_setup');
export const browserCookie = (policy: CookiePolicy) => name(policy, 'cistern_browser');

export function readCookie(request: FastifyRequest, name: string): string | undefined {
  // What the browser sends is `a=b; c=d`; our values are base64url, which needs no decoding.
  for (const pair of (request.headers.cookie ?? '').split(';')) {
    const at = pair.indexOf('=');
    if (at > 0 && pair.slice(0, at).trim() === name) return pair.slice(at + 1).trim() || undefined;
  }
  return undefined;
}

function write(reply: FastifyReply, text: string): void {
  const before = reply.getHeader('set-cookie');
  const all = before === undefined ? [] : Array.isArray(before) ? before : [String(before)];
  reply.header('set-cookie', [...all, text]);
}

/** `seconds`: how long the browser keeps it; until it is closed when left out. */
export function setCookie(
  reply: FastifyReply,
  policy: CookiePolicy,
  name: string,
  value: string,
  seconds?: number,
): void {
  const secure = policy.secure ? '; Secure' : '';
  const age = seconds === undefined ? '' : `; Max-Age=${seconds}`;
  write(reply, `${name}=${value}; Path=/; HttpOnly; SameSite=Strict${secure}${age}`);
}

export function dropCookie(reply: FastifyReply, policy: CookiePolicy, name: string): void {
  const secure = policy.secure ? '; Secure' : '';
  write(reply, `${name}=; Path=/; HttpOnly; SameSite=Strict${secure}; Max-Age=0`);
}
