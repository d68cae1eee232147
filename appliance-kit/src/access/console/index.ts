// Letting an administrator in again at the console.
import { dirname, join } from 'node:path';
import type { AlertsDomain } from '../../alerting/alerts/index.ts';
import { domain, type Kernel } from '../../domain/domain.ts';
import type { AuditDomain } from '../audit/index.ts';
import type { FactorsDomain } from '../factors/index.ts';
import type { SessionDomain } from '../session/index.ts';
import type { UsersDomain } from '../users/index.ts';
import { alertClasses } from './alerts.ts';
import { answered, LetIn } from './let-in.ts';

export interface ConsoleDomain {
  readonly letIn: LetIn;
}

export const consoleDomain = domain({
  name: 'access/console',
  alertClasses,
  settings: [answered],
  create: (parts: Kernel & AuditDomain & UsersDomain & FactorsDomain & SessionDomain & AlertsDomain) => {
    const { config } = parts;
    const letIn = new LetIn({
      ...{ ...parts, dependents: parts.dependentsOnUsers, state: config.state },
      // Beside akd's own folder; root lets akd's group read it.
      requestFile: join(dirname(config.state), 'console', 'let-in.json'),
    });
    return {
      provides: { letIn } satisfies ConsoleDomain,
      beforeAnswers: () => letIn.look(),
      // Somebody waits at the console, and one opened folder costs nothing.
      periodic: [{ everyMs: config.pollMs, run: () => letIn.look() }],
    };
  },
});
