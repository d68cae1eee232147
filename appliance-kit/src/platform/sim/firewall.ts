// The firewall of the machine that is not there: what is tried is taken back when its time is over, as execd does.
import { randomUUID } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import { fail } from '../../base/problems/problem.ts';
import type { FirewallDocument, FirewallPlatform, FirewallSender, FirewallState } from '../firewall.ts';

const both = (port: number) => [{ protocol: 'tcp', port } as const, { protocol: 'udp', port } as const];

/** What execd's own default is. */
export const DEFAULT_FIREWALL: FirewallDocument = {
  version: 1,
  services: [
    {
      name: 'https',
      ports: [
        { protocol: 'tcp', port: 80 },
        { protocol: 'tcp', port: 443 },
      ],
      networks: [],
    },
    { name: 'ssh', ports: [{ protocol: 'tcp', port: 22 }], networks: ['own'] },
    { name: 'statsd', ports: both(8125), networks: ['own'] },
    { name: 'graphite', ports: both(2003), networks: ['own'] },
  ],
};

export interface SimFirewallState {
  kept: FirewallDocument | null;
  senders: FirewallSender[];
  differs: string[];
  ssh: boolean;
}
export const noFirewall = (): SimFirewallState => ({ kept: null, senders: [], differs: [], ssh: false });

export class SimFirewall implements FirewallPlatform {
  readonly #state: () => SimFirewallState;
  readonly #save: () => void;
  readonly #clock: Clock;
  #tried: { document: FirewallDocument; token: string; until: number } | null = null;

  constructor(parts: { state: () => SimFirewallState; save: () => void; clock: Clock }) {
    this.#state = parts.state;
    this.#save = parts.save;
    this.#clock = parts.clock;
  }

  #now() {
    if (this.#tried !== null && this.#tried.until <= this.#clock.monotonic()) this.#tried = null;
    return this.#tried;
  }

  #find(token: string) {
    const tried = this.#now();
    if (tried?.token === token) return tried;
    throw fail(
      'conflict',
      'This change of the firewall is not being tried any more.',
      'It was taken back. Try it again.',
    );
  }

  async read(): Promise<FirewallState> {
    const { kept, senders, differs } = this.#state();
    const tried = this.#now();
    const dropped: Record<string, number> = { other: 0 };
    const { services } = tried?.document ?? kept ?? DEFAULT_FIREWALL;
    for (const { name, networks, ports } of services) {
      if (networks.length === 0 || ports.length === 0) continue;
      const theirs = senders.filter((one) => ports.some((p) => p.protocol === one.protocol && p.port === one.port));
      dropped[name] = theirs.reduce((sum, { packets }) => sum + packets, 0);
    }
    this.#state().differs = [];
    return structuredClone({
      kept: kept ?? DEFAULT_FIREWALL,
      origin: kept === null ? 'default' : 'kept',
      tried:
        tried === null
          ? null
          : { document: tried.document, secondsLeft: (tried.until - this.#clock.monotonic()) / 1000 },
      own: ['192.0.2.0/24', '2001:db8::/64'],
      ...{ differs, dropped, overLimit: { https: 0 }, senders, sendersFull: false },
    });
  }

  async try(document: FirewallDocument, seconds: number): Promise<string> {
    if (this.#now() !== null) {
      throw fail('conflict', 'Another change of the firewall is being tried.', 'Confirm it or take it back first.');
    }
    this.#tried = { document, token: randomUUID(), until: this.#clock.monotonic() + seconds * 1000 };
    return this.#tried.token;
  }

  async confirm(token: string): Promise<void> {
    this.#state().kept = this.#find(token).document;
    this.#tried = null;
    this.#save();
  }

  async takeBack(token: string): Promise<void> {
    this.#find(token);
    this.#tried = null;
  }

  async set(document: FirewallDocument): Promise<void> {
    this.#state().kept = document;
    this.#save();
  }

  async sshListens(): Promise<boolean> {
    return this.#state().ssh;
  }
}
