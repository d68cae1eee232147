// The firewall: what is tried, kept and taken back, and how it follows what is switched on and off. The document that is kept is
// execd's: it holds also while akd is down, and there are no two that could differ.
import { BlockList, isIP } from 'node:net';
import { isDeepStrictEqual } from 'node:util';
import type { Door } from '../../analytics/inputs/index.ts';
import { type Clock, iso } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import { fail } from '../../base/problems/problem.ts';
import { turns } from '../../base/turns.ts';
import { appliance, type Caller } from '../../http/gate/caller.ts';
import type { Changes } from '../../http/live-updates/changes.ts';
import type { FirewallDocument, FirewallPlatform, FirewallState } from '../../platform/firewall.ts';
import type { Audit } from '../audit/index.ts';
import { asNetwork, networkProblem } from '../tokens/index.ts';
import type { FirewallTryInput, Firewall as Shown } from './schema.ts';
import { documentOf, type Facts, HTTPS, isEditable, setAt } from './services.ts';

const TRY_SECONDS = 60;
/** How many senders of one service are shown. */
const MOST_SENDERS = 20;
/** How long it is an alert that the rules differed. */
const DIFFERS_FOR_MS = 5 * 60_000;
/** How long the page says so. */
const SHOWN_FOR_MS = 60 * 60_000;

export interface FirewallParts {
  readonly platform: { readonly firewall: FirewallPlatform };
  readonly clock: Clock;
  readonly log: Log;
  readonly audit: Audit;
  readonly changes: Changes;
  readonly inputDoors: () => Promise<readonly Door[]>;
  readonly certificateTokens: () => boolean;
  readonly snmpPolled: () => boolean;
  readonly replicationPort: () => number | null;
  readonly sshNetworks: () => readonly string[] | null;
  /** The appliance was set up before there was a firewall: who reached it then goes on to. */
  readonly wasOpen: () => boolean;
  /** Called once a document of ours is kept. */
  readonly kept: () => void;
}

const networksOf = ({ services }: FirewallDocument) =>
  Object.fromEntries(services.filter(({ name }) => isEditable(name)).map(({ name, networks }) => [name, networks]));

/** Whether what comes from an address is let in. */
export function letsIn(networks: readonly string[], own: readonly string[], address: string): boolean {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, '');
  const family = isIP(plain);
  // On the appliance's own socket, or from itself.
  if (networks.length === 0 || family === 0 || plain === '::1' || plain.startsWith('127.')) return true;
  const list = new BlockList();
  for (const text of networks.flatMap((one) => (one === 'own' ? own : [one]))) {
    const [network = '', bits] = text.split('/');
    list.addSubnet(network, Number(bits), isIP(network) === 4 ? 'ipv4' : 'ipv6');
  }
  return list.check(plain, family === 4 ? 'ipv4' : 'ipv6');
}

export class Firewall {
  readonly #parts: FirewallParts;
  readonly #execd: FirewallPlatform;
  #tried: { readonly token: string; readonly by: string } | null = null;
  #differs: { readonly at: number; readonly since: number; readonly what: readonly string[] } | null = null;
  readonly #inTurn = turns();

  constructor(parts: FirewallParts) {
    this.#parts = parts;
    this.#execd = parts.platform.firewall;
  }

