// Alerts that were raised together: where the mail of a burst leads.
import { EmptyState, EmptyStateBody, PageSection, SearchInput } from '@patternfly/react-core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'react-router';
import { asProblem } from '../../api/problem.ts';
import { alertGroupQuery } from '../../api/queries.ts';
import { PageShell } from '../../shells/PageShell.tsx';
import { PageLoading } from '../../shells/Waiting.tsx';
import { Ago } from '../../words/Ago.tsx';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { GroupActions } from './GroupActions.tsx';
import { GroupLabels } from './GroupList.tsx';
import { Members } from './Members.tsx';

export function GroupPage({ id }: { id: string }) {
  const { data: group, error, refetch } = useQuery(alertGroupQuery(id));
  const [search, setSearch] = useState('');
  if (group === undefined) {
    if (!error) return <PageLoading />;
    return (
      <PageSection>
        {asProblem(error).code === 'not_found' ? (
          <EmptyState headingLevel="h1" titleText="These alerts are not in the log">
            <EmptyStateBody>
              Alerts are kept for 400 days. <Link to="/alerts/log">See the log</Link>.
            </EmptyStateBody>
          </EmptyState>
        ) : (
          <ProblemAlert error={error} retry={() => void refetch()} />
        )}
      </PageSection>
    );
  }
  const active = group.state === 'active';
  const facts: [string, string][] = [
    ['What it means', group.impact],
    ['What was done', group.response],
    ['What to do', group.action],
  ];
  return (
    <PageShell
      title={group.title}
      state={active ? group.severity : 'ok'}
      sentence={group.text || undefined}
      way={[[active ? 'Active alerts' : 'Alert log', active ? '/alerts' : '/alerts/log']]}
    >
      <div className="cistern-stack">
        <p>
          <GroupLabels group={group} />
          <span className="cistern-quiet">
            {' '}
            raised <Ago time={group.firstAt} />
            {group.ruleName !== null && (
              <>
                {' '}
                by the rule <Link to={`/alerts/thresholds/${group.ruleId}`}>{group.ruleName}</Link>
              </>
            )}
            {group.clearedAt && (
              <>
                , the last one cleared <Ago time={group.clearedAt} />
              </>
            )}
          </span>
        </p>
        {active && (
          <div className="cistern-row-actions">
            <GroupActions group={group} />
          </div>
        )}
        <dl className="cistern-alertdetails">
          {facts.map(([term, text]) => (
            <div key={term}>
              <dt>{term}</dt>
              <dd>{text}</dd>
            </div>
          ))}
        </dl>
        <p>
          <Link to={`/alerts/${group.firstId}`}>The first of them</Link> has the chart, what changed before it, and what
          the log says.
        </p>
        <SearchInput
          aria-label="Search these alerts"
          placeholder="Title, text or label"
          value={search}
          onChange={(_event, value) => setSearch(value)}
          onClear={() => setSearch('')}
        />
        <Members key={search} group={group} state="all" search={search} />
      </div>
    </PageShell>
  );
}
