// The ways in for samples: which are on, from where they take what, and what was refused of whom.
import { Alert, AlertActionLink, Button, Checkbox, Label, TextArea, Title } from '@patternfly/react-core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Paste } from '../../analytics/sending/Paste.tsx';
import { answerOf, client, type Schemas } from '../../api/client.ts';
import { keepTyped, useEdited } from '../../api/edits.ts';
import { asProblem } from '../../api/problem.ts';
import { inputsQuery } from '../../api/queries.ts';
import { Field, TextField } from '../../forms/Field.tsx';
import { FormShell } from '../../forms/FormShell.tsx';
import { LinesField } from '../../forms/LinesField.tsx';
import { linesIn } from '../../forms/lines.ts';
import { ListTable } from '../../shells/ListTable.tsx';
import { Waiting } from '../../shells/Waiting.tsx';
import { NewSenders } from '../../system/status/NewSenders.tsx';
import { compact } from '../../words/format.ts';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { firewallQuery } from '../firewall/queries.ts';
import { InputCertificate } from './InputCertificate.tsx';
import { OtherWays } from './OtherWays.tsx';
import { RefusedSenders } from './RefusedSenders.tsx';
import { ways, wayTitle } from './ways.ts';

type Input = Schemas['Input'];

const titleOf = ({ name }: Input) => wayTitle(name);
/** Those that ask for no token. */
const isOpen = ({ name }: Pick<Input, 'name'>) => ways[name]?.[1] === null;

const place = (input: Input): string => {
  const path = ways[input.name]?.[1];
  const of = (address: string) => address.slice(address.lastIndexOf(':') + 1);
  const ports = [...new Set(input.listens.filter((address) => address !== input.tlsListens).map(of))];
  const words = [
    path,
    ports.length > 0 && `port ${ports.join(', ')}`,
    input.tlsListens && `TLS ${of(input.tlsListens)}`,
  ];
  return words.filter(Boolean).join('; ') || '–';
};

const reasons: Readonly<Record<string, string>> = {
  network_not_allowed: 'from elsewhere',
  sender_refused: 'of refused senders',
  sender_series_rate: 'new series too fast',
  sender_sample_rate: 'too many samples',
  input_series_rate: 'new series of all too fast',
  tls_handshake: 'not by TLS, or distrustful',
  tls_client_certificate: 'without a valid certificate',
};
const refusals = (refused: Input['refused']): string =>
  Object.entries(refused)
    .sort(([, a], [, b]) => b - a)
    .slice(0, 3)
    .map(([reason, n]) => `${compact(n)} ${reasons[reason] ?? reason.replaceAll('_', ' ')}`)
    .join(', ');

/** The appliance's own networks, as sentences name them: everybody has loopback and link-local addresses. */
export const ownWords = ({ ownNetworks }: Pick<Input, 'ownNetworks'>): string =>
  ownNetworks.filter((one) => !/^(127\.|::1\/|fe80:|169\.254\.)/.test(one)).join(', ') || 'none but itself';
const fromWords = (input: Input): string =>
  input.networks.map((one) => (one === 'own' ? `own networks (${ownWords(input)})` : one)).join(', ') || 'everywhere';

interface Typed {
  readonly enabled: boolean;
  readonly networks: string;
  readonly seriesPerSecond: string;
  readonly seriesBurst: string;
  readonly senderSeriesPerSecond: string;
  readonly senderSeriesBurst: string;
  readonly senderSamplesPerSecond: string;
  readonly port: string;
  readonly picklePort: string;
  readonly tlsPort: string;
  readonly tlsClientCa: string;
  readonly senderIsHost: boolean;
  readonly hostNames: string;
  readonly refusedSenders: string;
}
const typedOf = (input: Input): Typed => ({
  enabled: input.enabled,
  networks: input.networks.join(' '),
  seriesPerSecond: String(input.seriesPerSecond),
  seriesBurst: String(input.seriesBurst),
  senderSeriesPerSecond: String(input.senderSeriesPerSecond),
  senderSeriesBurst: String(input.senderSeriesBurst),
  senderSamplesPerSecond: String(input.senderSamplesPerSecond),
  port: String(input.port ?? ''),
  picklePort: String(input.picklePort ?? ''),
  tlsPort: String(input.tlsPort ?? ''),
  tlsClientCa: input.tlsClientCa ?? '',
  senderIsHost: input.senderIsHost,
  hostNames: input.hostNames.map(({ address, name }) => `${address} ${name}`).join('\n'),
  refusedSenders: input.refusedSenders.join(' '),
});
/** Those whose senders often name no host. */
const withoutHosts = new Set(['statsd', 'graphite', 'influx_socket']);
const listed = (typed: string) => typed.split(/[\s,;]+/).filter((one) => one !== '');
/** ADDRESS NAME, one a line. */
const namesIn = (typed: string) =>
  linesIn(typed).map((line) => {
    const [address = '', ...name] = line.split(/\s+/);
    return { address, name: name.join(' ') };
  });
