// All that is known of one alert: what it means, what to do, and what happened when.
import { Link } from 'react-router';
import { seriesInFull } from '../../charts/seriesName.ts';
import { Ago } from '../../words/Ago.tsx';
import { plural, quantity } from '../../words/format.ts';
import { type Alert, labelWords } from './words.ts';

const eventWords = { raise: 'Raised', clear: 'All-clear', repost: 'Reminder', escalate: 'Escalated' } as const;
const stateWords = { waiting: 'waiting to be sent to', delivered: 'sent to', failed: 'could not be sent to' } as const;

export function AlertDetails({ alert }: { alert: Alert }) {
  const rows: [string, string][] = [
    ['What it means', alert.impact],
    ['What was done', alert.response],
    ['What to do', alert.action],
    [
      alert.ruleId === null ? 'About' : 'Series',
      alert.ruleId === null ? labelWords(alert.labels) : seriesInFull(alert.labels),
    ],
    [
      'Value',
      alert.value === null
        ? ''
        : `${quantity(alert.value, alert.unit)}${alert.limit === null ? '' : `, the limit is ${quantity(alert.limit, alert.unit)}`}`,
    ],
    ['Class', alert.class],
    ['Recipients decided by', alert.routedBy ?? ''],
  ];
  const times = [
    ...alert.history.map((one, index) => ({ key: `h${index}`, at: one.at, bad: false, history: one, delivery: null })),
    ...alert.deliveries.map((one, index) => ({
      key: `d${index}`,
      at: one.at,
      bad: one.state === 'failed',
      history: null,
      delivery: one,
    })),
  ].sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0));
  return (
    <div className="cistern-alertdetails">
      <dl>
        {rows
          .filter(([, text]) => text)
          .map(([term, text]) => (
            <div key={term}>
              <dt>{term}</dt>
              <dd>{text}</dd>
            </div>
          ))}
      </dl>
      <h2>What happened</h2>
      <ol className="cistern-timeline">
        <li>
          Raised <Ago time={alert.raisedAt} />
          {alert.ruleName && (
            <>
              {' '}
              by the rule <Link to={`/alerts/thresholds/${alert.ruleId}`}>{alert.ruleName}</Link>
            </>
          )}
        </li>
        {times.map(({ key, history, delivery, bad }) => (
          <li key={key} className={bad ? 'cistern-bad' : ''}>
            {history && (
              <>
                {history.by && `${history.by}: `}
                {history.text} <Ago time={history.at} />
              </>
            )}
            {delivery && (
              <>
                {eventWords[delivery.event]}: {stateWords[delivery.state]} {delivery.destinationName}
                {delivery.grouped && ', in one message with others'} <Ago time={delivery.at} />
                {delivery.attempts > 1 && `, ${plural(delivery.attempts, 'attempt')}`}
                {delivery.lastError && <div className="cistern-quiet">{delivery.lastError}</div>}
              </>
            )}
          </li>
        ))}
        {times.length === 0 && <li className="cistern-quiet">Sent to no one: there was no destination.</li>}
        {alert.escalatesAt && (
          <li className="cistern-quiet">
            Not acknowledged: it is sent to others at {new Date(alert.escalatesAt).toLocaleTimeString()}
          </li>
        )}
        {alert.clearedAt && (
          <li>
            Cleared <Ago time={alert.clearedAt} />
          </li>
        )}
      </ol>
      {alert.page && <Link to={alert.page}>Go to where this is handled</Link>}
    </div>
  );
}
