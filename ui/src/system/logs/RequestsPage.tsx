// What the web server answered: by status, slowness, URL and header, live. It is kept in memory, the oldest makes room.
import { Button, Checkbox, EmptyState, EmptyStateBody, PageSection, TextInput } from '@patternfly/react-core';
import { Table, Tbody, Td, Th, Thead, Tr } from '@patternfly/react-table';
import { useQuery } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { answerOf, client, type Schemas } from '../../api/client.ts';
import { useMayNot } from '../../api/session.ts';
import { Field } from '../../forms/Field.tsx';
import { PageHead } from '../../shells/PageHead.tsx';
import { PageLoading } from '../../shells/PageLoading.tsx';
import { bytes, seconds } from '../../words/format.ts';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
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
    <Table aria-label="Web requests" variant="compact" gridBreakPoint="grid-md">
      <Thead>
        <Tr>
          <Th>Time</Th>
          <Th>Status</Th>
          <Th>Request</Th>
          <Th>Took</Th>
          <Th>Answer</Th>
          <Th>Client</Th>
        </Tr>
      </Thead>
      <Tbody>
        {requests.map((one, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: counted from the end: what comes is put before it
          <Tr key={`${one.time} ${requests.length - index}`}>
            <Td dataLabel="Time">
              <time dateTime={one.time} title={new Date(one.time).toLocaleString()}>
                {new Date(one.time).toLocaleTimeString(undefined, { hour12: false })}
              </time>
            </Td>
            <Td dataLabel="Status" className={one.status >= 400 ? 'cistern-bad' : ''}>
              {one.status}
            </Td>
            <Td dataLabel="Request" className="cistern-log-uri">
              <div>
                {one.method} <code>{one.uri}</code>
                <div className="cistern-quiet">{one.userAgent}</div>
              </div>
            </Td>
            <Td dataLabel="Took">{seconds(one.seconds)}</Td>
            <Td dataLabel="Answer">{bytes(one.bytes)}</Td>
            <Td dataLabel="Client">{one.client}</Td>
          </Tr>
        ))}
      </Tbody>
    </Table>
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
      answerOf(client.GET('/api/requests', { params: { query: { ...query, limit: SHOWN } }, signal })),
    refetchOnWindowFocus: false,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    retry: false,
  });
  const stream = useStream<Request>(live && data !== undefined ? `/api/requests/live${queryOf(query)}` : null, SHOWN);
  if (data === undefined) return error ? <ProblemAlert error={error} /> : <PageLoading />;
  const requests = [...stream.lines, ...data.requests].slice(0, SHOWN);
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
        <EmptyState headingLevel="h3" titleText="No request fits" variant="sm">
          <EmptyStateBody>{live && 'One that comes and fits is shown here.'}</EmptyStateBody>
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
    <>
      <PageHead title="Web requests" sentence="What the web server answered, the newest first." />
      <ServicesTabs active="requests" />
      <PageSection>
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
      </PageSection>
    </>
  );
}
