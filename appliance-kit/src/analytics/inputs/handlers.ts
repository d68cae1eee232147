// Inputs: what there are, and changing them.

import { isIP, isIPv6 } from 'node:net';
import type { Audit } from '../../access/audit/index.ts';
import { networkProblem } from '../../access/tokens/index.ts';
import { iso } from '../../base/clock.ts';
import { fail } from '../../base/problems/problem.ts';
import type { Caller } from '../../http/gate/caller.ts';
import type { Handlers } from '../../http/handlers.ts';
import type { Changes } from '../../http/live-updates/changes.ts';
import type { Database } from '../../state/database.ts';
import type { Settings } from '../../state/settings.ts';
import { canBeNamed, type Newcomers } from './newcomers.ts';
import type { routes } from './routes.ts';
import type { Input, InputCertificate, InputSettings } from './schema.ts';
import { inputSettings, wantedOf } from './settings.ts';
import type { Answer, InputRunner, InputState, KeptSettings } from './storaged.ts';

function find(inputs: Readonly<Record<string, InputState>>, name: string): InputState {
  const one = Object.hasOwn(inputs, name) ? inputs[name] : undefined;
  if (one === undefined) throw fail('not_found', `There is no input ${name}.`);
  return one;
}

export function settingsOf(one: KeptSettings): InputSettings {
  const { enabled, networks, seriesPerSecond, seriesBurst, senderSeriesPerSecond, senderSeriesBurst } = one;
  const { senderSamplesPerSecond = 0, port = null, picklePort = null, tlsPort = null, tlsClientCa = null } = one;
  const { senderIsHost = false, hostNames = [], refusedSenders = [] } = one;
  return {
    enabled,
    networks,
    seriesPerSecond,
    seriesBurst,
    senderSeriesPerSecond,
    senderSeriesBurst,
    senderSamplesPerSecond,
    port,
    picklePort,
    tlsPort,
    tlsClientCa: tlsClientCa || null,
    senderIsHost,
    hostNames,
    refusedSenders,
  };
}

export function certificateOf({ tls }: Answer): InputCertificate {
  const { pem = '', sha256 = '', names = [], own = true, because = '', problem = '' } = tls ?? {};
  const time = (text: string | undefined) => (text ? iso(Date.parse(text)) : null);
  return {
    ...{ pem: pem || null, sha256: sha256 || null, names: [...names], own },
    ...{ validFrom: time(tls?.notBefore), validTo: time(tls?.notAfter) },
    ...{ because: because || null, problem: problem || null },
  };
}

const shown = (name: string, { inputs, own = [] }: Answer): Omit<Input, 'etag'> => {
  const { senders, ...state } = find(inputs, name);
  return {
    name,
    ownNetworks: [...own],
    ...settingsOf(state),
    tlsListens: state.tlsListens || null,
    ...{ listens: [...state.listens], newSeries: state.newSeries, refused: state.refused },
    senders: senders.map(({ first = '', last, ...sender }) => ({
      ...sender,
      firstAt: Date.parse(first) > 0 ? iso(Date.parse(first)) : null,
      lastAt: Date.parse(last) > 0 ? iso(Date.parse(last)) : null,
    })),
  };
};

/** Stands in a list of networks for those that the machine has an address in. */
const OWN = 'own';

const NO_PLACE = 'is neither an address nor, of IPv6, a network of 64 bits';

/** A single sender. */
function isPlace(text: string): boolean {
  const [address = '', bits] = text.split('/');
  return isIP(address) !== 0 && (bits === undefined || (isIPv6(address) && bits === '64'));
}

export function mustMakeSense(body: InputSettings): void {
  const errors = body.networks.flatMap((text) => {
    const message = text === OWN ? null : networkProblem(text);
    return message === null ? [] : [{ path: '/networks', message: `${text} ${message}` }];
  });
  for (const [rate, burst] of [
    ['seriesPerSecond', 'seriesBurst'],
    ['senderSeriesPerSecond', 'senderSeriesBurst'],
  ] as const) {
    if (body[rate] > 0 && body[burst] === 0)
      errors.push({
        path: `/${burst}`,
        message: 'must be above 0 where there is a limit a second: nothing new would come in',
      });
  }
  for (const [field, places] of [
    ['hostNames', body.hostNames.map(({ address }) => address)],
    ['refusedSenders', body.refusedSenders],
  ] as const) {
    for (const text of places) {
      if (!isPlace(text)) errors.push({ path: `/${field}`, message: `${text} ${NO_PLACE}` });
    }
  }
  if (errors.length === 0) return;
  const words = errors.map(({ path, message }) => `${path.slice(1)}: ${message}`).join('; ');
  throw fail('invalid_request', `The input was refused: ${words}.`, undefined, errors);
}

