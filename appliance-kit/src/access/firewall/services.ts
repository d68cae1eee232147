// What can be reached from the network, a row each: where it listens, and who says who may. A new service is a new row.
import type { Door } from '../../analytics/inputs/index.ts';
import type { FirewallDocument, FirewallPort, FirewallService } from '../../platform/firewall.ts';
import { SSH_PORT } from '../../platform/ssh.ts';

/** What is on at the moment. */
export interface Facts {
  /** Null while the store is down: what is kept of inputs stays. */
  readonly doors: readonly Door[] | null;
  /** Whether there is a token that is a certificate. */
  readonly certificates: boolean;
  readonly snmpPolled: boolean;
  readonly replicationPort: number | null;
  /** From where users of the appliance may come in by ssh; null: that is off. */
  readonly sshNetworks: readonly string[] | null;
  /** Some sshd takes connections: also one that is not the appliance's. */
  readonly sshListens: boolean;
}

interface Row {
  readonly name: string;
  /** Set elsewhere, as long as it is on there; null: here. */
  readonly networks?: (facts: Facts) => readonly string[] | null;
  readonly ports: (facts: Facts) => readonly FirewallPort[];
}

const tcp = (...ports: number[]): FirewallPort[] => ports.map((port) => ({ protocol: 'tcp', port }));
const udp = (...ports: number[]): FirewallPort[] => ports.map((port) => ({ protocol: 'udp', port }));

/** Those whose networks are set here; those of inputs are set at the inputs. */
const rows: readonly Row[] = [
  { name: 'https', ports: () => tcp(80, 443) },
  { name: 'certificates', ports: ({ certificates }) => (certificates ? tcp(9443) : []) },
  { name: 'snmp', ports: ({ snmpPolled }) => (snmpPolled ? udp(161) : []) },
  { name: 'replication', ports: ({ replicationPort }) => (replicationPort === null ? [] : tcp(replicationPort)) },
  {
    name: 'ssh',
    ports: ({ sshListens, sshNetworks }) => (sshListens || sshNetworks !== null ? tcp(SSH_PORT) : []),
    networks: ({ sshNetworks }) => sshNetworks,
  },
];
export const HTTPS = 'https';
/** Both ask for more than an address. */
const OPEN = new Set([HTTPS, 'certificates']);
const names = new Set(rows.map(({ name }) => name));
export const isEditable = (name: string) => names.has(name);
/** Where the networks of a service are set now. */
export function setAt(name: string, facts: Pick<Facts, 'sshNetworks'>): 'firewall' | 'inputs' | 'ssh' {
  if (!isEditable(name)) return 'inputs';
  return name === 'ssh' && facts.sshNetworks !== null ? 'ssh' : 'firewall';
}

/** The inputs that are known to listen; several doors of one are one service. */
function inputServices(doors: readonly Door[]): FirewallService[] {
  const byName = Map.groupBy(doors, ({ name }) => name);
  return [...byName].map(([name, all]) => ({
    name,
    ports: all.map(({ protocol, port }) => ({ protocol, port })),
    networks: all[0]?.networks ?? [],
  }));
}

/**
 * The document as it should be: networks as they are kept, ports as things are now.
 * @param otherwise the networks of a service of which nothing is kept, but of the page and of programs with a certificate, which are open then
 */
export function documentOf(kept: FirewallDocument, facts: Facts, otherwise: readonly string[]): FirewallDocument {
  const fixed = rows.map(({ name, ports, networks }) => ({
    name,
    ports: ports(facts),
    networks:
      networks?.(facts) ??
      kept.services.find((one) => one.name === name)?.networks ??
      (OPEN.has(name) ? [] : otherwise),
  }));
  const inputs =
    facts.doors === null ? kept.services.filter(({ name }) => !isEditable(name)) : inputServices(facts.doors);
  const taken = new Set<string>();
  // Two services at one port: the first one has it, so that the wider of the two does not hold for both.
  const alone = ({ protocol, port }: FirewallPort) => {
    const key = `${protocol} ${port}`;
    if (taken.has(key)) return false;
    taken.add(key);
    return true;
  };
  return {
    version: 1,
    services: [...fixed, ...inputs].map((one) => ({ ...one, ports: one.ports.filter(alone) })),
  };
}
