// The machine's addresses, in words, and changing them. execd keeps the document: it holds also while akd is down.
import type { Audit } from '../../access/audit/index.ts';
import type { Conditions } from '../../alerting/alerts/index.ts';
import type { Clock } from '../../base/clock.ts';
import { fail, ProblemError } from '../../base/problems/problem.ts';
import { turns } from '../../base/turns.ts';
import { plural } from '../../base/words.ts';
import { appliance, type Caller } from '../../http/gate/caller.ts';
import type { Changes } from '../../http/live-updates/changes.ts';
import type {
  NetworkDocument,
  NetworkLink,
  NetworkNow,
  NetworkPlatform,
  PlatformNetwork,
} from '../../platform/network-settings.ts';
import { type Settings, setting } from '../../state/settings.ts';
import { addressDuplicate, addressMissing, dnsMissing, gatewaySilent } from './alerts.ts';
import type { NetworkTryInput, Network as Shown } from './schema.ts';

const TRY_SECONDS = 120;
/** How long the page says that a change was taken back. */
const SHOWN_FOR_MS = 86_400_000;

/** When the last try ended whose end is in the audit log. */
export const endedSetting = setting<string>('network.ended');

export interface NetworkParts {
  readonly platform: { readonly network: NetworkPlatform };
  readonly settings: Settings;
  readonly clock: Clock;
  readonly audit: Audit;
  readonly changes: Changes;
  readonly conditions: Conditions;
}

const settingsOf = ({ interfaces, routes, dns, search, dnsFromNetwork }: NetworkDocument): Shown['settings'] => ({
  interfaces: interfaces.map((one) => ({
    ...one,
    members: [...one.members],
    ipv4: { ...one.ipv4, addresses: [...one.ipv4.addresses] } as Shown['settings']['interfaces'][number]['ipv4'],
    ipv6: { ...one.ipv6, addresses: [...one.ipv6.addresses] } as Shown['settings']['interfaces'][number]['ipv6'],
  })),
  routes: routes.map((one) => ({ ...one })),
  ...{ dns: [...dns], search: [...search], dnsFromNetwork },
});

const settingOf = (link: NetworkLink, { interfaces }: NetworkDocument) =>
  interfaces.find((one) => (link.kind === 'port' ? one.mac === link.mac : one.name === link.name));

/** Why a link that should have an address has none; null: it has, or is to have none, or has no cable. */
function unaddressed(link: NetworkLink, document: NetworkDocument): { asks: boolean } | null {
  const set = settingOf(link, document);
  const isAddressed = set === undefined || set.ipv4.method !== 'off' || set.ipv6.method !== 'off';
  if (!link.carrier || link.bond !== '' || link.addresses.length > 0 || !isAddressed) return null;
  return { asks: set === undefined || set.ipv4.method === 'dhcp' || set.ipv6.method === 'auto' };
}

function linkWords(link: NetworkLink, document: NetworkDocument): Pick<Shown['links'][number], 'state' | 'sentence'> {
  if (!link.carrier) {
    const what = link.kind === 'port' ? 'No cable, or nothing at its other end.' : 'Nothing under it has a cable.';
    return { state: 'down', sentence: what };
  }
  const duplicate = link.addresses.find((one) => one.duplicate);
  if (duplicate !== undefined)
    return { state: 'wrong', sentence: `Another machine has the address ${duplicate.address} too.` };
  if (link.bond !== '') return { state: 'up', sentence: `A part of ${link.bond}.` };
  const missing = unaddressed(link, document);
  if (missing !== null) {
    const why = missing.asks
      ? 'No DHCP server and no router has given it an address.'
      : 'It has not got its address: another machine may have it.';
    return { state: 'wrong', sentence: why };
  }
  return {
    state: 'up',
    sentence: link.addresses.length > 0 ? 'It has its addresses.' : 'It is to have no address.',
  };
}

function sentenceOf({ links, gateways, dns }: NetworkNow): string {
  const addresses = links.flatMap((link) => link.addresses);
  if (!links.some(({ carrier }) => carrier)) return 'No port has a cable.';
  if (addresses.length === 0) return 'It has no address.';
  const silent = gateways.find(({ answers }) => answers === false);
  const has = `It has ${plural(addresses.length, 'address', 'addresses')}`;
  if (gateways.length === 0) return `${has}, and no gateway: only its own networks are reached.`;
  if (silent !== undefined) return `${has}; the gateway ${silent.address} does not answer.`;
  if (dns.length === 0) return `${has}, and nobody to ask for names.`;
  return `${has}, and the gateway ${gateways[0]?.address}.`;
}

/** Where the page may be opened once a document holds: what it names, and what DHCP has given already. */
function openAt(document: NetworkDocument, now: NetworkNow): string[] {
  const named = document.interfaces.flatMap(({ ipv4, ipv6 }) => [...ipv4.addresses, ...ipv6.addresses]);
  const asking = now.links.filter((link) => {
    const set = document.interfaces.find((one) =>
      one.kind === 'port' ? one.mac === link.mac : one.name === link.name,
    );
    return set === undefined || set.ipv4.method === 'dhcp' || set.ipv6.method === 'auto';
  });
  const given = asking.flatMap((link) => link.addresses.map(({ address }) => address));
  return [...new Set([...named, ...given].map((text) => text.split('/')[0] ?? ''))].map((address) =>
    address.includes(':') ? `[${address}]` : address,
  );
}

/** execd names places in its own body, which has the settings as `document`. */
function asAsked(error: unknown): unknown {
  if (!(error instanceof ProblemError) || error.problem.code !== 'invalid_request') return error;
  const { detail, action, errors } = error.problem;
  const places = errors?.map((one) => ({ ...one, path: one.path.replace(/^\/document(?=\/)/, '') }));
  return fail('invalid_request', detail, action, places);
}

