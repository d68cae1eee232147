// The users who may sign in.
import { logFailure } from '../../base/problems/log-failure.ts';
import { domain, type Kernel } from '../../domain/domain.ts';
import { keepAdministrators } from './administrators.ts';
import { migrations } from './migrations.ts';
import { routes } from './routes.ts';
import { Users, userRoutes } from './users.ts';

export { checkNewUser, type Users } from './users.ts';

export interface UsersDomain {
  readonly users: Users;
}

export const usersDomain = domain({
  name: 'access/users',
  routes,
  migrations,
  create: ({ db, clock, config, log }: Kernel) => {
    const keep = () => {
      try {
        keepAdministrators(db, config.state);
      } catch (error) {
        logFailure(log, 'the list of who may sign in while akd is down could not be written', error);
      }
    };
    const users = new Users(db, clock, keep);
    return { provides: { users } satisfies UsersDomain, handlers: userRoutes(users), start: keep };
  },
});
