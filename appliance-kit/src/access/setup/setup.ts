// The first-use wizard's memory: which step comes next, and what was decided so far. It can be left at any step and
// taken up again, from another browser too, by signing in.

import { createHash, timingSafeEqual } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { iso } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import { fail } from '../../base/problems/problem.ts';
import type { Caller } from '../../http/gate/caller.ts';
import {
  browserCookie,
  type CookiePolicy,
  dropCookie,
  sessionCookie,
  setCookie,
  setupCookie,
} from '../../http/gate/cookies.ts';
import type { Handlers } from '../../http/handlers.ts';
import type { Changes } from '../../http/live-updates/changes.ts';
import type { Platform } from '../../platform/platform.ts';
import type { Database } from '../../state/database.ts';
import type { Settings } from '../../state/settings.ts';
import type { Audit } from '../audit/index.ts';
import type { Passkeys } from '../factors/index.ts';
import { from, type Sessions, type Throttle } from '../session/index.ts';
import { hashPassword, isUserName, NAME_RULE, passwordProblem, type Users } from '../users/index.ts';
import type { routes } from './routes.ts';
import type { Identity, Setup as SetupDocument, SetupStep } from './schema.ts';
import * as stored from './settings.ts';
import { isTimeZone } from './timezones.ts';

const order: readonly SetupStep[] = ['code', 'administrator', 'identity', 'pool', 'destinations', 'done'];
const LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/i;

export function isHostName(name: string): boolean {
  return name.length > 0 && name.length <= 253 && name.split('.').every((label) => LABEL.test(label));
}

/** Compared as the console shows it or without its hyphens, in any case: it is read off a screen. */
function codeHash(code: string): Buffer {
  return createHash('sha256')
    .update(code.toUpperCase().replace(/[^A-Z0-9]/g, ''))
    .digest();
}

export interface SetupParts {
  readonly db: Database;
  readonly settings: Settings;
  readonly users: Users;
  readonly passkeys: Pick<Passkeys, 'endingBy'>;
  readonly sessions: Sessions;
  readonly throttle: Throttle;
  readonly audit: Audit;
  readonly changes: Changes;
  readonly platform: Platform;
  readonly cookies: CookiePolicy;
  readonly codeFile: string;
  readonly log: Log;
}

/** Throws why the appliance cannot be called so. */
export function mustBeIdentity(
  body: Identity,
  { platform, passkeys }: Pick<SetupParts, 'platform' | 'passkeys'>,
): void {
  const errors: { path: string; message: string }[] = [];
  if (!isHostName(body.hostName)) {
    const message = 'must be a host name: letters, digits and hyphens, parts separated by dots';
    errors.push({ path: '/hostName', message });
  }
  if (!isTimeZone(body.timeZone)) errors.push({ path: '/timeZone', message: 'is not a time zone that is known here' });
  if (errors.length > 0) {
    const words = errors.map(({ path, message }) => `${path.slice(1)} ${message}`).join('; ');
    throw fail('invalid_request', `The identity was refused: ${words}.`, undefined, errors);
  }
  const before = platform.identity();
  const ending = passkeys.endingBy(before.hostName.toLowerCase(), body.hostName.toLowerCase());
  if (ending.length > 0 && body.endPasskeys !== true) {
    const which = ending.map(({ user, name, host }) => `“${name}” of ${user} (${host})`).join(', ');
    throw fail(
      'passkeys_end',
      `A passkey belongs to a host name. Under the name ${body.hostName} ${ending.length === 1 ? 'this one stops' : 'these stop'} working: ${which}.`,
      'See that those users can sign in by password and code, then confirm that their passkeys end.',
    );
  }
}

export class Setup {
  readonly #parts: SetupParts;

  constructor(parts: SetupParts) {
    this.#parts = parts;
  }

  completed(): boolean {
    return this.#parts.settings.get(stored.completed) === true;
  }

  /**
   * As it is for one caller: until there is an administrator, who has not given the code is asked for it, whatever
   * another browser has done.
   */
  document(caller: Caller): SetupDocument {
    const { platform, settings, users } = this.#parts;
    const { hostName, timeZone } = platform.identity();
    const named = settings.get(stored.named) === true;
    const step = this.#reached();
    return {
      completed: this.completed(),
      step: step === 'administrator' && caller.by !== 'setup' && !users.any() ? 'code' : step,
      hostName,
      timeZone,
      applianceName: named ? hostName : 'Cistern',
      live: platform.live(),
    };
  }

