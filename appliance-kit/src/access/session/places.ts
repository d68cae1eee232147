// By what the web server knows a session without asking: akd's signature, in the session's cookie itself. nginx keeps places for
// those who have signed in, and has to know who that is before it does anything for a request, also while akd does not answer.
//
// What it proves is that akd began the session, not that it still goes on: it gives a place in the queue, and nothing else.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

/** Signs what the cookie holds; null while the machine has no key, where everybody counts as not signed in. */
export type SignPlace = (secret: string, until: number) => string | null;

/**
 * `file`: as nginx includes it in a map, `default KEY;`. Read each time: it is made beside akd, and signing in is rare. Whatever is
 * wrong with it must keep nobody out.
 */
export function placesSigner(file: string): SignPlace {
  return (secret, until) => {
    const key = keyIn(file);
    // The only hash that nginx's secure_link knows. Nobody chooses what is hashed, and the key comes last.
    return key === undefined ? null : createHash('md5').update(`${secret} ${until} ${key}`).digest('base64url');
  };
}

function keyIn(file: string): string | undefined {
  try {
    return /^default ([0-9a-f]{64});\n$/.exec(readFileSync(file, 'utf8'))?.[1];
  } catch {
    return undefined;
  }
}