const portOf = (typed: string) => (typed.trim() === '' ? null : Number(typed));
const usualTlsPorts: Readonly<Record<string, number>> = { statsd: 8127, graphite: 2005, influx_socket: 8090 };
/** The ports that can be changed: what they are of, and what an empty field means. */
const portFields = ({
  name,
}: Input): readonly (readonly ['port' | 'picklePort' | 'tlsPort', label: string, help: string])[] => {
  if (name === 'otlp')
    return [
      [
        'port',
        'Port for gRPC',
        'It asks for no token: name the networks above first. 4317 is the usual one; 0 closes it; empty: as the store was started.',
      ],
    ];
  if (!isOpen({ name })) return [];
  const main = ['port', 'Port', 'Empty: the usual one. The old port is left when the new one can be had.'] as const;
  const usual = usualTlsPorts[name];
  if (usual === undefined) return [main];
  const tls = [
    'tlsPort',
    'Port for TLS',
    `${usual} is the usual one; 0 closes it; empty: as the store was started. With one, the port for plain text may be 0, which closes that.`,
  ] as const;
  if (name !== 'graphite') return [main, tls];
  return [
    main,
    tls,
    ['picklePort', 'Port for pickle', '2004 is the usual one; 0 closes it; empty: as the store was started.'],
  ];
};
const limits = [
  ['senderSeriesPerSecond', 'New series of one address each second', '0: no limit.'],
  ['senderSeriesBurst', 'New series of one address at once', undefined],
  ['senderSamplesPerSecond', 'Samples of one address each second', '0: no limit. Ten seconds’ worth may come at once.'],
  ['seriesPerSecond', 'New series of all together each second', '0: no limit.'],
  ['seriesBurst', 'New series of all together at once', undefined],
] as const;

