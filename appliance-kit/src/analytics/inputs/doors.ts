// Where the inputs listen, for who lets packets through to them.
import type { Answer } from './storaged.ts';

export interface Door {
  /** Of the input. */
  readonly name: string;
  readonly protocol: 'tcp' | 'udp';
  readonly port: number;
  /** Who may send, `own` among them where those of the machine may; none: everybody. */
  readonly networks: readonly string[];
}

const both = ['tcp', 'udp'] as const;
/** By which protocols each address of an input is listened on, in the order in which storaged names them. */
const protocols: Readonly<Record<string, readonly (readonly Door['protocol'][])[]>> = {
  statsd: [both],
  graphite: [both, ['tcp']],
  collectd: [['udp']],
  influx_socket: [both],
  otlp: [['tcp']],
};

const LOOPBACK = /^(127\.|\[::1\]|localhost:)/;

/** Nothing of inputs that are off, that come over HTTPS only, or that only this machine reaches. */
export function doorsOf({ inputs }: Answer): readonly Door[] {
  return Object.entries(inputs).flatMap(([name, { listens, tlsListens, networks }]) =>
    listens.flatMap((address, at) =>
      LOOPBACK.test(address)
        ? []
        : (address === tlsListens ? (['tcp'] as const) : (protocols[name]?.[at] ?? both)).map((protocol) => ({
            ...{ name, protocol, port: Number(address.slice(address.lastIndexOf(':') + 1)) },
            networks,
          })),
    ),
  );
}
