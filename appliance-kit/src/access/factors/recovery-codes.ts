// Codes on paper, for who has lost the app. Each stands for one code of the app, once.
import { createHash } from 'node:crypto';
import { readableSecret } from '../users/index.ts';

export const HOW_MANY = 10;

/** 79 bits each, so that a plain hash of one cannot be turned back. */
export const makeRecoveryCodes = () => Array.from({ length: HOW_MANY }, readableSecret);

/** As they are typed: with hyphens, spaces or neither, in any case. */
const letters = (code: string) => code.toLowerCase().replace(/[^a-z0-9]/g, '');

/** supportd makes the same (services/support/web/factors.go). */
export function recoveryHash(user: string, code: string): string {
  return createHash('sha256')
    .update(['recovery-code', user, letters(code)].join('\0'))
    .digest('hex');
}
