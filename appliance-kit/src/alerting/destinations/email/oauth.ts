// Signing in at a mail server by OAuth 2.0: an access token is asked for with the refresh token (RFC 6749, 6), kept as
// long as it is good, and given to the server as XOAUTH2.
import { createHash } from 'node:crypto';
import { fail } from '../../../base/problems/problem.ts';
import { oneLine } from '../../../base/words.ts';
import type { OnLine } from '../exchange.ts';
import type { EmailInput } from '../schema.ts';

const DEADLINE_MS = 10_000;
/** A token that ends while a mail is being sent is of no use. */
const MARGIN_MS = 60_000;
const MAX_CHARACTERS = 64 * 1024;

/** In memory only, by what it was asked for with. */
const kept = new Map<string, { token: string; until: number }>();

export async function accessToken(email: EmailInput, onLine: OnLine): Promise<string> {
  const { tokenUrl = '', clientId = '', clientSecret = '', refreshToken = '' } = email;
  const key = createHash('sha256').update([tokenUrl, clientId, clientSecret, refreshToken].join('\0')).digest('hex');
  const known = kept.get(key);
  if (known !== undefined && known.until > Date.now()) return known.token;
  kept.delete(key);
  const { host } = new URL(tokenUrl);
  onLine('!', `Asking ${host} for an access token`);
  const refused = (words: string) =>
    fail(
      'command_failed',
      `${host} gave no access token: ${oneLine(words, 300)}`,
      'Check the address for tokens, the client and its secret, and that the refresh token has not been withdrawn.',
    );
  let answer: { access_token?: unknown; expires_in?: unknown; error?: unknown; error_description?: unknown };
  try {
    const response = await fetch(tokenUrl, {
      method: 'POST',
      redirect: 'error',
      headers: { accept: 'application/json' },
      body: new URLSearchParams({
        ...{ grant_type: 'refresh_token', refresh_token: refreshToken, client_id: clientId },
        ...(clientSecret !== '' && { client_secret: clientSecret }),
      }),
      signal: AbortSignal.timeout(DEADLINE_MS),
    });
    const text = (await response.text()).slice(0, MAX_CHARACTERS);
    answer = JSON.parse(text) as typeof answer;
    if (!response.ok) throw new Error(`${response.status} ${String(answer.error_description ?? answer.error ?? '')}`);
  } catch (error) {
    const { message, cause } = error as Error & { cause?: Error };
    throw refused(cause?.message ?? message);
  }
  if (typeof answer.access_token !== 'string') throw refused('its answer has none');
  const seconds = typeof answer.expires_in === 'number' ? answer.expires_in : 300;
  kept.set(key, { token: answer.access_token, until: Date.now() + seconds * 1000 - MARGIN_MS });
  return answer.access_token;
}

/** One that the mail server refused is not used again. */
export function forgetTokens(): void {
  kept.clear();
}
