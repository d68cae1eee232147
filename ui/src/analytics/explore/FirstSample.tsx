// Where nothing was sent yet: what to paste into clients, and the first sample as soon as there is one.
import { Card, CardBody, CardTitle, EmptyState, EmptyStateBody } from '@patternfly/react-core';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import { inputsQuery } from '../../api/queries.ts';
import type { Metric } from '../../api/telemetry.ts';
import type { Named } from '../../charts/lines.ts';
import { SmallChart, SmallMultiples } from '../../charts/SmallMultiples.tsx';
import { seriesName } from '../../charts/seriesName.ts';
import { Paste } from '../sending/Paste.tsx';
import { selector } from './expression.ts';
import { readView, writeView } from './view.ts';

/** A counter's total, which there is of its first sample; a rate needs two. */
function First({ metric: { name, type, unit = 'count' } }: { metric: Metric }) {
  const view = { ...readView(new URLSearchParams()), metric: name };
  const values = selector(view);
  const nameOf = (labels: Readonly<Record<string, string>>): Named => {
    const text = seriesName(labels, name);
    return { key: text, text };
  };
  return (
    <SmallMultiples range={3600}>
      <Card component="section" aria-label={`The first sample: ${name}`}>
        <CardTitle component="h2">
          <Link to={`/analytics/explore?${writeView(view)}`}>{name}</Link> has come
        </CardTitle>
        <CardBody>
          <SmallChart
            title={name}
            query={type === 'histogram' ? `histogram_quantile(0.5, ${values})` : values}
            unit={unit}
            perSecond={false}
            nameOf={nameOf}
          />
        </CardBody>
      </Card>
    </SmallMultiples>
  );
}

/** @param first the metric that came first, once one has */
export function FirstSample({ first }: { first: Metric | undefined }) {
  const inputs = useQuery(inputsQuery).data;
  return (
    <div className="cistern-stack">
      {first ? (
        <First metric={first} />
      ) : (
        <EmptyState headingLevel="h2" titleText="Nothing has been sent here yet" variant="sm">
          <EmptyStateBody>
            Paste the lines below into a client. What it sends is drawn here as it comes;{' '}
            <Link to="/settings/inputs">Settings → Inputs</Link> says who may send.
          </EmptyStateBody>
        </EmptyState>
      )}
      {inputs && <Paste inputs={inputs} />}
    </div>
  );
}
