// The machine's addresses: what is set, what there is, and what is being tried.
import { closed, component, Line, nullable, type Static, Time, Type } from '../../base/schema/schema.ts';

const Address = Line({ maxLength: 49 });

const family = (method: 'dhcp' | 'auto', words: string) => ({
  method: Type.Enum(['off', method, 'static'], { description: words }),
  addresses: Type.Array(Address, { maxItems: 16, description: 'as 192.0.2.10/24, with the length of the network' }),
  gateway: Type.String({ maxLength: 45, description: 'the way to other networks; empty: none is set here' }),
});

const Interface = {
  name: Line({
    maxLength: 15,
    description: 'of a port as the system calls it; of a bond or VLAN as it is to be called',
  }),
  kind: Type.Enum(['port', 'bond', 'vlan']),
  mac: Type.String({ maxLength: 17, description: 'of a port: its hardware address, by which it is found; else empty' }),
  mtu: Type.Integer({ description: 'bytes that a packet may have, 1280 to 9216' }),
  ipv4: closed(family('dhcp', 'dhcp: a DHCP server gives it; static: only the addresses here')),
  ipv6: closed(family('auto', 'auto: by router advertisements, and DHCPv6 where they say so; static: only those here')),
  mode: Type.Enum(['', 'active-backup', '802.3ad'], { description: 'of a bond: one port at a time, or LACP' }),
  members: Type.Array(Type.String({ maxLength: 15 }), { maxItems: 16, description: 'of a bond: names of ports' }),
  fastLacp: Type.Boolean({
    description: 'of a bond by LACP: its partner is asked to speak every second, not every 30',
  }),
  parent: Type.String({ maxLength: 15, description: 'of a VLAN: the port or bond that it is on; else empty' }),
  id: Type.Integer({ minimum: 0, maximum: 4094, description: 'of a VLAN: its number; else 0' }),
};

const settings = {
  interfaces: Type.Array(component('NetworkInterface', Interface), {
    maxItems: 64,
    description: 'a port that is not named asks for its addresses',
  }),
  routes: Type.Array(closed({ to: Address, via: Address }), {
    maxItems: 64,
    description: 'ways to networks that the gateway does not lead to: as 198.51.100.0/24, and the address of a router',
  }),
  dns: Type.Array(Address, { maxItems: 3, description: 'servers that are asked for names' }),
  search: Type.Array(Line({ maxLength: 253 }), {
    maxItems: 6,
    description: 'domains that are appended to short names',
  }),
  dnsFromNetwork: Type.Boolean({ description: 'servers and domains that the network names are used as well' }),
};

const Settings = component('NetworkSettings', settings);

/** What is left out of a change stays as it is set. */
const asItIs = {
  interfaces: Type.Optional(settings.interfaces),
  routes: Type.Optional(settings.routes),
  dns: Type.Optional(settings.dns),
  search: Type.Optional(settings.search),
  dnsFromNetwork: Type.Optional(settings.dnsFromNetwork),
};

const Link = component('NetworkLink', {
  name: Type.String(),
  kind: Type.Enum(['port', 'bond', 'vlan']),
  mac: Type.String({ description: 'of a port' }),
  state: Type.Enum(['up', 'down', 'wrong']),
  sentence: Type.String({ description: 'how it is' }),
  mtu: Type.Integer(),
  addresses: Type.Array(Type.String()),
  bond: Type.String({ description: 'that it is in; empty: none' }),
});

export const Network = component('Network', {
  settings: Settings,
  sentence: Type.String({ description: 'how the machine is reached' }),
  unreadable: Type.Boolean({ description: 'what was set cannot be read any more: every port asks for its addresses' }),
  links: Type.Array(Link, { description: 'that there are' }),
  gateways: Type.Array(
    Type.Object({
      address: Type.String(),
      interface: Type.String(),
      answers: nullable(Type.Boolean({ description: 'that it is there; null: nobody knows yet' })),
    }),
  ),
  dns: Type.Array(Type.String(), { description: 'that are asked now' }),
  search: Type.Array(Type.String()),
  trying: nullable(
    component('NetworkTryState', {
      settings: Settings,
      by: Type.String({ description: 'empty: before this start of the management plane' }),
      secondsLeft: Type.Number({ minimum: 0, description: 'then it is taken back' }),
      missing: Type.String({ description: 'what of it is not there yet; empty: it all is' }),
      token: Type.String({ description: 'who has it may confirm, also without signing in at another address' }),
      addresses: Type.Array(Type.String(), { description: 'at which the page may be opened then' }),
    }),
  ),
  ended: nullable(
    Type.Object({ at: Time, why: Type.String() }, { description: 'why a change was taken back within the last day' }),
  ),
});
export type Network = Static<typeof Network>;

export const NetworkTryInput = component('NetworkTryInput', {
  ...asItIs,
  seconds: Type.Optional(
    Type.Integer({ minimum: 60, maximum: 600, description: 'until it is taken back unless it is confirmed; 120' }),
  ),
  isolated: Type.Optional(Type.Boolean({ description: 'that there is no way to other networks any more is meant' })),
});
export type NetworkTryInput = Static<typeof NetworkTryInput>;

export const NetworkToken = closed({ token: Line({ maxLength: 64 }) }, { $id: 'NetworkToken' });
