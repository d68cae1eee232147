// Where the audit log may be sent: to other machines. What listens on this one is not meant to be spoken to from the
// management plane on somebody's behalf.
import dns from 'node:dns';
import net, { type LookupFunction } from 'node:net';

const own = new net.BlockList();
own.addSubnet('127.0.0.0', 8, 'ipv4');
own.addSubnet('0.0.0.0', 8, 'ipv4');
own.addSubnet('169.254.0.0', 16, 'ipv4');
own.addAddress('::', 'ipv6');
own.addAddress('::1', 'ipv6');
own.addSubnet('fe80::', 10, 'ipv6');

/** Loopback or link-local, also as an IPv4 address in an IPv6 one. */
export function isOwn(address: string): boolean {
  const family = net.isIP(address);
  return family !== 0 && own.check(address.replace(/%.*$/, ''), family === 4 ? 'ipv4' : 'ipv6');
}

const HOST = /^[a-zA-Z0-9]([a-zA-Z0-9.-]*[a-zA-Z0-9])?$/;

/** Why it cannot be the host, or null. What a name means is looked at again with each connection. */
export function hostProblem(host: string): string | null {
  if (net.isIP(host) === 0 && !HOST.test(host)) return 'must be a host name or an address';
  // As 127.1 or 2130706433, which resolvers take for an address.
  if (net.isIP(host) === 0 && /^[0-9.]+$|^0x/i.test(host)) return 'must be a host name or a whole address';
  if (isOwn(host) || /^localhost$|\.localhost$/i.test(host))
    return 'is this appliance itself, or link-local: name another machine';
  return null;
}

/** Resolves a name to those of its addresses that are other machines'. */
export const lookupOthers: LookupFunction = (host, options, done) => {
  dns.lookup(host, { ...options, all: true }, (error, found) => {
    if (error !== null) return done(error, '', 0);
    const others = found.filter(({ address }) => !isOwn(address));
    const [first] = others;
    if (first === undefined) {
      const addresses = found.map(({ address }) => address).join(', ');
      return done(new Error(`${host} is ${addresses}: this appliance itself, or link-local`), '', 0);
    }
    if (options.all) done(null, others);
    else done(null, first.address, first.family);
  });
};