function InputForm({ input, onDone }: { input: Input; onDone: () => void }) {
  const [typed, setTyped] = useState(() => typedOf(input));
  const set = (change: Partial<Typed>) => setTyped({ ...typed, ...change });
  const queries = useQueryClient();
  const edited = useEdited({
    now: input,
    read: () => answerOf(client.GET('/api/inputs/{name}', { params: { path: { name: input.name } } })),
    onLoad: (current, before) => setTyped((mine) => keepTyped(mine, typedOf(before), typedOf(current))),
  });
  const save = useMutation({
    mutationFn: () =>
      edited.guard(
        answerOf(
          client.PUT('/api/inputs/{name}', {
            params: { path: { name: input.name }, header: edited.header },
            body: {
              enabled: typed.enabled,
              networks: listed(typed.networks),
              seriesPerSecond: Number(typed.seriesPerSecond),
              seriesBurst: Number(typed.seriesBurst),
              senderSeriesPerSecond: Number(typed.senderSeriesPerSecond),
              senderSeriesBurst: Number(typed.senderSeriesBurst),
              senderSamplesPerSecond: Number(typed.senderSamplesPerSecond),
              port: portOf(typed.port),
              picklePort: portOf(typed.picklePort),
              tlsPort: portOf(typed.tlsPort),
              tlsClientCa: typed.tlsClientCa.trim() || null,
              senderIsHost: typed.senderIsHost,
              hostNames: namesIn(typed.hostNames),
              refusedSenders: listed(typed.refusedSenders),
            },
          }),
        ),
      ),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: inputsQuery.queryKey });
      onDone();
    },
  });
  const problem = save.error ? asProblem(save.error) : null;
  const said = (path: string) => problem?.errors?.find((one) => one.path.startsWith(path))?.message;
  const ports = portFields(input);
  const numbers = [...limits.map(([name]) => typed[name]), ...ports.map(([name]) => typed[name] || '0')];
  return (
    <FormShell
      submit="Save"
      onSubmit={() => save.mutate()}
      busy={save.isPending}
      error={save.error}
      fields={[
        '/networks',
        '/tlsClientCa',
        '/hostNames',
        '/refusedSenders',
        ...[...limits, ...ports].map(([name]) => `/${name}`),
      ]}
      mayNot={numbers.every((text) => /^\d+$/.test(text)) ? null : 'Enter whole numbers.'}
      cancel={onDone}
    >
      <Title headingLevel="h2" size="lg">
        {titleOf(input)}
      </Title>
      <Checkbox
        id="input-enabled"
        label="Take samples"
        description={
          isOpen(input) ? 'Off, its ports are closed.' : 'Off, requests are refused, and the sender is told.'
        }
        isChecked={typed.enabled}
        onChange={(_event, enabled) => set({ enabled })}
      />
      <TextField
        label="Only from these addresses"
        value={typed.networks}
        onChange={(networks) => set({ networks })}
        placeholder="own 192.0.2.0/24"
        help={`Addresses or networks, with spaces between them; own: this appliance's networks, now ${ownWords(input)}. Empty: from everywhere.`}
        error={said('/networks')}
        autoComplete="off"
      />
      <TextField
        label="Refused senders"
        value={typed.refusedSenders}
        onChange={(refusedSenders) => set({ refusedSenders })}
        help="Addresses, of IPv6 also networks of 64 bits, with spaces between them. Nothing is taken of them."
        error={said('/refusedSenders')}
        autoComplete="off"
      />
      {withoutHosts.has(input.name) && (
        <>
          <Checkbox
            id="input-sender-is-host"
            label="Where a sender gives no host, its address becomes the label host"
            description="Series of many senders are then many series, and are no longer counted together; each takes memory. Series that were there keep their labels."
            isChecked={typed.senderIsHost}
            onChange={(_event, senderIsHost) => set({ senderIsHost })}
          />
          <LinesField
            label="Names of senders"
            value={typed.hostNames}
            onChange={(hostNames) => set({ hostNames })}
            help="ADDRESS NAME, one a line, as 192.0.2.7 web1: the label host of what that sender sends without naming one. Of IPv6 also networks of 64 bits."
            error={said('/hostNames')}
          />
        </>
      )}
      {ports.map(([name, label, help]) => (
        <TextField
          key={name}
          label={label}
          type="number"
          value={typed[name]}
          onChange={(text) => set({ [name]: text })}
          help={help}
          error={said(`/${name}`)}
        />
      ))}
      {usualTlsPorts[input.name] !== undefined && (
        <Field
          label="Clients by TLS must show a certificate of this CA"
          help="PEM. Who has none is refused and counted. Empty: nobody is asked for one."
          error={said('/tlsClientCa')}
        >
          {(id, described) => (
            <TextArea
              id={id}
              aria-describedby={described}
              rows={typed.tlsClientCa === '' ? 2 : 6}
              resizeOrientation="vertical"
              placeholder="-----BEGIN CERTIFICATE-----"
              spellCheck={false}
              value={typed.tlsClientCa}
              onChange={(_event, tlsClientCa) => set({ tlsClientCa })}
            />
          )}
        </Field>
      )}
      {limits.map(([name, label, help]) => (
        <TextField
          key={name}
          label={label}
          type="number"
          value={typed[name]}
          onChange={(text) => set({ [name]: text })}
          help={help}
          error={said(`/${name}`)}
          required
        />
      ))}
      <p className="cistern-quiet">Limits of new series never touch those that exist.</p>
    </FormShell>
  );
}

/** What can be added to the networks: not those that are not told apart any more. */
const isPlace = (address: string) => /^[0-9a-f.:]+(\/\d+)?$/i.test(address);

