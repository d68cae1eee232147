// Networks that a token may be used from.
import { BlockList, isIP } from 'node:net';

/** Null when it is an address or a network; else what is wrong with it, in words that follow its text. */
export function networkProblem(text: string): string | null {
  const [address = '', bits, more] = text.split('/');
  const family = isIP(address);
  if (family === 0 || more !== undefined) return 'is neither an address nor a network, as 192.0.2.7 or 192.0.2.0/24';
  if (bits === undefined) return null;
  const most = family === 4 ? 32 : 128;
  return /^\d{1,3}$/.test(bits) && Number(bits) <= most ? null : `ends in /${bits}; 0 to ${most} are there`;
}

/** As execd takes it: an address is a network of one. */
export function asNetwork(text: string): string {
  if (text.includes('/') || text === 'own') return text;
  return `${text}/${isIP(text) === 4 ? 32 : 128}`;
}

const lists = new Map<string, BlockList>();

/** Whether an address is in one of the networks. What comes over the appliance's own socket, `local`, always is. */
export function isInside(networksJson: string, address: string): boolean {
  if (networksJson === '[]' || address === 'local') return true;
  let list = lists.get(networksJson);
  if (list === undefined) {
    list = new BlockList();
    for (const text of JSON.parse(networksJson) as string[]) {
      const [network = '', bits] = text.split('/');
      const family = isIP(network) === 4 ? 'ipv4' : 'ipv6';
      list.addSubnet(network, bits === undefined ? (family === 'ipv4' ? 32 : 128) : Number(bits), family);
    }
    if (lists.size > 1_000) lists.clear();
    lists.set(networksJson, list);
  }
  const family = isIP(address);
  return family !== 0 && list.check(address, family === 4 ? 'ipv4' : 'ipv6');
}