export function inputRoutes(parts: {
  db: Database;
  settings: Settings;
  runner: InputRunner;
  newcomers: Newcomers;
  audit: Audit;
  changes: Changes;
  changed: () => Promise<void>;
}): Handlers<typeof routes> {
  const { db, settings, runner, newcomers, audit, changes, changed } = parts;
  /** `address`: of a sender of whom somebody has decided something. */
  interface Wish {
    readonly body: InputSettings;
    readonly action: string;
    readonly address?: string;
    readonly noted: (settings: InputSettings) => object;
  }
  const change = (name: string, caller: Caller, wish: (before: InputSettings) => Wish) =>
    runner.inTurn(async () => {
      const before = settingsOf(find((await runner.look()).inputs, name));
      const { body, action, address, noted } = wish(before);
      mustMakeSense(body);
      const wanted = wantedOf(settings);
      const inputs = { ...wanted.inputs, [name]: settingsOf(body) };
      // storaged first: a port that somebody else has is found out there. What is written after that is what runs; were
      // akd to end in between, the watch would take back what nobody was told is set.
      const answer = await runner.set({ ...wanted, inputs });
      db.transaction(() => {
        settings.set(inputSettings, inputs);
        const target = address === undefined ? name : `${address} by ${name}`;
        audit.record(caller, action, target, noted(before), noted(settingsOf(body)));
        if (address !== undefined) newcomers.decided(name, address);
      });
      changes.publish('inputs', name);
      await changed();
      return shown(name, answer);
    });
  return {
    listInputs: async () => {
      const answer = await runner.look();
      return { items: Object.keys(answer.inputs).map((name) => shown(name, answer)) };
    },
    getInput: async ({ params: { name } }) => shown(name, await runner.look()),
    listNewSenders: () => newcomers.list(),
    dismissNewSenders: ({ body, caller }) => {
      newcomers.dismiss(body, caller);
      return undefined;
    },
    getInputCertificate: async () => certificateOf(await runner.look()),
    replaceInputCertificate: ({ caller }) =>
      runner.inTurn(async () => {
        const before = certificateOf(await runner.look());
        const after = certificateOf(await runner.renewCertificate());
        const noted = ({ sha256, validTo }: InputCertificate) => ({ sha256, validTo });
        audit.record(caller, 'input.replace-certificate', 'TLS', noted(before), noted(after));
        changes.publish('inputs');
        return after;
      }),
    setInput: ({ params: { name }, body, caller }) =>
      change(name, caller, () => ({ body, action: 'input.set', noted: settingsOf })),
    nameSender: ({ params: { name }, body: { address, hostName }, caller }) =>
      change(name, caller, (before) => {
        if (hostName !== null && !canBeNamed(name)) {
          throw fail(
            'invalid_request',
            `What comes by ${name} names its host itself.`,
            'Have the sender send the name.',
          );
        }
        const others = before.hostNames.filter((one) => one.address !== address);
        const hostNames = hostName === null ? others : [...others, { address, name: hostName }];
        return {
          body: { ...before, hostNames },
          action: 'input.name-sender',
          address,
          noted: ({ hostNames }) => ({ hostNames }),
        };
      }),
    refuseSender: ({ params: { name }, body: { address }, caller }) =>
      change(name, caller, (before) => ({
        body: { ...before, refusedSenders: [...new Set([...before.refusedSenders, address])] },
        ...{ action: 'input.refuse-sender', address, noted: ({ refusedSenders }) => ({ refusedSenders }) },
      })),
    withdrawRefusal: ({ params: { name }, body: { address }, caller }) =>
      change(name, caller, (before) => {
        if (!before.refusedSenders.includes(address)) {
          throw fail('not_found', `${address} is not among those who are refused by ${name}.`);
        }
        return {
          body: { ...before, refusedSenders: before.refusedSenders.filter((one) => one !== address) },
          ...{ action: 'input.withdraw-refusal', address, noted: ({ refusedSenders }) => ({ refusedSenders }) },
        };
      }),
  };
}
