// What is wrong, at the top: what, how bad, since when, and what to do.
import { Alert } from '@patternfly/react-core';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import { activeAlertsQuery, alertClassesQuery } from '../../api/queries.ts';
import { Ago } from '../../words/Ago.tsx';
import { ConditionIcon } from '../../words/ConditionIcon.tsx';
import { ClearErrors } from './ClearErrors.tsx';
import type { Hardware } from './queries.ts';
import { Section } from './Section.tsx';
import { type Trouble, type TroubleGroup, troublesOf } from './troubles.ts';

/** Of one kind; all of them are further down as well. */
const SHOWN = 8;

function One(props: { trouble: Trouble; alone: boolean }) {
  const { state, words, chart, disk, part, alert } = props.trouble;
  return (
    <li>
      <span className="cistern-wrap">
        {!props.alone && <ConditionIcon state={state} />} {words}
      </span>{' '}
      <span className="cistern-row-actions">
        {alert && (
          <Link to={`/alerts/${alert.id}`}>
            Alert since <Ago time={alert.raisedAt} />
          </Link>
        )}
        {chart && (
          <Link to={chart} aria-label={`Chart: ${words}`}>
            Chart
          </Link>
        )}
        {disk && <Link to={`/storage/disks/${encodeURIComponent(disk)}`}>Its disk</Link>}
        {part && <ClearErrors part={part} />}
      </span>
    </li>
  );
}

function Group({ group: { title, state, troubles, action } }: { group: TroubleGroup }) {
  return (
    <Alert isInline component="h3" variant={state === 'critical' ? 'danger' : 'warning'} title={title}>
      <ul className="cistern-troubles">
        {troubles.slice(0, SHOWN).map((trouble) => (
          <One key={trouble.key} trouble={trouble} alone={troubles.length === 1} />
        ))}
      </ul>
      {troubles.length > SHOWN && <p>And {troubles.length - SHOWN} more, further down.</p>}
      {action !== '' && <p>{action}</p>}
    </Alert>
  );
}

export function Troubles({ hardware }: { hardware: Hardware }) {
  const { data: alerts = [] } = useQuery(activeAlertsQuery);
  const { data: classes = [] } = useQuery(alertClassesQuery);
  const groups = troublesOf(hardware, alerts, classes);
  if (groups.length === 0) return null;
  return (
    <Section id="wrong" title="What is wrong">
      <div className="cistern-tight">
        {groups.map((group) => (
          <Group key={group.class} group={group} />
        ))}
      </div>
    </Section>
  );
}
