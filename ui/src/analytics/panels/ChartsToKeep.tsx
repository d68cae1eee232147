// Charts that a page made of what it shows, with their time, the ways to what else there is of it, and a button that keeps
// them as a worksheet.
import { Button } from '@patternfly/react-core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Link, useNavigate } from 'react-router';
import { answerOf, client } from '../../api/client.ts';
import { type TimeAxis, useSettled } from '../../charts/axis.ts';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import type { Chart } from '../worksheets/sheet.ts';
import { Charts, useCharts } from './Charts.tsx';
import { TimeControls, TimeWords } from './TimeControls.tsx';

const TIME = { range: 3600, end: null };
const MOST_CHARTS = 40;

/** As the log of alerts takes days. */
function day(seconds: number): string {
  const date = new Date(seconds * 1000);
  const two = (number: number) => String(number).padStart(2, '0');
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

/** The same thing at the same time: what else there is of it. `label`: by which Explore finds it. */
function Ways({ find, label, axis }: { find: string; label: string | undefined; axis: TimeAxis }) {
  const { range, end } = useSettled(axis);
  const time = new URLSearchParams({
    range: String(Math.round(range)),
    ...(end !== null && { end: String(Math.round(end)) }),
  });
  const until = end ?? Date.now() / 1000;
  const from = until - range;
  const explore =
    label === undefined ? null : `/analytics/explore?${new URLSearchParams([...time, [`f.${label}`, find]])}`;
  return (
    <p className="cistern-row-actions">
      {explore !== null && <Link to={explore}>Explore its metrics</Link>}
      <Link to={`/alerts/log?${new URLSearchParams({ search: find, from: day(from), to: day(until) })}`}>
        Its alerts in the log
      </Link>
      <Link to={`/services/logs?${new URLSearchParams({ text: find })}`}>Log lines that name it</Link>
    </p>
  );
}

export function ChartsToKeep(props: {
  /** What they are called once they are kept. */
  name: string;
  title: string;
  charts: readonly Chart[];
  /** What logs and alerts are searched for. */
  find: string;
  label?: string | undefined;
  empty: ReactNode;
}) {
  const { name, title, charts, find, label, empty } = props;
  const state = useCharts(charts, TIME);
  const navigate = useNavigate();
  const queries = useQueryClient();
  const keep = useMutation({
    mutationFn: () => {
      const { range, end } = state.axis.settled;
      const about = { description: '', shared: false, rangeSeconds: range, end, annotations: [] };
      const body = { name: name.slice(0, 120), ...about, charts: state.charts.slice(0, MOST_CHARTS) };
      return answerOf(client.POST('/api/worksheets', { body }));
    },
    onSuccess: async ({ id }) => {
      await queries.invalidateQueries({ queryKey: ['worksheets'] });
      void navigate(`/analytics/worksheets/${id}`);
    },
  });
  return (
    <section aria-label={title}>
      <div className="cistern-host-charts">
        <h2>{title}</h2>
        <TimeControls axis={state.axis} />
        <Button
          variant="secondary"
          isLoading={keep.isPending}
          isDisabled={charts.length === 0}
          onClick={() => keep.mutate()}
        >
          Keep as a worksheet
        </Button>
      </div>
      <p className="cistern-quiet">
        <TimeWords axis={state.axis} />
      </p>
      <Ways find={find} label={label} axis={state.axis} />
      <ProblemAlert error={keep.error} />
      <Charts state={state} several empty={empty} />
    </section>
  );
}
