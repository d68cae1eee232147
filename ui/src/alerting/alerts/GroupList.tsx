// Alerts as one reads them: what was raised together is one line that opens to its alerts, a page of them at a time.
import { ExpandableSection, Label } from '@patternfly/react-core';
import { useState } from 'react';
import { Link } from 'react-router';
import { Ago } from '../../words/Ago.tsx';
import { ConditionIcon } from '../../words/ConditionIcon.tsx';
import { plural } from '../../words/format.ts';
import { AlertItem } from './AlertList.tsx';
import { GroupActions } from './GroupActions.tsx';
import { Members } from './Members.tsx';
import { type AlertGroup, conditionOf } from './words.ts';

/** Its state at a glance. */
export function GroupLabels({ group }: { group: AlertGroup }) {
  const { active, acknowledged, cleared, silence } = group;
  return (
    <>
      {active > 0 && <Label isCompact>{active.toLocaleString()} active</Label>}{' '}
      {cleared > 0 && <Label isCompact>{active === 0 ? 'all' : cleared.toLocaleString()} cleared</Label>}{' '}
      {acknowledged > 0 && (
        <Label isCompact color="blue">
          {acknowledged === active ? 'acknowledged' : `${acknowledged.toLocaleString()} acknowledged`}
        </Label>
      )}{' '}
      {silence && (
        <Label isCompact color="purple" title="What is still active when the silence ends is sent then">
          suppressed by {silence.name}
        </Label>
      )}
    </>
  );
}

/** A few are shown at once: with five and less one reads each. */
const FEW = 5;

function Item({ group, search }: { group: AlertGroup; search: string }) {
  const [open, setOpen] = useState(group.matching <= FEW);
  const active = group.state === 'active';
  const most = group.matching < group.total ? `the ${plural(group.matching, 'alert')} that match` : 'its alerts';
  return (
    <li className={`cistern-alert cistern-alert-${active ? group.severity : 'cleared'}`}>
      <div>
        <ConditionIcon state={active ? conditionOf(group.severity) : 'ok'} />{' '}
        <strong>
          <Link to={`/alerts/${group.id}`}>{group.title}</Link>
        </strong>{' '}
        <GroupLabels group={group} />
        <span className="cistern-quiet">
          {' '}
          raised <Ago time={group.firstAt} />
        </span>
      </div>
      {group.text && <p>{group.text}</p>}
      {active && (
        <div className="cistern-row-actions">
          <GroupActions group={group} />
        </div>
      )}
      <ExpandableSection
        toggleText={open ? 'Less' : `Show ${most}`}
        isExpanded={open}
        onToggle={(_event, now) => setOpen(now)}
      >
        {open && <Members group={group} state={active ? 'active' : 'all'} search={search} />}
      </ExpandableSection>
    </li>
  );
}

/** `search`: members that do not match are left out as well. */
export function GroupList(props: { groups: readonly AlertGroup[]; label: string; search?: string }) {
  return (
    <ul className="cistern-alerts" aria-label={props.label}>
      {props.groups.map((group) =>
        group.alert === null ? (
          <Item key={group.id} group={group} search={props.search ?? ''} />
        ) : (
          <AlertItem key={group.id} alert={group.alert} />
        ),
      )}
    </ul>
  );
}
