// The catalogue, to choose from: every statistic in its group, with what it is for, how it splits and what it costs.
import {
  Button,
  Content,
  EmptyState,
  EmptyStateBody,
  FormSelect,
  FormSelectOption,
  Label,
  SearchInput,
} from '@patternfly/react-core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { statisticsQuery } from './queries.ts';
import { costWords, type Statistic, splitTitle } from './statistic.ts';

function Entry({ statistic, pick }: { statistic: Statistic; pick: (name: string) => void }) {
  const [breakdown, setBreakdown] = useState('');
  const splits = statistic.breakdowns.filter(({ kind }) => kind !== 'filter');
  const [first] = splits;
  const chosen = breakdown || (first?.name ?? '');
  const { explanation, available } = statistic;
  return (
    <li className="cistern-catalogued">
      <div>
        <h3>
          {statistic.title} <code className="cistern-quiet">{statistic.name}</code>
        </h3>
        <p>{explanation.check}</p>
        <details>
          <summary>How to read it</summary>
          <Content component="p">{explanation.read}</Content>
          {explanation.next.length > 0 && (
            <p>
              Go on to:{' '}
              {explanation.next.map((next) => (
                <Button key={next} variant="link" isInline onClick={() => pick(next)} className="cistern-next">
                  {next}
                </Button>
              ))}
            </p>
          )}
        </details>
      </div>
      <div className="cistern-pick">
        {available ? (
          <>
            <FormSelect
              aria-label={`Break ${statistic.title} down by`}
              value={chosen}
              onChange={(_event, value) => setBreakdown(value || ' ')}
            >
              {splits.map((one) => (
                <FormSelectOption key={one.name} value={one.name} label={`by ${splitTitle(one.title)}`} />
              ))}
              <FormSelectOption value=" " label="the total only" />
            </FormSelect>
            <Button
              variant="secondary"
              aria-label={`Show ${statistic.title}`}
              onClick={() => pick(chosen.trim() === '' ? statistic.name : `${statistic.name}[${chosen}]`)}
            >
              Show
            </Button>
          </>
        ) : (
          <p className="cistern-quiet">Not available: {statistic.reason ?? 'not on this machine'}</p>
        )}
        <Label isCompact variant="outline" color={statistic.cost === 'none' ? 'grey' : 'blue'}>
          {costWords[statistic.cost]}
        </Label>
      </div>
    </li>
  );
}

export function StatisticList({ pick }: { pick: (name: string) => void }) {
  const { data, error, refetch } = useQuery(statisticsQuery);
  const [text, setText] = useState('');
  const wanted = text.trim().toLowerCase();
  const found = (data ?? []).filter((one) =>
    `${one.title} ${one.name} ${one.group} ${one.breakdowns.map(({ title }) => title).join(' ')}`
      .toLowerCase()
      .includes(wanted),
  );
  const groups = [...new Set(found.map(({ group }) => group))];
  return (
    <>
      <SearchInput
        aria-label="Find a statistic"
        placeholder="Find a statistic"
        value={text}
        onChange={(_event, value) => setText(value)}
        onClear={() => setText('')}
        className="cistern-find"
      />
      <ProblemAlert error={error} stale={data !== undefined} retry={() => void refetch()} />
      {groups.map((group) => (
        <section key={group} aria-label={group}>
          <h2 className="cistern-charttitle">{group}</h2>
          <ul className="cistern-catalogue">
            {found
              .filter((one) => one.group === group)
              .map((one) => (
                <Entry key={one.name} statistic={one} pick={pick} />
              ))}
          </ul>
        </section>
      ))}
      {data && found.length === 0 && (
        <EmptyState headingLevel="h2" titleText={`No statistic has to do with “${text}”`} variant="sm">
          <EmptyStateBody>What was sent to the appliance is found in Explore.</EmptyStateBody>
        </EmptyState>
      )}
    </>
  );
}
