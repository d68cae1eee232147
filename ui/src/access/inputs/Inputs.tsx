// The ways in for samples: which are on, from where they take what, and what was refused of whom.
import { Button, Checkbox, Label, Title } from '@patternfly/react-core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { answerOf, client, type Schemas } from '../../api/client.ts';
import { keepTyped, useEdited } from '../../api/edits.ts';
import { asProblem } from '../../api/problem.ts';
import { inputsQuery } from '../../api/queries.ts';
import { TextField } from '../../forms/Field.tsx';
import { FormShell } from '../../forms/FormShell.tsx';
import { ListTable } from '../../shells/ListTable.tsx';
import { Waiting } from '../../shells/Waiting.tsx';
import { compact } from '../../words/format.ts';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';

type Input = Schemas['Input'];

/** What each is called, and where samples are sent over HTTPS. */
const ways: Readonly<Record<string, readonly [title: string, where: string | null]>> = {
  statsd: ['statsd', null],
  graphite: ['Graphite', null],
  collectd: ['collectd', null],
  influx_socket: ['InfluxDB lines', null],
  remote_write: ['Prometheus remote write', '/api/v1/write'],
  otlp: ['OpenTelemetry', '/v1/metrics'],
  influx: ['InfluxDB over HTTPS', '/write, /api/v2/write'],
  collectd_http: ['collectd over HTTPS', '/api/v1/collectd'],
  httptrap: ['JSON trap', '/api/v1/trap'],
  import: ['Import', '/api/v1/import'],
};
const titleOf = ({ name }: Input) => ways[name]?.[0] ?? name;
/** Those that ask for no token. */
const isOpen = ({ name }: Input) => ways[name]?.[1] === null;

const place = (input: Input): string => {
  const path = ways[input.name]?.[1];
  const ports = [...new Set(input.listens.map((address) => address.slice(address.lastIndexOf(':') + 1)))];
  return [path, ports.length > 0 && `port ${ports.join(', ')}`].filter(Boolean).join('; ') || '–';
};

const reasons: Readonly<Record<string, string>> = {
  network_not_allowed: 'from elsewhere',
  sender_series_rate: 'new series too fast',
  input_series_rate: 'new series of all too fast',
};
const refusals = (refused: Input['refused']): string =>
  Object.entries(refused)
    .sort(([, a], [, b]) => b - a)
    .slice(0, 3)
    .map(([reason, n]) => `${compact(n)} ${reasons[reason] ?? reason.replaceAll('_', ' ')}`)
    .join(', ');

interface Typed {
  readonly enabled: boolean;
  readonly networks: string;
  readonly seriesPerSecond: string;
  readonly seriesBurst: string;
  readonly senderSeriesPerSecond: string;
  readonly senderSeriesBurst: string;
}
const typedOf = (input: Input): Typed => ({
  enabled: input.enabled,
  networks: input.networks.join(' '),
  seriesPerSecond: String(input.seriesPerSecond),
  seriesBurst: String(input.seriesBurst),
  senderSeriesPerSecond: String(input.senderSeriesPerSecond),
  senderSeriesBurst: String(input.senderSeriesBurst),
});
const limits = [
  ['senderSeriesPerSecond', 'New series of one address each second', '0: no limit.'],
  ['senderSeriesBurst', 'New series of one address at once', undefined],
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
              networks: typed.networks.split(/[\s,;]+/).filter((one) => one !== ''),
              seriesPerSecond: Number(typed.seriesPerSecond),
              seriesBurst: Number(typed.seriesBurst),
              senderSeriesPerSecond: Number(typed.senderSeriesPerSecond),
              senderSeriesBurst: Number(typed.senderSeriesBurst),
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
  return (
    <FormShell
      submit="Save"
      onSubmit={() => save.mutate()}
      busy={save.isPending}
      error={save.error}
      fields={['/networks', ...limits.map(([name]) => `/${name}`)]}
      mayNot={limits.every(([name]) => /^\d+$/.test(typed[name])) ? null : 'Enter whole numbers.'}
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
        placeholder="192.0.2.0/24"
        help="Addresses or networks, with spaces between them. Empty: from everywhere."
        error={said('/networks')}
        autoComplete="off"
      />
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
      <p className="cistern-quiet">Series that exist always go on: the limits are for new ones.</p>
    </FormShell>
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
            { title: 'From', cell: ({ networks }) => networks.join(', ') || 'everywhere' },
            { title: 'New series', cell: ({ newSeries }) => compact(newSeries) },
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
            Who made new series, or was refused
          </Title>
          <p className="cistern-quiet">Since the store started; those that were silent for an hour are left out.</p>
          <ListTable
            label="Senders"
            rows={senders}
            keyOf={({ key }) => key}
            columns={[
              { title: 'Address', cell: ({ address }) => address },
              { title: 'Input', cell: ({ input }) => input },
              { title: 'New series', cell: ({ newSeries }) => compact(newSeries) },
              { title: 'Refused', cell: ({ refused }) => refusals(refused) || 'nothing' },
            ]}
          />
        </section>
      )}
    </div>
  );
}
