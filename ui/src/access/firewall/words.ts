// Services and who may reach them, in words.
import type { Schemas } from '../../api/client.ts';
import { wayTitle } from '../inputs/ways.ts';

export type Service = Schemas['FirewallService'];

const titles: Readonly<Record<string, string>> = {
  https: 'HTTPS: this page, and samples with a token',
  certificates: 'HTTPS with a certificate: programs',
  snmp: 'SNMP polling',
  replication: 'Replication',
  ssh: 'SSH',
};
export const titleOf = ({ name }: Pick<Service, 'name'>) => titles[name] ?? wayTitle(name);

export const portsOf = (ports: Service['ports']): string => {
  const byPort = Map.groupBy(ports, ({ port }) => port);
  return [...byPort].map(([port, all]) => `${port}/${all.map(({ protocol }) => protocol).join('+')}`).join(', ');
};
export const ownWords = (own: readonly string[]) =>
  own.filter((one) => !/^(fe80:|169\.254\.)/.test(one)).join(', ') || 'none yet';
export const fromWords = ({ networks }: Service, own: readonly string[]) =>
  networks.map((one) => (one === 'own' ? `own networks (${ownWords(own)})` : one)).join(', ') || 'everywhere';
