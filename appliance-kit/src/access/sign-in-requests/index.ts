// Signing in a program without a browser, by a link that is opened in one.
import { domain, type Kernel } from '../../domain/domain.ts';
import type { AuditDomain } from '../audit/index.ts';
import type { SessionDomain } from '../session/index.ts';
import type { UsersDomain } from '../users/index.ts';
import { signInRequestRoutes } from './handlers.ts';
import { routes } from './routes.ts';
import { SignInRequests } from './sign-in-requests.ts';

export const signInRequestsDomain = domain({
  name: 'access/sign-in-requests',
  routes,
  create: (parts: Kernel & AuditDomain & UsersDomain & SessionDomain) => ({
    provides: {},
    handlers: signInRequestRoutes({
      ...parts,
      cookies: { secure: parts.config.secureCookies },
      requests: new SignInRequests(parts.clock),
    }),
  }),
});
