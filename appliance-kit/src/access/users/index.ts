// The users who may sign in.
import { logFailure } from '../../base/problems/log-failure.ts';
import { domain, type Kernel } from '../../domain/domain.ts';
import type { AuditDomain } from '../audit/index.ts';
import { keepAdministrators } from './administrators.ts';
import { type Dependent, userRoutes } from './handlers.ts';
import { migrations } from './migrations.ts';
import { routes } from './routes.ts';
import { usersPart } from './settings-part.ts';
import { Users } from './users.ts';

export { hashPassword, isOutdated, TooManyAtOnce, verifyPassword } from './passwords.ts';
export { passwordProblem } from './strength.ts';
export {
  type Account,
  type ExternalAccounts,
  isUserName,
  NAME_RULE,
  ONE_TIME_MS,
  readableSecret,
  type SecondFactors,
  type Users,
} from './users.ts';
export type { Dependent };

export interface UsersDomain {
  readonly users: Users;
  /** What depends on users, of domains after this one. */
  readonly dependentsOnUsers: Dependent[];
}

export const usersDomain = domain({
  name: 'access/users',
  routes,
  topics: ['users'],
  migrations,
  create: ({ db, clock, config, log, audit, changes, allRoutes }: Kernel & AuditDomain) => {
    const keep = () => {
      try {
        keepAdministrators(db, config.state, (name) => users.secondFactors.ofAdministrator(name));
      } catch (error) {
        logFailure(log, 'the list of who may sign in while akd is down could not be written', error);
      }
    };
    const users = new Users(db, clock, keep);
    const dependents: Dependent[] = [];
    const routed = { db, users, audit, changes, dependents, allRoutes };
    const handlers = userRoutes(routed);
    return {
      provides: { users, dependentsOnUsers: dependents } satisfies UsersDomain,
      handlers,
      settingsParts: [usersPart({ ...routed, handlers })],
      start: keep,
    };
  },
});
