// One chart of a page: a statistic, or an expression.
import { Button } from '@patternfly/react-core';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { parseName } from '../statistics/statistic.ts';
import type { PanelProps } from './panel.ts';
import { QueryPanel } from './QueryPanel.tsx';
import { StatisticPanel } from './StatisticPanel.tsx';

export function ChartPanel(props: PanelProps) {
  const { chart } = props;
  if (chart.query !== undefined) return <QueryPanel {...props} query={chart.query} />;
  const text = chart.statistic ?? '';
  const name = parseName(text);
  if (name !== undefined) return <StatisticPanel key={text} {...props} text={text} name={name} />;
  return (
    <section className="cistern-panel">
      <ProblemAlert error={new Error(`“${text}” is not the name of a statistic.`)} title="This chart cannot be drawn" />
      {props.remove !== null && <Button onClick={props.remove}>Remove it</Button>}
    </section>
  );
}
