// Looking through the settings of a provider before they are kept.
import { authorityProblem } from '../../alerting/destinations/index.ts';
import { fail } from '../../base/problems/problem.ts';
import type { LdapInput, OidcInput, ProviderInput } from './schema.ts';

export type Stored = Pick<ProviderInput, 'name' | 'kind' | 'enabled' | 'roles' | 'otherwise'> & {
  readonly id: string;
  readonly ldap?: LdapInput;
  readonly oidc?: OidcInput;
  /** Secrets that cannot be opened any more. */
  readonly lost?: readonly string[];
};

/** What is sealed where it is stored. */
export const SECRETS = { ldap: ['bindPassword'], oidc: ['clientSecret'] } as const;

/** Left out: as before; empty: none. */
const kept = (given: string | undefined, before: string | undefined) =>
  given === undefined ? before : given || undefined;

type About = (path: string, message: string | null) => void;

const origin = (text: string, protocols: readonly string[], path: boolean): string | null => {
  const url = URL.parse(text);
  if (url === null || url.hostname === '') return 'is no address';
  if (!protocols.includes(url.protocol)) return `begins with ${protocols.map((one) => `${one}//`).join(' or ')}`;
  if (url.username !== '' || url.password !== '') return 'holds a name or a password, which have fields of their own';
  if (url.search !== '' || url.hash !== '' || (!path && url.pathname !== '/' && url.pathname !== ''))
    return 'has more than protocol, host and port';
  return null;
};

function checkLdap(about: About, ldap: LdapInput): void {
  ldap.urls.forEach((url, at) => {
    about(`/ldap/urls/${at}`, origin(url, ['ldaps:', 'ldap:'], false));
  });
  if (ldap.baseDn.trim() === '') about('/ldap/baseDn', 'is missing');
  if (!ldap.userFilter.includes('{name}')) about('/ldap/userFilter', 'needs {name} where the name goes');
  if (!/^\(.*\)$/s.test(ldap.userFilter.trim())) about('/ldap/userFilter', 'is in parentheses, as (uid={name})');
  if (ldap.bindDn !== '' && ldap.bindPassword === undefined)
    about('/ldap/bindPassword', 'is needed to search as somebody');
  if (ldap.nested !== 'no' && ldap.groupBaseDn.trim() === '')
    about('/ldap/groupBaseDn', 'is needed to look for groups within groups');
}

function checkOidc(about: About, oidc: OidcInput): void {
  about('/oidc/issuer', origin(oidc.issuer, ['https:'], true));
  oidc.pages.forEach((page, at) => {
    about(`/oidc/pages/${at}`, origin(page, ['https:'], false));
  });
  if (!oidc.scopes.split(/\s+/).includes('openid')) about('/oidc/scopes', 'must have openid among them');
}

/** As it is kept; throws what is wrong with it. */
export function checked(id: string, input: ProviderInput, before: Stored | undefined, now: number): Stored {
  const errors: { path: string; message: string }[] = [];
  const about: About = (path, message) => {
    if (message !== null && !errors.some((one) => one.path === path)) errors.push({ path, message });
  };
  const { name, kind, enabled, roles, otherwise } = input;
  const parts = input[kind];
  if (parts === undefined) about(`/${kind}`, 'is missing');
  if (before !== undefined && before.kind !== kind) about('/kind', 'cannot be changed');
  const ca = kept(input[kind]?.ca, before?.[kind]?.ca);
  if (ca !== undefined) about(`/${kind}/ca`, authorityProblem(ca, now));
  if (roles.length === 0 && otherwise === null)
    about('/roles', 'must say which group has which role, or nobody could sign in');
  const common = { id, name, kind, enabled, roles, otherwise };
  let stored: Stored = common;
  if (kind === 'ldap' && input.ldap !== undefined) {
    const { ca: _, bindPassword: given, ...rest } = input.ldap;
    // A stored secret goes to no other host than before.
    const same = before?.ldap !== undefined && rest.urls.every((url) => before.ldap?.urls.includes(url));
    const bindPassword = kept(given, same ? before?.ldap?.bindPassword : undefined);
    const ldap = { ...rest, ...(bindPassword !== undefined && { bindPassword }), ...(ca !== undefined && { ca }) };
    checkLdap(about, ldap);
    stored = { ...common, ldap };
  }
  if (kind === 'oidc' && input.oidc !== undefined) {
    const { ca: _, clientSecret: given, ...rest } = input.oidc;
    const pages = rest.pages.map((page) => page.replace(/\/+$/, '').toLowerCase());
    const same = before?.oidc?.issuer === rest.issuer;
    const clientSecret = kept(given, same ? before?.oidc?.clientSecret : undefined);
    const oidc = {
      ...rest,
      pages,
      ...(clientSecret !== undefined && { clientSecret }),
      ...(ca !== undefined && { ca }),
    };
    checkOidc(about, oidc);
    stored = { ...common, oidc };
  }
  if (errors.length > 0) {
    const words = errors.map(({ path, message }) => `${path} ${message}`).join('; ');
    throw fail('invalid_request', `The provider was refused: ${words}.`, undefined, errors);
  }
  return stored;
}
