// What the web server answered: by status, slowness, URL and header, live. It is kept in memory, the oldest makes room.
import { Button, Checkbox, EmptyState, EmptyStateBody, TextInput } from '@patternfly/react-core';
import { useQuery } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { answerOf, client, type Schemas } from '../../api/client.ts';
import { useMayNot } from '../../api/session.ts';
import { Field } from '../../forms/Field.tsx';
import { ListTable } from '../../shells/ListTable.tsx';
import { PageShell } from '../../shells/PageShell.tsx';
import { Waiting } from '../../shells/Waiting.tsx';
import { bytes, seconds } from '../../words/format.ts';
import { ServicesTabs } from '../services/ServicesTabs.tsx';
import { queryOf, useStream } from './useStream.ts';

type Request = Schemas['HttpRequest'];

interface Filter {
  status: string;
  slower: string;
  uri: string;
  header: string;
  misses: boolean;
}
const none: Filter = { status: '', slower: '', uri: '', header: '', misses: false };
const fields = [
  ['status', 'Status', '404 or 5xx'],
  ['slower', 'Slower than (s)', '0.5'],
  ['uri', 'URL', '/api/v1/* or a part of it'],
  ['header', 'Header', 'User-Agent: *curl*'],
] as const;

const SHOWN = 200;

function Rows({ requests }: { requests: readonly Request[] }) {
  return (
    <ListTable
      label="Web requests"
      rows={requests}
      keyOf={(one, index) => `${one.time} ${requests.length - index}`}
      columns={[
        {
          title: 'Time',
          cell: (one) => (
            <time dateTime={one.time} title={new Date(one.time).toLocaleString()}>
              {new Date(one.time).toLocaleTimeString(undefined, { hour12: false })}
            </time>
          ),
        },
        { title: 'Status', className: (one) => (one.status >= 400 ? 'cistern-bad' : ''), cell: (one) => one.status },
        {
          title: 'Request',
          className: 'cistern-log-uri',
          cell: (one) => (
            <>
              <div>
                {one.method} <code>{one.uri}</code>
                <div className="cistern-quiet">{one.userAgent}</div>
              </div>
            </>
          ),
        },
        { title: 'Took', cell: (one) => seconds(one.seconds) },
        { title: 'Answer', cell: (one) => bytes(one.bytes) },
        { title: 'Client', cell: (one) => one.client },
      ]}
    />
  );
}

function Requests({ filter }: { filter: Filter }) {
  const [live, setLive] = useState(true);
  const query = {
    ...(filter.status && { status: filter.status }),
    ...(filter.slower && { slower: Number(filter.slower.replace(',', '.')) }),
    ...(filter.uri && { uri: filter.uri }),
    ...(filter.header && { header: filter.header }),
    ...(filter.misses && { misses: true }),
  };
  const { data, error, refetch } = useQuery({
    queryKey: ['requests', query],
    queryFn: ({ signal }) =>
      answerOf(client.GET('/api/web-requests', { params: { query: { ...query, limit: SHOWN } }, signal })),
    refetchOnWindowFocus: false,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    retry: false,
  });
  const stream = useStream<Request>(
    live && data !== undefined ? `/api/web-requests/live${queryOf({ ...query, after: data.seen })}` : null,
    SHOWN,
  );
  if (data === undefined) return <Waiting on={{ error }} />;
  const requests = [...stream.lines, ...data.items].slice(0, SHOWN);
  return (
    <div className="cistern-stack">
      <div className="cistern-log-bar">
        <Checkbox
          id="requests-live"
          label="Live"
          isChecked={live}
          onChange={(_event, on) => {
            setLive(on);
            void refetch();
          }}
        />
        <span className="cistern-quiet">
          {data.since
            ? `The last ${data.kept.toLocaleString()} requests are kept, since ${new Date(data.since).toLocaleString()}.`
            : 'There has been no request yet.'}
        </span>
      </div>
      {requests.length === 0 ? (
        <EmptyState headingLevel="h3" titleText="No request matches" variant="sm">
          <EmptyStateBody>{live && 'New requests that match are shown here.'}</EmptyStateBody>
        </EmptyState>
      ) : (
        <Rows requests={requests} />
      )}
    </div>
  );
}

export default function RequestsPage() {
  const mayNot = useMayNot('operator');
  const [typed, setTyped] = useState(none);
  const [filter, setFilter] = useState(none);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setFilter(typed);
  };
  return (
    <PageShell
      title="Web requests"
      sentence="What the web server answered, the newest first."
      tabs={<ServicesTabs active="requests" />}
    >
      <form className="cistern-log-filter" onSubmit={submit}>
        {fields.map(([name, label, placeholder]) => (
          <Field key={name} label={label}>
            {(id) => (
              <TextInput
                id={id}
                value={typed[name]}
                placeholder={placeholder}
                onChange={(_event, value) => setTyped({ ...typed, [name]: value.trim() })}
              />
            )}
          </Field>
        ))}
        <Checkbox
          id="misses"
          label="Cache misses only"
          isChecked={typed.misses}
          onChange={(_event, misses) => setTyped({ ...typed, misses })}
        />
        <Button type="submit" variant="secondary">
          Filter
        </Button>
      </form>
      {mayNot === null ? <Requests key={JSON.stringify(filter)} filter={filter} /> : <p>{mayNot}</p>}
    </PageShell>
  );
}
