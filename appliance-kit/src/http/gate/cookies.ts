// The two cookies: one for who is signed in, one for who gave the set-up code.
import type { FastifyReply, FastifyRequest } from 'fastify';

export const SESSION_COOKIE = 'cistern_session';
export const SETUP_COOKIE = 'cistern_setup';

export interface CookiePolicy {
  /** False only for development over plain HTTP (CISTERN_INSECURE_COOKIES=1). */
  readonly secure: boolean;
}

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

export function setCookie(reply: FastifyReply, policy: CookiePolicy, name: string, value: string): void {
  const secure = policy.secure ? '; Secure' : '';
  write(reply, `${name}=${value}; Path=/; HttpOnly; SameSite=Strict${secure}`);
}

export function dropCookie(reply: FastifyReply, policy: CookiePolicy, name: string): void {
  const secure = policy.secure ? '; Secure' : '';
  write(reply, `${name}=; Path=/; HttpOnly; SameSite=Strict${secure}; Max-Age=0`);
}
