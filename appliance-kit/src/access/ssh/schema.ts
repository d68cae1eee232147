// Who may come in by ssh: until when, from where, by which keys.
import { closed, component, Etag, Line, nullable, type Static, Time, Type } from '../../base/schema/schema.ts';

const access = {
  enabledUntil: nullable(
    Type.String({
      maxLength: 32,
      description: 'when it is switched off, ISO 8601, at most 30 days from now; null: off',
    }),
  ),
  networks: Type.Array(Line({ maxLength: 49 }), {
    maxItems: 32,
    description: "from where: addresses and networks; own: the appliance's own networks",
  }),
};
export const SshAccessInput = closed(access, { $id: 'SshAccessInput' });
export type SshAccessInput = Static<typeof SshAccessInput>;
export const SshAccess = component('SshAccess', {
  ...access,
  etag: Etag,
  available: Type.Boolean({ description: 'false: this system has no account for it' }),
  account: Type.String({ description: 'who everybody comes in as' }),
  port: Type.Integer(),
  hostKey: nullable(
    Type.String({ description: "SHA-256 of the appliance's key, as ssh shows it; null as long as it was never on" }),
  ),
  ownNetworks: Type.Array(Type.String(), { description: 'what own stands for now' }),
  problem: nullable(Type.String({ description: 'why what is set does not hold yet; it is tried again each minute' })),
});
export type SshAccess = Static<typeof SshAccess>;

export const SshKey = component('SshKey', {
  id: Type.String(),
  user: Type.String(),
  kind: Type.String({ description: 'as ssh-ed25519' }),
  fingerprint: Type.String({ description: 'SHA-256, as ssh shows it' }),
  comment: Type.String({ description: 'what stood behind the key' }),
  addedAt: Time,
  lastUsedAt: nullable(Time),
  obstacle: nullable(
    Type.Enum(['disabled', 'password', 'provider', 'role', 'second-factor'], {
      description:
        'why its user does not come in by it: is disabled, has to change the password, has to sign in by the provider again, ' +
        'is a viewer, or has no second factor and needs one',
    }),
  ),
});
export type SshKey = Static<typeof SshKey>;
export const NewSshKey = closed({
  // What is longer is no key; execd says so.
  key: Type.String({ maxLength: 20_000, description: 'the line of a .pub file' }),
});
export const SshKeysQuery = closed({
  of: Type.Optional(
    Type.Enum(['own', 'everyone'], { description: 'of all users only for administrators; own when left out' }),
  ),
});
