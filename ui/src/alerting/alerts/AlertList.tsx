// An alert of a list, opening to what it means, what to do, and where it was sent.
import { ExpandableSection, Label } from '@patternfly/react-core';
import { useState } from 'react';
import { Link } from 'react-router';
import { Ago } from '../../words/Ago.tsx';
import { ConditionIcon } from '../../words/ConditionIcon.tsx';
import { Acknowledge, SilenceLink } from './Acknowledge.tsx';
import { AlertDetails } from './AlertDetails.tsx';
import { type Alert, conditionOf } from './words.ts';

/** Its state at a glance. */
export function AlertLabels({ alert }: { alert: Alert }) {
  return (
    <>
      {alert.state === 'cleared' && <Label isCompact>cleared</Label>}{' '}
      {alert.noData && (
        <Label isCompact color="yellow" title="It is still active, but its series has stopped arriving">
          no data
        </Label>
      )}{' '}
      {alert.acknowledged && alert.state === 'active' && (
        <Label isCompact color="blue" title={alert.acknowledged.note || 'Without a note'}>
          acknowledged by {alert.acknowledged.by}
        </Label>
      )}{' '}
      {alert.silence && (
        <Label isCompact color="purple" title="It is sent when the silence ends, if it is still active then">
          suppressed by {alert.silence.name}
        </Label>
      )}
    </>
  );
}

export function AlertItem({ alert }: { alert: Alert }) {
  const [open, setOpen] = useState(false);
  const active = alert.state === 'active';
  return (
    <li className={`cistern-alert cistern-alert-${active ? alert.severity : 'cleared'}`}>
      <div>
        <ConditionIcon state={active ? conditionOf(alert.severity) : 'ok'} />{' '}
        <strong>
          <Link to={`/alerts/${alert.id}`}>{alert.title}</Link>
        </strong>{' '}
        <AlertLabels alert={alert} />
        <span className="cistern-quiet">
          {' '}
          raised <Ago time={alert.raisedAt} />
        </span>
      </div>
      <p>{alert.text}</p>
      {alert.acknowledged?.note && <p className="cistern-quiet">Note: {alert.acknowledged.note}</p>}
      {active && (
        <div className="cistern-row-actions">
          <Acknowledge alert={alert} />
          <SilenceLink alert={alert} />
        </div>
      )}
      <ExpandableSection
        toggleText={open ? 'Less' : 'What it means, what to do, where it was sent'}
        isExpanded={open}
        onToggle={(_event, now) => setOpen(now)}
      >
        {open && <AlertDetails alert={alert} />}
      </ExpandableSection>
    </li>
  );
}
