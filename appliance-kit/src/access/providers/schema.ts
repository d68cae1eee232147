// Identity providers: directories (LDAP, Active Directory) and OpenID Connect.
import { Authority } from '../../alerting/destinations/index.ts';
import { closed, component, Etag, Line, nullable, type Static, Type } from '../../base/schema/schema.ts';
import { Role } from '../../http/gate/roles.ts';

const Attribute = (description: string) =>
  Type.String({ minLength: 1, maxLength: 64, pattern: '^[A-Za-z][A-Za-z0-9-]*$', description });
const Dn = (description: string) => Type.String({ maxLength: 1024, description });

export const GroupRole = component('GroupRole', {
  group: Type.String({
    ...{ minLength: 1, maxLength: 1024 },
    description:
      'of a directory its distinguished name, or its common name alone; of OpenID Connect the value of the claim',
  }),
  role: Role,
});
export type GroupRole = Static<typeof GroupRole>;

const ldap = {
  urls: Type.Array(Type.String({ maxLength: 300 }), {
    ...{ minItems: 1, maxItems: 5 },
    description:
      'ldaps://HOST for TLS from the start, ldap://HOST for StartTLS; the next one is asked when one does not answer',
  }),
  bindDn: Dn('as whom users are searched for; empty: anonymously'),
  baseDn: Dn('below which users are searched for'),
  userFilter: Type.String({
    maxLength: 1024,
    description: 'finds the user (RFC 4515); {name} is what was typed, escaped',
  }),
  nameAttribute: Attribute('what the user is called here, as uid or sAMAccountName'),
  subjectAttribute: Attribute('what stays the same when the user is renamed, as entryUUID or objectGUID'),
  groupBaseDn: Dn('below which groups are searched for whose member the user is; empty: memberOf of the user is all'),
  nested: Type.Enum(['no', 'walk', 'active-directory'], {
    description:
      'whether groups within groups count: walk asks for the groups of each group, active-directory lets the server do it',
  }),
};
const oidc = {
  issuer: Type.String({ maxLength: 300, description: 'https://…, as the provider calls itself' }),
  clientId: Type.String({ minLength: 1, maxLength: 300 }),
  scopes: Type.String({ maxLength: 300, description: 'what is asked for; openid is needed' }),
  nameClaim: Type.String({ minLength: 1, maxLength: 100, description: 'what the user is called here' }),
  groupsClaim: Type.String({
    minLength: 1,
    maxLength: 100,
    description: 'the groups: a claim, or a path as realm_access.roles',
  }),
  pages: Type.Array(Type.String({ maxLength: 300 }), {
    ...{ minItems: 1, maxItems: 10 },
    description:
      'under which the page is opened, as https://cistern.example.org; the provider knows PAGE/sign-in/callback',
  }),
  endSession: Type.Boolean({ description: 'signing out here signs out at the provider as well' }),
};
const Ca = Type.Optional(
  Type.String({
    maxLength: 65_536,
    description: 'PEM of the authorities to believe; left out: as before; empty: those of the system',
  }),
);
const Secret = (description: string) =>
  Type.Optional(Type.String({ maxLength: 1024, description: `${description}; left out: as before; empty: none` }));

export const LdapInput = component('LdapInput', { ...ldap, bindPassword: Secret('of bindDn'), ca: Ca });
export type LdapInput = Static<typeof LdapInput>;
export const OidcInput = component('OidcInput', { ...oidc, clientSecret: Secret('of the client'), ca: Ca });
export type OidcInput = Static<typeof OidcInput>;

const common = {
  name: Line({ maxLength: 64, description: 'as people know it: on the page of sign-in' }),
  enabled: Type.Boolean(),
  roles: Type.Array(GroupRole, {
    maxItems: 100,
    description: 'the highest role of all that fit is what the user gets',
  }),
  otherwise: nullable(Role),
};
const Kind = Type.Enum(['ldap', 'oidc']);

export const ProviderInput = component(
  'ProviderInput',
  { ...common, kind: Kind, ldap: Type.Optional(LdapInput), oidc: Type.Optional(OidcInput) },
  'With the settings of its kind. `otherwise` is the role of whom no group fits; null: they are refused.',
);
export type ProviderInput = Static<typeof ProviderInput>;

export const Provider = component('Provider', {
  id: Type.String(),
  ...common,
  kind: Kind,
  ldap: Type.Optional(closed({ ...ldap, bindPasswordSet: Type.Boolean(), authority: nullable(Authority) })),
  oidc: Type.Optional(closed({ ...oidc, clientSecretSet: Type.Boolean(), authority: nullable(Authority) })),
  users: Type.Integer({ description: 'how many have signed in by it, and are known' }),
  etag: Etag,
});
export type Provider = Static<typeof Provider>;

/** What the page of sign-in shows before anybody has signed in. */
export const OfferedProvider = component('OfferedProvider', { id: Type.String(), name: Type.String(), kind: Kind });

export const ProviderStep = component('ProviderStep', {
  what: Type.String({ description: 'what was tried' }),
  ok: Type.Boolean(),
  found: Type.String({ description: 'what came of it, or what was wrong' }),
  action: Type.Optional(Type.String({ description: 'what to do' })),
});
export type ProviderStep = Static<typeof ProviderStep>;

export const ProviderTest = component('ProviderTest', {
  id: Type.Optional(
    Type.String({ maxLength: 64, description: 'of the stored one, whose secrets are taken where they are left out' }),
  ),
  provider: ProviderInput,
  user: Type.Optional(Type.String({ maxLength: 256, description: 'of a directory: who is searched for' })),
  password: Type.Optional(Type.String({ maxLength: 1024, description: 'of that user; left out: it is not tried' })),
});
export const ProviderTested = component('ProviderTested', {
  ok: Type.Boolean(),
  steps: Type.Array(ProviderStep),
});

export const StartProvider = component('StartProvider', {
  for: Type.Enum(['sign-in', 'confirmation']),
});
export const StartedProvider = component('StartedProvider', {
  url: Type.String({ description: 'of the provider, to go to' }),
});
export const FinishProvider = component('FinishProvider', {
  query: Type.String({ maxLength: 8192, description: 'of the address the provider has sent the browser back to' }),
});
export const EndedAtProvider = component('EndedAtProvider', {
  url: nullable(Type.String({ description: 'where to go to sign out there, too' })),
});
