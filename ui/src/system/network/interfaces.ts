// The interfaces of the machine as they are set and as they are, in words; and how a change of one changes the whole.
import type { Schemas } from '../../api/client.ts';

export type Network = Schemas['Network'];
export type NetworkSettings = Schemas['NetworkSettings'];
export type Interface = Schemas['NetworkInterface'];
export type Link = Schemas['NetworkLink'];

const MTU = 1500;

const NONE = { addresses: [], gateway: '' };

/** A port that nothing was set of asks for its addresses. */
function asking(name: string, mac: string): Interface {
  return {
    ...{ name, kind: 'port', mac, mtu: MTU, mode: '', members: [], fastLacp: false, parent: '', id: 0 },
    ipv4: { method: 'dhcp', ...NONE },
    ipv6: { method: 'auto', ...NONE },
  };
}

const silent = { ipv4: { method: 'off', ...NONE }, ipv6: { method: 'off', ...NONE } } as const;

/** @returns the first name with a number that nothing has */
function freeName(word: string, network: Network): string {
  const taken = new Set([...network.links, ...network.settings.interfaces].map(({ name }) => name));
  for (let at = 0; ; at++) if (!taken.has(`${word}${at}`)) return `${word}${at}`;
}

export function newInterface(kind: 'bond' | 'vlan', network: Network): Interface {
  const first = network.links.find((link) => link.kind === 'bond' || (link.kind === 'port' && link.bond === ''));
  const mode = kind === 'bond' ? 'active-backup' : '';
  return {
    ...asking(freeName(kind, network), ''),
    ...{ kind, mode, ...(kind === 'vlan' && { parent: first?.name ?? '', id: 1 }) },
  };
}

/** What is set of an interface; nothing was: what it does then. */
export function settingOf(link: Pick<Link, 'name' | 'kind' | 'mac'>, { interfaces }: NetworkSettings): Interface {
  const found = interfaces.find((one) => (link.kind === 'port' ? one.mac === link.mac : one.name === link.name));
  return found ?? asking(link.name, link.mac);
}

export interface Row {
  readonly setting: Interface;
  /** Null: it is set, and not there. */
  readonly link: Link | null;
  readonly isSet: boolean;
}

/** All interfaces that there are or that something is set of. */
export function rowsOf({ links, settings }: Network): Row[] {
  const there = links.map((link) => ({
    ...{ link, setting: settingOf(link, settings) },
    isSet: settings.interfaces.some((one) => (link.kind === 'port' ? one.mac === link.mac : one.name === link.name)),
  }));
  const gone = settings.interfaces.filter((one) => !there.some(({ setting }) => setting === one));
  return [...there, ...gone.map((setting) => ({ setting, link: null, isSet: true }))];
}

/** The same settings with one interface as given; what it is made of becomes a part of it. */
export function withInterface(network: Network, before: string | null, one: Interface): NetworkSettings {
  const interfaces = network.settings.interfaces.filter(({ name }) => name !== before && name !== one.name);
  const under = one.kind === 'bond' ? one.members : one.kind === 'vlan' ? [one.parent] : [];
  for (const name of under) {
    const link = network.links.find((found) => found.name === name);
    if (link?.kind === 'port' && !interfaces.some((found) => found.name === name))
      interfaces.push(asking(name, link.mac));
  }
  const left = network.settings.interfaces.find(({ name }) => name === before)?.members ?? [];
  return {
    ...network.settings,
    interfaces: [
      ...interfaces.map((found) => {
        if (one.kind === 'bond' && one.members.includes(found.name)) return { ...found, ...silent, mtu: one.mtu };
        // Who is in no bond any more goes on by itself.
        return left.includes(found.name) ? { ...asking(found.name, found.mac), mtu: found.mtu } : found;
      }),
      one,
    ],
  };
}

export function withoutInterface(network: Network, name: string): NetworkSettings {
  const members = network.settings.interfaces.find((one) => one.name === name)?.members ?? [];
  return {
    ...network.settings,
    interfaces: network.settings.interfaces
      .filter((one) => one.name !== name)
      .map((one) => (members.includes(one.name) ? asking(one.name, one.mac) : one)),
  };
}

export function kindWords({ kind, mode, members, parent, id, mac }: Interface): string {
  if (kind === 'vlan') return `VLAN ${id} of ${parent}`;
  if (kind === 'port') return mac;
  return `${mode === '802.3ad' ? 'LACP' : 'one at a time'}: ${members.join(', ')}`;
}

function familyWords({ method, addresses }: Interface['ipv4'] | Interface['ipv6'], family: string): string[] {
  if (method === 'off') return [];
  const asks = method === 'dhcp' ? ['by DHCP'] : method === 'auto' ? ['by itself'] : [];
  return [`${family}: ${[...asks, ...addresses].join(', ')}`];
}

export const methodWords = (one: Interface) =>
  [...familyWords(one.ipv4, 'IPv4'), ...familyWords(one.ipv6, 'IPv6')].join('; ') || 'no address';

/** Words with spaces, commas or new lines between them. */
export const wordsOf = (text: string): string[] => text.split(/[\s,;]+/).filter((one) => one !== '');

/** Routes as lines: 198.51.100.0/24 via 192.0.2.9 */
export const routesText = ({ routes }: NetworkSettings) => routes.map(({ to, via }) => `${to} via ${via}`).join('\n');

export const routesOf = (text: string): NetworkSettings['routes'] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .map((line) => {
      const [to = '', ...rest] = line.split(/\s+via\s+|\s+/);
      return { to, via: rest.join(' ') };
    });
