// The machine's addresses: the document that execd keeps and tries, and what there is (services/execd/host/network).

export interface NetworkFamily {
  /** `dhcp` is of IPv4, `auto` (router advertisements, and DHCPv6 where they say so) of IPv6. */
  readonly method: 'off' | 'dhcp' | 'auto' | 'static';
  /** As 192.0.2.10/24. */
  readonly addresses: readonly string[];
  /** Empty: none of the document's. */
  readonly gateway: string;
}

export interface NetworkInterface {
  readonly name: string;
  readonly kind: 'port' | 'bond' | 'vlan';
  /** Of a port: the hardware address it was made with, by which it is found. */
  readonly mac: string;
  readonly mtu: number;
  readonly ipv4: NetworkFamily;
  readonly ipv6: NetworkFamily;
  readonly mode: '' | 'active-backup' | '802.3ad';
  readonly members: readonly string[];
  readonly fastLacp: boolean;
  readonly parent: string;
  readonly id: number;
}

export interface NetworkDocument {
  readonly version: 1;
  readonly interfaces: readonly NetworkInterface[];
  readonly routes: readonly { readonly to: string; readonly via: string }[];
  readonly dns: readonly string[];
  readonly search: readonly string[];
  readonly dnsFromNetwork: boolean;
}

export interface NetworkLink {
  readonly name: string;
  readonly kind: NetworkInterface['kind'];
  readonly mac: string;
  readonly carrier: boolean;
  readonly mtu: number;
  /** That it is in; empty: none. */
  readonly bond: string;
  readonly parent: string;
  readonly id: number;
  readonly mode: string;
  readonly addresses: readonly {
    readonly address: string;
    /** Another machine has it. */
    readonly duplicate: boolean;
    /** Whether another machine has it is not known yet. */
    readonly trying: boolean;
  }[];
}

export interface NetworkNow {
  readonly links: readonly NetworkLink[];
  readonly gateways: readonly {
    readonly address: string;
    readonly interface: string;
    /** Null: nobody knows yet. */
    readonly answers: boolean | null;
  }[];
  readonly dns: readonly string[];
  readonly search: readonly string[];
}

export interface PlatformNetwork {
  readonly kept: NetworkDocument;
  /** `default`: none was ever kept; `broken`: what was kept cannot be read. In both every port asks for its addresses. */
  readonly origin: 'kept' | 'default' | 'broken';
  readonly tried: {
    readonly document: NetworkDocument;
    readonly token: string;
    readonly secondsLeft: number;
    /** What of it is not there yet; empty: all is. */
    readonly missing: string;
  } | null;
  /** How the last try ended that nobody confirmed. */
  readonly ended: { readonly at: string; readonly why: string } | null;
  readonly now: NetworkNow;
}

export interface NetworkTry {
  readonly document: NetworkDocument;
  readonly seconds: number;
  /** That there is no way to other networks is meant. */
  readonly isolated: boolean;
}

export interface NetworkPlatform {
  read(): Promise<PlatformNetwork>;
  /** The document holds two seconds later, and for so long; then the kept one does again. Answers what confirming needs. */
  try(wanted: NetworkTry): Promise<string>;
  confirm(token: string): Promise<void>;
  takeBack(token: string): Promise<void>;
}

/** What the verbs take, by their names. */
export interface NetworkVerbs {
  'network.read': Record<string, never>;
  'network.try': NetworkTry;
  'network.confirm': { token: string };
  'network.take-back': { token: string };
}

/** @param run carries out one of the verbs */
export function networkBy(
  run: <V extends keyof NetworkVerbs>(verb: V, body: NetworkVerbs[V]) => Promise<unknown>,
): NetworkPlatform {
  return {
    read: async () => (await run('network.read', {})) as PlatformNetwork,
    try: async (wanted) => ((await run('network.try', wanted)) as { token: string }).token,
    confirm: async (token) => void (await run('network.confirm', { token })),
    takeBack: async (token) => void (await run('network.take-back', { token })),
  };
}
