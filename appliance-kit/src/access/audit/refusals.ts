// What somebody who is known was refused.
import type { Refusal } from '../../http/app.ts';
import type { Audit } from './audit.ts';

/** A segment of a path may be a secret (services/ingest: trap); of the store's paths the first three say enough. */
const SEGMENTS = 3;

/** As `DELETE /api/users/:name`: what was refused, and of the store's routes, which nginx asks about, the original request. */
function wanted({ request, path }: Refusal): string {
  if (!path.startsWith('/internal/')) return `${request.method} ${path}`;
  const text = (name: string) => String(request.headers[name] ?? '');
  const asked = text('x-original-uri').split('?', 1)[0] ?? '';
  return `${text('x-original-method')} ${asked.split('/', SEGMENTS + 1).join('/')}`.slice(0, 200);
}

export function recordRefusal(audit: Audit, refusal: Refusal): void {
  const { request, caller, problem } = refusal;
  const why = { problem: problem.code, role: caller.role, path: request.url.split('?', 1)[0]?.slice(0, 200) ?? '' };
  audit.recordRepeated(caller, 'request.refused', wanted(refusal), why);
}
