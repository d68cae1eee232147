// The identity providers that are set up, and their users: they appear at the first sign-in, and their roles are read anew at each.
import type { Reach } from '../../alerting/destinations/index.ts';
import { describeAuthority } from '../../alerting/destinations/index.ts';
import type { Clock } from '../../base/clock.ts';
import { fail } from '../../base/problems/problem.ts';
import type { Role } from '../../http/gate/roles.ts';
import type { Database, Row } from '../../state/database.ts';
import { newId } from '../../state/id.ts';
import type { SealedFields } from '../../state/sealed-fields.ts';
import type { Account, ExternalAccounts, Users } from '../users/index.ts';
import { Directory, type Tell } from './ldap.ts';
import { OpenId } from './oidc.ts';
import { roleOf } from './roles.ts';
import type { Provider, ProviderInput } from './schema.ts';
import { checked, type Stored } from './settings.ts';

export interface ProvidersParts {
  readonly db: Database;
  readonly clock: Clock;
  readonly users: Users;
  readonly sealed: SealedFields;
  readonly reach: Reach;
  /** A user appeared, or has another role now. */
  readonly changed: (user: string, provider: string, before: Role | null, after: Role) => void;
}

/** Somebody of a provider, as it says. */
export interface Person {
  readonly subject: string;
  readonly name: string;
  readonly groups: readonly string[];
}

/** Each waits for a directory with a connection of its own, ten seconds at most. */
const MOST_AT_ONCE = 16;
/** Whom the audit log calls so. */
const RESERVED = ['appliance', 'setup', 'nginx', 'support'];

/** What a user may be called: what no user may be called here is made into something that may. */
const asUserName = (name: string) =>
  name
    .normalize('NFC')
    .replace(/[^\p{L}\p{N}._@+-]/gu, '-')
    .slice(0, 64);

export class Providers implements ExternalAccounts {
  readonly #parts: ProvidersParts;
  #asking = 0;
  /** What is known of OpenID providers, by id and settings. */
  readonly #open = new Map<string, { settings: string; openId: OpenId }>();

  constructor(parts: ProvidersParts) {
    this.#parts = parts;
  }

