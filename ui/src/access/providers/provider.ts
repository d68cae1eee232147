// An identity provider as the form holds it.
import type { Schemas } from '../../api/client.ts';
import { linesIn } from '../../forms/lines.ts';

export type Provider = Schemas['Provider'];
export type Input = Schemas['ProviderInput'];
type Kind = Provider['kind'];

export const KINDS: Record<Kind, string> = { ldap: 'LDAP or Active Directory', oidc: 'OpenID Connect' };

/** What is written in several lines is text here. */
export interface Draft {
  readonly name: string;
  readonly kind: Kind;
  readonly enabled: boolean;
  readonly roles: readonly Schemas['GroupRole'][];
  readonly otherwise: Input['otherwise'];
  readonly urls: string;
  readonly ldap: Omit<Schemas['LdapInput'], 'urls' | 'bindPassword' | 'ca'>;
  readonly pages: string;
  readonly oidc: Omit<Schemas['OidcInput'], 'pages' | 'clientSecret' | 'ca'>;
  /** Null: as it is stored. */
  readonly secret: string | null;
  readonly ca: string | null;
}

const NEW_LDAP: Draft['ldap'] = {
  ...{ bindDn: '', baseDn: '', userFilter: '(uid={name})', nameAttribute: 'uid', subjectAttribute: 'entryUUID' },
  ...{ groupBaseDn: '', nested: 'no' },
};
/** As Active Directory wants it. */
export const ACTIVE_DIRECTORY: Partial<Draft['ldap']> = {
  userFilter: '(&(objectCategory=person)(sAMAccountName={name}))',
  ...{ nameAttribute: 'sAMAccountName', subjectAttribute: 'objectGUID', nested: 'active-directory' },
};
const NEW_OIDC: Draft['oidc'] = {
  ...{ issuer: '', clientId: '', scopes: 'openid profile groups', nameClaim: 'preferred_username' },
  ...{ groupsClaim: 'groups', endSession: false },
};

export function draftOf(one: Provider | undefined): Draft {
  const newLdap = { ...NEW_LDAP, urls: [] as string[], authority: null, bindPasswordSet: false };
  const newOidc = { ...NEW_OIDC, pages: [] as string[], authority: null, clientSecretSet: false };
  const { urls, bindPasswordSet: _, authority: __, ...ldap } = one?.ldap ?? newLdap;
  const { pages, clientSecretSet: ___, authority: ____, ...oidc } = one?.oidc ?? newOidc;
  return {
    name: one?.name ?? '',
    kind: one?.kind ?? 'ldap',
    enabled: one?.enabled ?? true,
    roles: one?.roles ?? [{ group: '', role: 'viewer' }],
    otherwise: one?.otherwise ?? null,
    urls: urls.join('\n'),
    pages: one === undefined ? window.location.origin : pages.join('\n'),
    ...{ ldap, oidc, secret: null, ca: null },
  };
}

export function inputOf({ urls, pages, ldap, oidc, secret, ca, roles, ...rest }: Draft): Input {
  const common = { ...rest, roles: roles.filter(({ group }) => group.trim() !== '') };
  const authority = ca === null ? {} : { ca };
  if (rest.kind === 'ldap') {
    return {
      ...common,
      ldap: { ...ldap, urls: linesIn(urls), ...authority, ...(secret !== null && { bindPassword: secret }) },
    };
  }
  return {
    ...common,
    oidc: { ...oidc, pages: linesIn(pages), ...authority, ...(secret !== null && { clientSecret: secret }) },
  };
}

export interface FieldsProps {
  readonly draft: Draft;
  readonly set: (change: Partial<Draft>) => void;
  /** The appliance's complaint about a field. */
  readonly at: (path: string) => string | undefined;
  readonly existing: Provider | undefined;
}
