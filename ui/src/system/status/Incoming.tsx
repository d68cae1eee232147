// What is sent here, beside how the appliance is: whether those who send do, what is slower than before, and the day's worst
// moments.
import { Card, CardBody, CardTitle } from '@patternfly/react-core';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import type { Schemas } from '../../api/client.ts';
import { useMeasure } from '../../api/measure.ts';
import { worstMomentsQuery } from '../../api/queries.ts';
import { Ago } from '../../words/Ago.tsx';
import { ConditionIcon } from '../../words/ConditionIcon.tsx';
import { duration, quantity } from '../../words/format.ts';
import '../status.css';

type Status = Schemas['Status'];
type Moment = Schemas['WorstMoment'];

/** An age of what is worked out every ten seconds is worth a word when it is older than that by far. */
const LATE_S = 60;
const LEAD = 1_800;

const explore = (metric: string, end?: number) =>
  `/analytics/explore?${new URLSearchParams({ metric, ...(end !== undefined && { end: String(end), range: String(2 * LEAD) }) })}`;

/** A second sentence: the appliance may be well while what it is sent is not. */
export function IncomingSentence({ incoming }: { incoming: Status['incoming'] }) {
  const age = incoming.hosts?.ageSeconds ?? 0;
  const [slowest] = incoming.slower;
  return (
    <span className="cistern-incoming" title={silentWords(incoming)}>
      <ConditionIcon state={incoming.state} /> Sent here: {lowerFirst(incoming.sentence)}
      {age > LATE_S && <span className="cistern-quiet"> That was {duration(age)} ago.</span>}
      {slowest && (
        <Link to={explore(slowest.metric)} className="cistern-next">
          Look at {slowest.metric}
        </Link>
      )}
    </span>
  );
}

/** It goes on behind a colon. */
const lowerFirst = (text: string) => text.charAt(0).toLowerCase() + text.slice(1);

function silentWords({ hosts }: Status['incoming']): string | undefined {
  if (hosts === null || hosts.names.length === 0) return undefined;
  const more = hosts.silent - hosts.names.length;
  return `Silent: ${hosts.names.map(({ name }) => name).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

function Item({ moment }: { moment: Moment }) {
  const { metric, time, value, usual, whom, log, note } = moment;
  const { unit } = useMeasure(`{__name__=${JSON.stringify(metric)}}`);
  const labels = Object.entries(whom ?? {}).map(([name, of]) => `${name}=${of}`);
  return (
    <li>
      <Link to={explore(metric, Date.parse(time) / 1000 + LEAD)}>{metric}</Link> took up to {quantity(value, unit)},
      usually {quantity(usual, unit)}
      {labels.length > 0 && `, most for ${labels.join(', ')}`}{' '}
      <span className="cistern-quiet">
        <Ago time={time} />
      </span>
      {log.length > 0 && (
        <ul className="cistern-momentlog" aria-label={`Log about ${metric}`}>
          {log.map((line) => (
            <li key={`${line.time}${line.text}`} className="cistern-quiet">
              {line.time.slice(11, 19)} {line.service}: {line.text}
            </li>
          ))}
        </ul>
      )}
      {log.length === 0 && <div className="cistern-quiet">{note ?? 'The log has no warning of that time.'}</div>}
    </li>
  );
}

export function WorstMoments() {
  const { data } = useQuery(worstMomentsQuery);
  if (data === undefined || data.items.length === 0) return null;
  return (
    <Card component="section" aria-label="The day’s worst moments">
      <CardTitle component="h2">The day’s worst moments</CardTitle>
      <CardBody>
        <ol className="cistern-moments">
          {data.items.map((moment) => (
            <Item key={`${moment.metric}${moment.time}`} moment={moment} />
          ))}
        </ol>
        {data.computedAt && (
          <p className="cistern-quiet">
            What 99 % did not exceed within five minutes, beside the middle of the day; looked for{' '}
            <Ago time={data.computedAt} />.
          </p>
        )}
      </CardBody>
    </Card>
  );
}
