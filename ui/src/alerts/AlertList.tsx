// Alerts, each opening to what it means, what to do, and who was told.
import { ExpandableSection, Label } from '@patternfly/react-core';
import { useState } from 'react';
import { Link } from 'react-router';
import { Ago } from '../words/Ago.tsx';
import { plural, quantity } from '../words/format.ts';
import { ConditionIcon } from '../words/Sentence.tsx';
import { type Alert, conditionOf, labelWords, unitOfExpression } from './words.ts';

const eventWords = { raise: 'Raised', clear: 'All-clear', repost: 'Reminder' } as const;
const stateWords = { waiting: 'waiting to be sent to', delivered: 'sent to', failed: 'could not be sent to' } as const;

function Details({ alert }: { alert: Alert }) {
  const { unit, perSecond } = unitOfExpression(alert.text);
  const labels = labelWords(alert.labels);
  return (
    <div className="cistern-alertdetails">
      <dl>
        {[
          ['What it means', alert.impact],
          ['What was done', alert.response],
          ['What to do', alert.action],
          ['Series', labels],
          [
            'Value',
            alert.value === null
              ? ''
              : `${quantity(alert.value, unit, perSecond)}${alert.limit === null ? '' : `, the limit is ${quantity(alert.limit, unit, perSecond)}`}`,
          ],
        ]
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
        {alert.deliveries.map((delivery) => (
          <li
            key={`${delivery.destinationId}${delivery.event}${delivery.at}`}
            className={delivery.state === 'failed' ? 'cistern-bad' : ''}
          >
            {eventWords[delivery.event]}: {stateWords[delivery.state]} {delivery.destinationName}{' '}
            <Ago time={delivery.at} />
            {delivery.attempts > 1 && `, ${plural(delivery.attempts, 'attempt')}`}
            {delivery.lastError && <div className="cistern-quiet">{delivery.lastError}</div>}
          </li>
        ))}
        {alert.deliveries.length === 0 && <li className="cistern-quiet">Nobody was told: there was no destination.</li>}
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

function Item({ alert }: { alert: Alert }) {
  const [open, setOpen] = useState(false);
  const active = alert.state === 'active';
  return (
    <li className={`cistern-alert cistern-alert-${active ? alert.severity : 'cleared'}`}>
      <div>
        <ConditionIcon state={active ? conditionOf(alert.severity) : 'ok'} /> <strong>{alert.title}</strong>{' '}
        {!active && <Label isCompact>cleared</Label>}
        {alert.noData && (
          <Label isCompact color="yellow" title="It is still active, but its series has stopped arriving">
            no data
          </Label>
        )}
        <span className="cistern-quiet">
          {' '}
          raised <Ago time={alert.raisedAt} />
        </span>
      </div>
      <p>{alert.text}</p>
      <ExpandableSection
        toggleText={open ? 'Less' : 'What it means, what to do, who was told'}
        isExpanded={open}
        onToggle={(_event, now) => setOpen(now)}
      >
        <Details alert={alert} />
      </ExpandableSection>
    </li>
  );
}

export function AlertList({ alerts, label }: { alerts: readonly Alert[]; label: string }) {
  return (
    <ul className="cistern-alerts" aria-label={label}>
      {alerts.map((alert) => (
        <Item key={alert.id} alert={alert} />
      ))}
    </ul>
  );
}