/** Whose data does not arrive finds it here, with the way to let it in. */
function Strangers({ inputs }: { inputs: readonly Input[] }) {
  const queries = useQueryClient();
  const allow = useMutation({
    mutationFn: async ({ name, address }: { name: string; address: string }) => {
      const path = { name };
      // As it is now, and not as it was when the page was read.
      const {
        etag,
        listens,
        tlsListens,
        newSeries,
        refused,
        senders,
        ownNetworks,
        name: _name,
        ...now
      } = await answerOf(client.GET('/api/inputs/{name}', { params: { path } }));
      return answerOf(
        client.PUT('/api/inputs/{name}', {
          params: { path, header: { 'If-Match': etag } },
          body: { ...now, networks: [...now.networks, address] },
        }),
      );
    },
    onSuccess: () => queries.invalidateQueries({ queryKey: inputsQuery.queryKey }),
  });
  // What the firewall has dropped never came as far as the store.
  const dropped = useQuery(firewallQuery).data?.services ?? [];
  const strangers = inputs.flatMap((input) =>
    [
      ...new Set([
        ...input.senders.filter(({ refused }) => refused.network_not_allowed).map(({ address }) => address),
        ...dropped
          .filter(({ name }) => name === input.name)
          .flatMap(({ senders }) => senders.map((one) => one.address)),
      ]),
    ]
      .filter((address) => input.enabled && isPlace(address))
      .filter(
        (address) =>
          input.networks.length > 0 && !input.networks.some((one) => one.split('/')[0] === address.split('/')[0]),
      )
      .map((address) => ({ input, address })),
  );
  return (
    <>
      <ProblemAlert error={allow.error} />
      {strangers.slice(0, 5).map(({ input, address }) => (
        <Alert
          key={`${input.name} ${address}`}
          isInline
          component="p"
          variant="warning"
          title={`What ${address} sent by ${titleOf(input)} was refused, because it comes from none of the networks that may send.`}
          actionLinks={
            <AlertActionLink isDisabled={allow.isPending} onClick={() => allow.mutate({ name: input.name, address })}>
              {`Allow ${address}`}
            </AlertActionLink>
          }
        />
      ))}
    </>
  );
}

export function Inputs() {
  const inputs = useQuery(inputsQuery);
  const { data, error, refetch } = inputs;
  const [editing, setEditing] = useState<string | null>(null);
  const edited = data?.find(({ name }) => name === editing);
  const known = Object.keys(ways);
  const shown = data?.toSorted((a, b) => known.indexOf(a.name) - known.indexOf(b.name));
  const senders = (shown ?? []).flatMap((input) =>
    input.senders.map((sender) => ({ ...sender, key: `${input.name} ${sender.address}`, input: titleOf(input) })),
  );
  if (data === undefined) return <Waiting on={inputs} />;
  if (edited) return <InputForm key={edited.name} input={edited} onDone={() => setEditing(null)} />;
  return (
    <div className="cistern-stack">
      <p>
        statsd, Graphite, collectd and InfluxDB lines ask for no password: keep them to the networks of your senders.
        What comes over HTTPS needs an API token.
      </p>
      {shown && <Strangers inputs={shown} />}
      <NewSenders here />
      {error && <ProblemAlert error={error} retry={() => void refetch()} stale />}
      {shown && (
        <ListTable
          label="Inputs"
          rows={shown}
          keyOf={({ name }) => name}
          columns={[
            {
              title: 'Input',
              cell: (input) => (
                <span>
                  {titleOf(input)} {input.enabled ? <Label color="green">on</Label> : <Label>off</Label>}
                </span>
              ),
            },
            { title: 'Where', cell: place },
            { title: 'From', cell: fromWords },
            { title: 'New series', head: { modifier: 'nowrap' }, cell: ({ newSeries }) => compact(newSeries) },
            { title: 'Refused', cell: ({ refused }) => refusals(refused) || 'nothing' },
            {
              title: 'Actions',
              control: 'actions',
              cell: (input) => (
                <Button variant="link" aria-label={`Change ${titleOf(input)}`} onClick={() => setEditing(input.name)}>
                  Change
                </Button>
              ),
            },
          ]}
        />
      )}
      {senders.length > 0 && (
        <section aria-labelledby="input-senders">
          <Title headingLevel="h2" size="lg" id="input-senders">
            Who sent
          </Title>
          <p className="cistern-quiet">
            Within the last hour: of each input those who sent most, made most new series, and of whom most was refused.
          </p>
          <ListTable
            label="Senders"
            rows={senders}
            keyOf={({ key }) => key}
            columns={[
              { title: 'Address', cell: ({ address }) => address },
              { title: 'Input', cell: ({ input }) => input },
              { title: 'Samples', cell: ({ samples }) => compact(samples) },
              { title: 'New series', cell: ({ newSeries }) => compact(newSeries) },
              { title: 'Refused', cell: ({ refused }) => refusals(refused) || 'nothing' },
            ]}
          />
        </section>
      )}
      {shown && <RefusedSenders inputs={shown} />}
      <OtherWays />
      {shown?.some(({ tlsListens }) => tlsListens !== null) && <InputCertificate />}
      {shown && <Paste inputs={shown} />}
    </div>
  );
}
