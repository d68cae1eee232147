// Where the audit log is sent on: showing it, changing it, and trying it out.
import { authorityProblem, describeAuthority, type ExchangeLine } from '../../alerting/destinations/index.ts';
import { type Clock, iso } from '../../base/clock.ts';
import { fail, problem } from '../../base/problems/problem.ts';
import type { Handlers } from '../../http/handlers.ts';
import type { Changes } from '../../http/live-updates/changes.ts';
import type { Database } from '../../state/database.ts';
import { type Audit, GENESIS } from '../audit/index.ts';
import { hostProblem, lookupOthers } from './address.ts';
import { Connection } from './connection.ts';
import type { Forwarder, Target } from './forwarder.ts';
import { auditMessage } from './message.ts';
import type { routes } from './routes.ts';
import type { AuditForwarding, AuditForwardingInput } from './schema.ts';

/** As long as nothing is set. */
export const OFF: Target = { enabled: false, host: '', port: 6514 };

/** The settings as they are stored; throws when they cannot be used. */
export function checked(
  { enabled, host, port, ca }: AuditForwardingInput,
  before: Target | undefined,
  now: number,
): Target {
  const errors: { path: string; message: string }[] = [];
  const about = (path: string, message: string | null) => {
    if (message !== null) errors.push({ path, message });
  };
  if (host !== '') about('/host', hostProblem(host));
  else if (enabled) about('/host', 'is missing');
  const authority = ca === undefined ? before?.ca : ca.trim() === '' ? undefined : ca;
  if (authority !== undefined) about('/ca', authorityProblem(authority, now));
  if (errors.length > 0) {
    const words = errors.map(({ path, message }) => `${path.slice(1)} ${message}`).join('; ');
    throw fail('invalid_request', `The settings were refused: ${words}.`, undefined, errors);
  }
  return { enabled, host, port, ...(authority !== undefined && { ca: authority }) };
}

export function forwardingRoutes(parts: {
  db: Database;
  clock: Clock;
  changes: Changes;
  audit: Audit;
  forwarder: Forwarder;
  hostName: () => string;
}): Handlers<typeof routes> {
  const { db, clock, changes, audit, forwarder, hostName } = parts;
  const shown = (): AuditForwarding => {
    const { enabled, host, port, ca } = forwarder.target() ?? OFF;
    const position = forwarder.position();
    return {
      ...{ enabled, host, port, authority: describeAuthority(ca) },
      receivedUntil: position?.at == null ? null : position.id,
      receivedAt: position?.at ?? null,
      waiting: enabled ? forwarder.waiting() : 0,
      missed: position?.missed ?? 0,
      error: forwarder.error,
    };
  };
  return {
    getAuditForwarding: shown,

    setAuditForwarding: ({ body, caller }) => {
      const before = forwarder.target();
      const after = checked(body, before, clock.now());
      db.transaction(() => {
        // First how far it is: this change is sent on, too.
        forwarder.set(after);
        audit.record(
          caller,
          'audit-forwarding.set',
          after.enabled ? `${after.host}:${after.port}` : 'off',
          before ?? null,
          after,
        );
      });
      forwarder.again();
      changes.publish('audit');
      return shown();
    },

    testAuditForwarding: async ({ body, caller }) => {
      const target = checked({ ...body, enabled: true }, forwarder.target(), clock.now());
      const where = `${target.host}:${target.port}`;
      audit.record(caller, 'audit-forwarding.test', where);
      const exchange: ExchangeLine[] = [];
      const line = (direction: ExchangeLine['direction'], text: string) => void exchange.push({ direction, text });
      const entry = {
        ...{ id: 0, time: clock.now(), user: caller.name, address: caller.address, way: caller.way },
        ...{ action: 'audit-forwarding.test', target: where, before_json: null, after_json: null, entry_hash: GENESIS },
      };
      try {
        line('!', `Connecting to ${where}`);
        const connection = await Connection.open(target, lookupOthers);
        line('!', `Connected by ${connection.protocol}; the certificate is valid for ${target.host}`);
        const message = auditMessage(entry, hostName());
        line('>', message);
        await connection.send(message);
        await connection.end();
        line('!', `Received: the receiver ended the connection after us, at ${iso(clock.now())}`);
        return { ok: true, exchange, problem: null };
      } catch (error) {
        const words = (error as Error).message;
        line('!', words);
        const action = /certificate|self.signed|altnames|issuer/i.test(words)
          ? 'Check that the receiver’s certificate is valid for its name, and give the certificate of the authority that signed it.'
          : 'Check the host and the port, that the receiver takes syslog over TLS, and that it may be reached from here.';
        const found = problem('command_failed', `${where} did not take the test entry: ${words}.`, action);
        return { ok: false, exchange, problem: found };
      }
    },
  };
}