  #fromRow(row: Row): Stored {
    const id = row.id as string;
    const { settings, lost } = this.#parts.sealed.read(id, row.settings_json as string);
    return {
      ...(settings as Omit<Stored, 'id'>),
      ...{ id, name: row.name as string, kind: row.kind as Stored['kind'], enabled: row.enabled === 1 },
      ...(lost.length > 0 && { lost }),
    };
  }

  all(): Stored[] {
    return this.#parts.db.all('SELECT * FROM providers ORDER BY name').map((row) => this.#fromRow(row));
  }

  find(id: string): Stored | undefined {
    const row = this.#parts.db.get('SELECT * FROM providers WHERE id = ?', id);
    return row && this.#fromRow(row);
  }

  /** Throws `not_found`. */
  get(id: string): Stored {
    const found = this.find(id);
    if (found === undefined) throw fail('not_found', `There is no identity provider ${id}.`);
    return found;
  }

  /** One by which people may sign in. Throws what is wrong with it. */
  usable(id: string, kind: Stored['kind']): Stored {
    const found = this.get(id);
    if (!found.enabled || found.kind !== kind)
      throw fail('not_found', `Nobody signs in by ${found.name} this way.`, 'Open the page of sign-in anew.');
    if (found.lost !== undefined) {
      throw fail(
        'service_unavailable',
        `A secret of ${found.name} cannot be read any more: ${found.lost.join(', ')}.`,
        'An administrator enters it again. Local accounts work.',
      );
    }
    return found;
  }

  /** As it is shown: without secrets. */
  describe({ ldap, oidc, lost: _, ...rest }: Stored): Provider {
    const users = this.#parts.users.list().filter(({ provider }) => provider === rest.id).length;
    if (ldap !== undefined) {
      const { bindPassword, ca, ...shown } = ldap;
      const set = { bindPasswordSet: bindPassword !== undefined, authority: describeAuthority(ca) };
      return { ...rest, ldap: { ...shown, ...set }, users };
    }
    const { clientSecret, ca, ...shown } = oidc as NonNullable<typeof oidc>;
    const set = { clientSecretSet: clientSecret !== undefined, authority: describeAuthority(ca) };
    return { ...rest, oidc: { ...shown, ...set }, users };
  }

  /** As it would be kept. */
  checked(id: string | undefined, input: ProviderInput): Stored {
    const { clock } = this.#parts;
    const before = id === undefined ? undefined : this.get(id);
    const stored = checked(id ?? newId('idp', clock.now()), input, before, clock.now());
    if (this.all().some((one) => one.name.toLowerCase() === stored.name.toLowerCase() && one.id !== stored.id)) {
      const message = 'is in use';
      throw fail('conflict', `There is an identity provider ${stored.name} already.`, 'Choose another name.', [
        { path: '/name', message },
      ]);
    }
    return stored;
  }

  keep({ id, name, kind, enabled, lost: _, ...settings }: Stored): void {
    const { db, clock, sealed } = this.#parts;
    db.run(
      `INSERT INTO providers (id, name, kind, enabled, settings_json, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
       ON CONFLICT (id) DO UPDATE SET name = ?2, enabled = ?4, settings_json = ?5`,
      ...[id, name, kind, enabled ? 1 : 0, sealed.write(id, settings), clock.now()],
    );
  }

  remove(id: string): void {
    this.#parts.db.run('DELETE FROM providers WHERE id = ?', id);
    this.#open.delete(id);
  }

  directory({ ldap }: Stored, tell?: Tell): Directory {
    if (ldap === undefined) throw new Error('it is no directory');
    return new Directory(ldap, this.#parts.reach, tell);
  }

  openId({ id, oidc }: Stored): OpenId {
    if (oidc === undefined) throw new Error('it is no OpenID provider');
    const settings = JSON.stringify(oidc);
    const known = this.#open.get(id);
    if (known?.settings === settings) return known.openId;
    const openId = new OpenId(oidc, this.#parts.reach, () => this.#parts.clock.monotonic());
    this.#open.set(id, { settings, openId });
    return openId;
  }

  /** The role that somebody's groups give; throws when they give none. */
  roleOf({ name, roles, otherwise }: Stored, person: Person): Role {
    const role = roleOf(person.groups, roles, otherwise);
    if (role !== null) return role;
    throw fail(
      'account_disabled',
      `${person.name} is in no group of ${name} that may sign in here.`,
      'Ask an administrator of the appliance which group you need.',
    );
  }

  /** The user who somebody is here, made at the first time, with the role of now. In a transaction. */
  accountOf(provider: Stored, person: Person): Account {
    const { users } = this.#parts;
    const role = this.roleOf(provider, person);
    const known = users.findExternal(provider.id, person.subject);
    if (known === undefined) {
      const name = this.#freeName(asUserName(person.name), asUserName(provider.name));
      users.createExternal(name, role, provider.id, person.subject);
      this.#parts.changed(name, provider.name, null, role);
      return users.find(name) as Account;
    }
    if (known.disabled)
      throw fail('account_disabled', `The account ${known.name} is disabled.`, 'Ask an administrator to enable it.');
    if (known.role !== role) {
      users.change(known.name, role, false);
      this.#parts.changed(known.name, provider.name, known.role, role);
    }
    return { ...known, role };
  }

  #freeName(name: string, provider: string): string {
    const { users } = this.#parts;
    const wanted = name === '' ? 'user' : name;
    for (const one of [wanted, `${wanted}@${provider}`])
      if (users.find(one) === undefined && !RESERVED.includes(one.toLowerCase())) return one;
    for (let n = 2; ; n++)
      if (users.find(`${wanted}-${n}@${provider}`) === undefined) return `${wanted}-${n}@${provider}`;
  }

  kindOf(id: string): Stored['kind'] | null {
    return this.find(id)?.kind ?? null;
  }

  async #ask(provider: Stored, name: string, password: string): Promise<Person | null> {
    if (this.#asking >= MOST_AT_ONCE) {
      throw fail('too_many', `${this.#asking} sign-ins wait for directories already.`, 'Try again shortly.');
    }
    this.#asking++;
    try {
      return await this.directory(provider).signIn(name, password);
    } finally {
      this.#asking--;
    }
  }

  /** Null: wrong name or password. Throws when the directory cannot be asked, or the person may not. */
  async signIn(id: string, name: string, password: string): Promise<Account | null> {
    const provider = this.usable(id, 'ldap');
    const person = await this.#ask(provider, name, password);
    return person === null ? null : this.#parts.db.transaction(() => this.accountOf(provider, person));
  }

  async verify(account: Account, password: string): Promise<boolean> {
    if (account.provider === null || this.kindOf(account.provider) !== 'ldap') return false;
    const provider = this.usable(account.provider, 'ldap');
    // A name that was taken here has the provider's behind it.
    const suffix = `@${asUserName(provider.name)}`;
    const name = account.name.endsWith(suffix) ? account.name.slice(0, -suffix.length) : account.name;
    const person = await this.#ask(provider, name, password);
    if (person === null || person.subject !== account.subject) return false;
    this.#parts.db.transaction(() => this.accountOf(provider, person));
    return true;
  }
}
