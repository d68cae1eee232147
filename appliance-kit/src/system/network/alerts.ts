// The alerts that this domain can raise: what the pages, the mails and the traps say of each.
import { alertClass } from '../../alerting/catalogue/alert-class.ts';

const page = () => '/settings/network';
const linkDown = (link: string) => [`link.down/${link}`];

export interface AddressMissingArgs {
  readonly link: string;
  /** It asks the network for an address; else one is set for it. */
  readonly asks: boolean;
}

export const addressMissing = alertClass<AddressMissingArgs>({
  class: 'address.missing',
  severity: () => 'warning',
  title: ({ link }) => `${link} has no address`,
  text: ({ link, asks }) =>
    asks
      ? `The network interface ${link} has a cable, and no DHCP server and no router has given it an address.`
      : `The network interface ${link} has a cable, and not the address that is set for it.`,
  impact: () => 'Nobody reaches the appliance by it, and it reaches nobody.',
  response: ({ asks }) => (asks ? 'It goes on asking.' : 'It goes on trying to have it.'),
  action: ({ asks }) =>
    asks
      ? 'See whether there is a DHCP server in this network (VLAN), and whether it has free addresses. Or set an address under Settings → Network; or, if it is to have none, that.'
      : 'See whether another machine has the address, and set another one under Settings → Network.',
  page,
  labels: ({ link }) => ({ link }),
  dedupKey: ({ link }) => `address.missing/${link}`,
  example: { link: 'eno1', asks: true },
  dedupExample: 'address.missing/eno1',
  dependsOn: ({ link }) => linkDown(link),
  // Whether another machine has an address takes some seconds to find out, and a switch up to a minute to let packets through.
  visibleAfterSeconds: 90,
});

export interface AddressDuplicateArgs {
  readonly link: string;
  readonly address: string;
}

export const addressDuplicate = alertClass<AddressDuplicateArgs>({
  class: 'address.duplicate',
  severity: () => 'critical',
  title: ({ address }) => `Another machine has the address ${address}`,
  text: ({ link, address }) => `The address ${address}, which ${link} is to have, is that of another machine.`,
  impact: () => 'The appliance does not use it: whoever asks for it there reaches the other machine.',
  response: () => 'The other addresses go on.',
  action: () => 'Take the address away from one of the two: of the appliance under Settings → Network.',
  page,
  labels: ({ link, address }) => ({ link, address }),
  dedupKey: ({ address }) => `address.duplicate/${address}`,
  example: { link: 'eno1', address: '2001:db8::10/64' },
  dedupExample: 'address.duplicate/2001:db8::10/64',
  dependsOn: () => [],
  visibleAfterSeconds: 0,
});

export interface GatewaySilentArgs {
  readonly gateway: string;
  readonly link: string;
}

export const gatewaySilent = alertClass<GatewaySilentArgs>({
  class: 'gateway.silent',
  severity: () => 'warning',
  title: ({ gateway }) => `The gateway ${gateway} does not answer`,
  text: ({ gateway, link }) => `The gateway ${gateway}, which ${link} leads to, does not answer in its own network.`,
  impact: () =>
    'Other networks are not reached, and do not reach the appliance: no mails, no time servers and no pages there.',
  response: () => 'The appliance goes on in its own networks, and keeps what it could not send.',
  action: () =>
    'See whether the router runs and has this address, and whether the cable is in the right network (VLAN). If it has another address, set it under Settings → Network.',
  page,
  labels: ({ gateway, link }) => ({ gateway, link }),
  dedupKey: ({ gateway }) => `gateway.silent/${gateway}`,
  example: { gateway: '192.0.2.1', link: 'eno1' },
  dedupExample: 'gateway.silent/192.0.2.1',
  dependsOn: ({ link }) => linkDown(link),
  visibleAfterSeconds: 90,
});

export const dnsMissing = alertClass<Record<string, never>>({
  class: 'dns.missing',
  severity: () => 'warning',
  title: () => 'There is nobody to ask for names',
  text: () => 'The appliance has an address and a gateway, and no DNS server: no host name has an address for it.',
  impact: () => 'Whatever is set by a host name is not reached: mail servers, receivers, time servers, directories.',
  response: () => 'Whatever is set by an address goes on.',
  action: () => 'Name a DNS server under Settings → Network, or have the network name one (DHCP option 6).',
  page,
  labels: () => ({}),
  dedupKey: () => 'dns.missing/network',
  example: {},
  dedupExample: 'dns.missing/network',
  dependsOn: () => [],
  visibleAfterSeconds: 90,
});

export const alertClasses = [addressMissing, addressDuplicate, gatewaySilent, dnsMissing] as const;
