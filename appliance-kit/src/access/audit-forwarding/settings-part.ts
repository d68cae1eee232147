// Where the audit log is sent on, as a part of the settings document.
import { asked, onePart } from '../../domain/settings-part.ts';
import type { Handlers } from '../../http/handlers.ts';
import type { Forwarder } from './forwarder.ts';
import { checked, OFF } from './handlers.ts';
import type { routes } from './routes.ts';
import { AuditForwardingInput } from './schema.ts';

export const auditForwardingPart = (forwarder: Forwarder, now: () => number, handlers: Handlers<typeof routes>) =>
  onePart({
    ...{ name: 'audit-forwarding', title: 'Where the audit log is sent on', version: 1, schema: AuditForwardingInput },
    covers: ['setAuditForwarding'],
    emptied: ['/ca'],
    normalise: (input) => checked(input, undefined, now()),
    read: () => forwarder.target() ?? OFF,
    set: (body, caller) => asked(handlers.setAuditForwarding, { body, caller }),
  });
