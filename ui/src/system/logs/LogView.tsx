// Lines of the logs: those there are, page by page back in time, and above them those that come.
import { Button, Checkbox, EmptyState, EmptyStateBody } from '@patternfly/react-core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { answerOf, client, type Schemas } from '../../api/client.ts';
import { Waiting } from '../../shells/Waiting.tsx';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { queryOf, useStream } from './useStream.ts';

type LogLine = Schemas['LogLine'];
export type Level = LogLine['level'];

export interface LogFilter {
  readonly service?: string;
  readonly level?: Level;
  readonly search?: string;
}

const PAGE = 200;
/** Of those that come: a page that is left open over night must not fill the browser's memory. */
const MAX_LIVE = 500;

function Line({ line, withService }: { line: LogLine; withService: boolean }) {
  const time = new Date(line.time);
  const known = time.getTime() > 0;
  return (
    <li data-level={line.level}>
      <time dateTime={line.time} title={known ? time.toLocaleString() : undefined}>
        {known ? time.toLocaleTimeString(undefined, { hour12: false }) : ''}
      </time>
      {withService && <span className="cistern-log-service">{line.service}</span>}
      <span className="cistern-log-level">{line.level}</span>
      <code>{line.text}</code>
    </li>
  );
}

export function LogView({ filter, follow = true }: { filter: LogFilter; follow?: boolean }) {
  const [live, setLive] = useState(follow);
  const { data, error, fetchNextPage, hasNextPage, isFetchingNextPage, refetch } = useInfiniteQuery({
    queryKey: ['logs', filter],
    initialPageParam: '',
    queryFn: ({ pageParam, signal }) =>
      answerOf(
        client.GET('/api/logs', {
          params: { query: { ...filter, limit: PAGE, ...(pageParam !== '' && { before: pageParam }) } },
          signal,
        }),
      ),
    getNextPageParam: (last) => last.before || undefined,
    // What comes is followed; reading it all again would show it twice.
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  });
  const after = data?.pages[0]?.newest;
  const stream = useStream<LogLine>(
    live && after !== undefined ? `/api/logs/live${queryOf({ ...filter, after })}` : null,
    MAX_LIVE,
  );
  if (data === undefined) return <Waiting on={{ error, refetch }} />;
  const lines = [...stream.lines, ...data.pages.flatMap((page) => page.items)];
  const withService = filter.service === undefined;
  const toggle = (on: boolean) => {
    setLive(on);
    // What came while the log was not followed is read; what was followed is in it.
    void refetch();
  };
  return (
    <div className="cistern-stack">
      <div className="cistern-log-bar">
        <Checkbox id="log-live" label="Live" isChecked={live} onChange={(_event, on) => toggle(on)} />
        <span className="cistern-quiet" role="status">
          {!live && 'Standing still'}
          {live && stream.state === 'open' && 'Following'}
          {live && stream.state === 'opening' && 'Connecting'}
          {live && stream.state === 'interrupted' && 'Interrupted; trying again automatically'}
        </span>
      </div>
      <ProblemAlert error={error} />
      {lines.length === 0 ? (
        <EmptyState headingLevel="h3" titleText="No line matches" variant="sm">
          <EmptyStateBody>
            {hasNextPage ? 'The newest part of the log was searched.' : 'The whole log was searched.'}
          </EmptyStateBody>
        </EmptyState>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by the keyboard
        <ol className="cistern-log" aria-label="Log, the newest line first" tabIndex={0}>
          {lines.map((line, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: counted from the end: what comes is put before it
            <Line key={`${line.time} ${lines.length - index}`} line={line} withService={withService} />
          ))}
        </ol>
      )}
      {hasNextPage && (
        <div>
          <Button variant="secondary" isLoading={isFetchingNextPage} onClick={() => void fetchNextPage()}>
            Older lines
          </Button>
        </div>
      )}
    </div>
  );
}