  #reached(): SetupStep {
    return this.#parts.settings.get(stored.step) ?? 'code';
  }

  /** The wizard only ever goes forward; a page may be revisited without losing the place. */
  reach(step: SetupStep): void {
    const { settings, changes } = this.#parts;
    if (order.indexOf(step) <= order.indexOf(this.#reached())) return;
    settings.set(stored.step, step);
    changes.publish('setup');
  }

  async codeIsRight(given: string): Promise<boolean> {
    const { codeFile, log } = this.#parts;
    let text: string;
    try {
      text = (await readFile(codeFile, 'utf8')).trim();
    } catch (error) {
      log.warn('the set-up code cannot be read', { path: codeFile, error: (error as Error).message });
      throw fail(
        'service_unavailable',
        'The appliance has no set-up code that could be compared with.',
        'Look at the console. It shows the code when the first boot has finished.',
      );
    }
    const right = timingSafeEqual(codeHash(text), codeHash(given));
    return right && text.length > 0;
  }
}

export function setupRoutes(
  parts: SetupParts,
  setup: Setup,
): Pick<
  Handlers<typeof routes>,
  'getSetup' | 'enterSetupCode' | 'createAdministrator' | 'setIdentity' | 'setSetupStep' | 'finishSetup'
> {
  const { db, settings, users, sessions, throttle, audit, changes, platform, cookies } = parts;
  const mustBeOpen = () => {
    if (setup.completed()) throw fail('setup_done', 'This appliance is set up already.', 'Sign in.');
  };
  const mustHaveNoUser = () => {
    if (users.any()) {
      throw fail('setup_done', 'The administrator was created already.', 'Sign in to go on with set-up.');
    }
  };

  return {
    getSetup: ({ caller }) => setup.document(caller),

    enterSetupCode: async ({ body, caller, request, reply }) => {
      mustBeOpen();
      mustHaveNoUser();
      const guess = throttle.begin('setup-code', '', caller.address);
      let right: boolean;
      try {
        right = await setup.codeIsRight(body.code);
      } finally {
        guess.withdrawn();
      }
      if (!right) {
        audit.recordRepeated(caller, 'setup.refused', 'code', null);
        guess.wrong();
        throw fail(
          'wrong_setup_code',
          'This is not the code.',
          'The console of the appliance shows it. Check each character.',
        );
      }
      db.transaction(() => {
        guess.right();
        setup.reach('administrator');
        setCookie(reply, cookies, setupCookie(cookies), sessions.create(null, from(request, caller)).secret);
        audit.record({ ...caller, name: 'setup' }, 'setup.code', 'code');
      });
      return setup.document({ ...caller, by: 'setup' });
    },

    createAdministrator: async ({ body, caller, request, reply }) => {
      mustBeOpen();
      mustHaveNoUser();
      const weakness = await passwordProblem(body.password, [body.name, platform.identity().hostName]);
      const wrong = [
        ...(isUserName(body.name) ? [] : [{ path: '/name', message: NAME_RULE }]),
        ...(weakness === null ? [] : [{ path: '/password', message: weakness }]),
      ];
      if (wrong.length > 0) {
        const words = wrong.map(({ path, message }) => `The ${path.slice(1)} ${message}.`).join(' ');
        throw fail('invalid_request', words, undefined, wrong);
      }
      const hash = await hashPassword(body.password);
      return db.transaction(() => {
        // Again: hashing took a while, and another request may have been quicker.
        mustHaveNoUser();
        users.create(body.name, 'administrator', hash);
        users.signedIn(body.name);
        sessions.endSetup();
        setup.reach('identity');
        audit.record(caller, 'user.create', body.name, null, { name: body.name, role: 'administrator' });
        const { secret, expiresAt } = sessions.create(body.name, from(request, caller));
        dropCookie(reply, cookies, setupCookie(cookies));
        setCookie(reply, cookies, sessionCookie(cookies), secret);
        setCookie(
          reply,
          cookies,
          browserCookie(cookies),
          sessions.rememberBrowser(body.name, undefined),
          90 * 24 * 3600,
        );
        return { user: { name: body.name, role: 'administrator' as const }, expiresAt: iso(expiresAt) };
      });
    },

    setIdentity: async ({ body, caller }) => {
      const before = platform.identity();
      mustBeIdentity(body, parts);
      await platform.setIdentity(body.hostName.toLowerCase(), body.timeZone);
      db.transaction(() => {
        settings.set(stored.named, true);
        setup.reach('pool');
        audit.record(caller, 'system.identity', body.hostName, before, body);
      });
      changes.publish('setup');
      return setup.document(caller);
    },

    setSetupStep: ({ body, caller }) => {
      mustBeOpen();
      db.transaction(() => {
        setup.reach(body.step);
        audit.record(caller, 'setup.step', body.step);
      });
      return setup.document(caller);
    },

    finishSetup: async ({ caller }) => {
      if (setup.completed()) return setup.document(caller);
      await platform.finishSetup();
      db.transaction(() => {
        settings.set(stored.completed, true);
        settings.set(stored.step, 'done');
        sessions.endSetup();
        audit.record(caller, 'setup.finish', 'setup');
      });
      changes.publish('setup');
      return setup.document(caller);
    },
  };
}