export class Network {
  readonly #parts: NetworkParts;
  /** Who tries something: execd does not know. */
  #by = '';
  readonly #inTurn = turns();

  constructor(parts: NetworkParts) {
    this.#parts = parts;
  }

  async #read(): Promise<PlatformNetwork> {
    const { platform, settings, audit, changes } = this.#parts;
    const state = await platform.network.read();
    if (state.tried === null && this.#by !== '') {
      this.#by = '';
      changes.publish('network');
    }
    const { ended } = state;
    if (ended !== null && ended.at !== settings.get(endedSetting)) {
      settings.set(endedSetting, ended.at);
      audit.record(appliance, 'network.take-back', 'network', null, { reason: ended.why });
      changes.publish('network');
    }
    return state;
  }

  #shown({ kept, origin, tried, ended, now }: PlatformNetwork): Shown {
    const { clock } = this.#parts;
    const holds = tried?.document ?? kept;
    return {
      settings: settingsOf(kept),
      sentence: sentenceOf(now),
      unreadable: origin === 'broken',
      links: now.links.map((link) => ({
        ...{ name: link.name, kind: link.kind, mac: link.mac, mtu: link.mtu, bond: link.bond },
        ...linkWords(link, holds),
        addresses: link.addresses.map(({ address }) => address),
      })),
      gateways: now.gateways.map((one) => ({ ...one })),
      ...{ dns: [...now.dns], search: [...now.search] },
      trying:
        tried === null
          ? null
          : {
              settings: settingsOf(tried.document),
              by: this.#by,
              secondsLeft: Math.max(0, tried.secondsLeft),
              ...{ missing: tried.missing, token: tried.token },
              addresses: openAt(tried.document, now),
            },
      ended: ended === null || clock.now() - Date.parse(ended.at) > SHOWN_FOR_MS ? null : { ...ended },
    };
  }

  get(): Promise<Shown> {
    return this.#inTurn(async () => this.#shown(await this.#read()));
  }

  /** Called once a minute: what ended by itself is known also while nobody looks, and so is why nobody is reached. */
  look(): Promise<void> {
    return this.#inTurn(() => this.#look());
  }

  async #look(): Promise<void> {
    const { conditions } = this.#parts;
    const { kept, tried, now } = await this.#read();
    // What is being tried has its own page, and its end.
    if (tried !== null) return;
    conditions.report(
      addressMissing,
      now.links.flatMap((link) => {
        const missing = unaddressed(link, kept);
        return missing === null ? [] : [{ args: { link: link.name, ...missing } }];
      }),
    );
    conditions.report(
      addressDuplicate,
      now.links.flatMap(({ name, addresses }) =>
        addresses.filter((one) => one.duplicate).map(({ address }) => ({ args: { link: name, address } })),
      ),
    );
    conditions.report(
      gatewaySilent,
      now.gateways
        .filter(({ answers }) => answers === false)
        .map((one) => ({ args: { gateway: one.address, link: one.interface } })),
    );
    conditions.report(dnsMissing, now.gateways.length > 0 && now.dns.length === 0 ? [{ args: {} }] : []);
  }

  try(input: NetworkTryInput, caller: Caller): Promise<Shown> {
    return this.#inTurn(() => this.#try(input, caller));
  }

  confirm(token: string, caller: Caller): Promise<undefined> {
    return this.#inTurn(() => this.#confirm(token, caller));
  }

  cancel(caller: Caller): Promise<Shown> {
    return this.#inTurn(() => this.#cancel(caller));
  }

  async #try({ seconds = TRY_SECONDS, isolated = false, ...wanted }: NetworkTryInput, caller: Caller): Promise<Shown> {
    const { platform, audit, changes } = this.#parts;
    const before = await this.#read();
    const document: NetworkDocument = { ...before.kept, ...wanted };
    await platform.network.try({ document, seconds, isolated }).catch((error: unknown) => {
      throw asAsked(error);
    });
    this.#by = caller.name;
    const state = await this.#read();
    audit.record(
      caller,
      'network.try',
      'network',
      settingsOf(before.kept),
      settingsOf(state.tried?.document ?? document),
    );
    changes.publish('network');
    return this.#shown(state);
  }

  async #confirm(token: string, caller: Caller): Promise<undefined> {
    const { platform, audit, changes } = this.#parts;
    const before = await this.#read();
    await platform.network.confirm(token);
    const by = caller.name === '' ? { ...caller, name: this.#by === '' ? 'appliance' : this.#by } : caller;
    this.#by = '';
    audit.record(
      by,
      'network.confirm',
      'network',
      settingsOf(before.kept),
      settingsOf(before.tried?.document ?? before.kept),
    );
    changes.publish('network');
  }

  async #cancel(caller: Caller): Promise<Shown> {
    const { platform, settings, audit, changes } = this.#parts;
    const before = await this.#read();
    if (before.tried === null) {
      throw fail(
        'conflict',
        'No change of the network is being tried.',
        'It was taken back, because nobody confirmed it in time, or somebody else has ended it. Try it again.',
      );
    }
    await platform.network.takeBack(before.tried.token);
    this.#by = '';
    const state = await platform.network.read();
    // It is in the log by who did it.
    if (state.ended !== null) settings.set(endedSetting, state.ended.at);
    audit.record(caller, 'network.take-back', 'network', settingsOf(before.tried.document), settingsOf(before.kept));
    changes.publish('network');
    return this.#shown(state);
  }
}