  async #read(): Promise<FirewallState> {
    const { clock, audit, changes } = this.#parts;
    const state = await this.#execd.read();
    if (state.differs.length > 0) {
      this.#differs = { at: clock.now(), since: clock.monotonic(), what: state.differs };
    }
    if (this.#tried !== null && state.tried === null) {
      this.#tried = null;
      audit.record(appliance, 'firewall.take-back', 'firewall', null, { reason: 'nobody confirmed it in time' });
      changes.publish('firewall');
    }
    return state;
  }

  /** What is on now. */
  async facts(): Promise<Facts> {
    const { inputDoors, certificateTokens, snmpPolled, replicationPort, sshNetworks } = this.#parts;
    const [doors, sshListens] = await Promise.all([inputDoors().catch(() => null), this.#execd.sshListens()]);
    return {
      ...{ doors, sshListens, certificates: certificateTokens() },
      ...{ snmpPolled: snmpPolled(), replicationPort: replicationPort(), sshNetworks: sshNetworks() },
    };
  }

  /** The ports follow what is on, the networks of inputs those that are set there. */
  async #wanted(state: FirewallState): Promise<FirewallDocument> {
    // An appliance of before there was this goes on to be reached; what cannot be read any more opens nothing.
    const otherwise = state.origin === 'default' && this.#parts.wasOpen() ? [] : ['own'];
    const kept: FirewallDocument =
      state.origin === 'default'
        ? { version: 1, services: state.kept.services.filter(({ name }) => name === HTTPS || !isEditable(name)) }
        : state.kept;
    return documentOf(kept, await this.facts(), otherwise);
  }

  /** At once, since the page stays as it is. */
  async #follow(state: FirewallState): Promise<FirewallState> {
    const wanted = await this.#wanted(state);
    if (state.origin === 'kept' && isDeepStrictEqual(state.kept, wanted)) return state;
    await this.#execd.set(wanted);
    this.#parts.kept();
    this.#parts.changes.publish('firewall');
    return this.#read();
  }

  /** Called once a minute, and whenever something was switched on or off. */
  follow(): Promise<void> {
    return this.#inTurn(async () => void (await this.#follow(await this.#read())));
  }

  /** The alert's arguments, while there is one. */
  differs(): string | null {
    return this.#differedWithin(DIFFERS_FOR_MS)?.what.join(' ') ?? null;
  }

  #differedWithin(ms: number) {
    const found = this.#differs;
    return found !== null && this.#parts.clock.monotonic() - found.since <= ms ? found : null;
  }

  get(): Promise<Shown> {
    return this.#inTurn(async () => this.#shown(await this.#read()));
  }

  #shown(state: FirewallState): Shown {
    const now = this.#parts.clock.now();
    const sshNetworks = this.#parts.sshNetworks();
    const { services } = state.tried?.document ?? state.kept;
    const differed = this.#differedWithin(SHOWN_FOR_MS);
    return {
      services: services.map(({ name, ports, networks }) => {
        const theirs = (state.senders ?? []).filter(
          (one) =>
            ports.some(({ protocol, port }) => protocol === one.protocol && port === one.port) &&
            // Who has been let in since is nobody to worry about.
            !letsIn(networks, state.own, one.address),
        );
        const senders = [...Map.groupBy(theirs, ({ address }) => address)].map(([address, all]) => ({
          address,
          ports: all.map(({ protocol, port }) => ({ protocol, port })),
          packets: all.reduce((sum, { packets }) => sum + packets, 0),
          firstAt: iso(now - Math.max(...all.map(({ sinceSeconds }) => sinceSeconds)) * 1000),
        }));
        return {
          ...{ name, ports: [...ports], networks: [...networks], setAt: setAt(name, { sshNetworks }) },
          dropped: state.dropped[name] ?? null,
          overLimit: state.overLimit?.[name] ?? null,
          senders: senders.sort((a, b) => b.packets - a.packets).slice(0, MOST_SENDERS),
        };
      }),
      ownNetworks: [...state.own],
      droppedOther: state.dropped.other ?? 0,
      ...{ sendersKnown: state.senders !== null, sendersFull: state.sendersFull },
      trying:
        state.tried === null
          ? null
          : {
              by: this.#tried?.by ?? '',
              secondsLeft: Math.max(0, state.tried.secondsLeft),
              mayConfirm: this.#tried !== null,
            },
      differsAt: differed === null ? null : iso(differed.at),
      differs: [...(differed?.what ?? [])],
    };
  }

  try({ services, seconds = TRY_SECONDS }: FirewallTryInput, caller: Caller): Promise<Shown> {
    return this.#inTurn(async () => {
      const sshNetworks = this.#parts.sshNetworks();
      const errors = services.flatMap(({ name, networks }, at) => {
        if (!isEditable(name)) {
          return [{ path: `/services/${at}/name`, message: `${name} is no service whose networks are set here` }];
        }
        if (setAt(name, { sshNetworks }) !== 'firewall') {
          const message = `${name} is on until a time, and its networks are set where it was switched on`;
          return [{ path: `/services/${at}/name`, message }];
        }
        return networks.flatMap((text, which) => {
          const message = text === 'own' ? null : networkProblem(text);
          return message === null ? [] : [{ path: `/services/${at}/networks/${which}`, message: `${text} ${message}` }];
        });
      });
      if (errors.length > 0) {
        const words = errors.map(({ message }) => message).join('; ');
        throw fail('invalid_request', `The firewall was not changed: ${words}.`, undefined, errors);
      }
      const state = await this.#follow(await this.#read());
      const wanted: FirewallDocument = {
        version: 1,
        services: state.kept.services.map((one) => {
          const given = services.find(({ name }) => name === one.name);
          return given === undefined ? one : { ...one, networks: given.networks.map(asNetwork) };
        }),
      };
      const page = wanted.services.find(({ name }) => name === HTTPS);
      if (page !== undefined && !letsIn(page.networks, state.own, caller.address)) {
        throw fail(
          'invalid_request',
          `The firewall was not changed: it would close the page for you. You come from ${caller.address}, which is in none of ${page.networks.join(', ')}.`,
          'Add your own address or network to those of HTTPS.',
          services.flatMap(({ name }, at) =>
            name === HTTPS
              ? [{ path: `/services/${at}/networks`, message: `must have a network with ${caller.address} in it` }]
              : [],
          ),
        );
      }
      const token = await this.#execd.try(wanted, seconds);
      this.#tried = { token, by: caller.name };
      const { audit, changes } = this.#parts;
      audit.record(caller, 'firewall.try', 'firewall', networksOf(state.kept), networksOf(wanted));
      changes.publish('firewall');
      return this.#shown(await this.#read());
    });
  }

  /** The networks of those services whose networks are set here. */
  async networks(): Promise<Record<string, { networks: readonly string[] }>> {
    const sshNetworks = this.#parts.sshNetworks();
    const { services } = await this.#inTurn(async () => this.#wanted(await this.#read()));
    const own = services.filter(({ name }) => setAt(name, { sshNetworks }) === 'firewall');
    return Object.fromEntries(own.map(({ name, networks }) => [name, { networks }]));
  }

  /** Throws when the networks of a service are none, or would keep whoever sets them out. */
  async mustBeNetworks(name: string, networks: readonly string[], caller: Caller): Promise<void> {
    const errors = networks.flatMap((text, at) => {
      const message = text === 'own' ? null : networkProblem(text);
      return message === null ? [] : [{ path: `/networks/${at}`, message: `${text} ${message}` }];
    });
    if (errors.length > 0) throw fail('invalid_request', 'The networks were refused.', undefined, errors);
    if (name !== HTTPS) return;
    const { own } = await this.#inTurn(() => this.#read());
    if (letsIn(networks, own, caller.address)) return;
    const message = `must have a network with ${caller.address} in it: it would close the page for you`;
    throw fail('invalid_request', `The page ${message}.`, undefined, [{ path: '/networks', message }]);
  }

  /** Sets the networks of one service for good; whoever asks has made sure that it keeps nobody out. */
  setNetworks(name: string, networks: readonly string[], by: Caller): Promise<void> {
    return this.#inTurn(async () => {
      const state = await this.#follow(await this.#read());
      if (state.tried !== null) {
        throw fail('conflict', 'A change of the firewall is being tried.', 'Confirm it, or take it back, first.');
      }
      const services = state.kept.services.map((one) => (one.name === name ? { ...one, networks } : one));
      const wanted: FirewallDocument = { version: 1, services };
      // execd takes what changes the page as a try alone.
      if (name === HTTPS) await this.#execd.confirm(await this.#execd.try(wanted, TRY_SECONDS));
      else await this.#execd.set(wanted);
      const { audit, changes } = this.#parts;
      audit.record(by, 'firewall.confirm', 'firewall', networksOf(state.kept), networksOf(wanted));
      changes.publish('firewall');
    });
  }

  #token(): string {
    if (this.#tried !== null) return this.#tried.token;
    throw fail(
      'conflict',
      'No change of the firewall is being tried.',
      'It was taken back, because nobody confirmed it in time, or somebody else has ended it. Try it again.',
    );
  }

  /** Ends the try by one of execd's verbs. */
  #end(by: 'confirm' | 'take-back', run: (token: string) => Promise<void>, caller: Caller): Promise<Shown> {
    return this.#inTurn(async () => {
      const before = await this.#read();
      await run(this.#token());
      this.#tried = null;
      const { audit, changes } = this.#parts;
      const tried = networksOf(before.tried?.document ?? before.kept);
      if (by === 'confirm') audit.record(caller, 'firewall.confirm', 'firewall', networksOf(before.kept), tried);
      else audit.record(caller, 'firewall.take-back', 'firewall', tried, networksOf(before.kept));
      changes.publish('firewall');
      // What was switched on meanwhile waited for this.
      return this.#shown(await this.#follow(await this.#read()));
    });
  }

  confirm(caller: Caller): Promise<Shown> {
    return this.#end('confirm', (token) => this.#execd.confirm(token), caller);
  }

  cancel(caller: Caller): Promise<Shown> {
    return this.#end('take-back', (token) => this.#execd.takeBack(token), caller);
  }
}
