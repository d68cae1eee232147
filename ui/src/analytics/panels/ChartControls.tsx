// How a chart is drawn: chosen in its head, seldom changed.
import { FormSelect, FormSelectOption } from '@patternfly/react-core';
import type { ReactNode } from 'react';
import type { Dataset } from '../statistics/statistic.ts';
import { type Chart, changed } from '../worksheets/sheet.ts';
import type { PanelProps } from './panel.ts';

/** Its options say what it is for; its name is for screen readers. */
export function Choice<V extends string>(props: {
  label: string;
  value: V;
  options: readonly (readonly [value: V, text: string])[];
  onChange: (value: V) => void;
}) {
  return (
    <FormSelect
      aria-label={props.label}
      title={props.label}
      value={props.value}
      onChange={(_event, value) => props.onChange(value as V)}
    >
      {props.options.map(([value, text]) => (
        <FormSelectOption key={value} value={value} label={text} />
      ))}
    </FormSelect>
  );
}

const COMPARE = [
  ['', 'no comparison'],
  ['day', 'with the day before'],
  ['week', 'with the week before'],
] as const;
const QUANTILES: readonly (readonly [string, string])[] = [
  ['', 'no quantiles'],
  ['0.5', 'p50'],
  ['0.9', 'p90'],
  ['0.99', 'p99'],
  ['0.999', 'p99.9'],
  ['0.5,0.99', 'p50 and p99'],
  ['0.5,0.9,0.99', 'p50, p90, p99'],
];
const TRIMS: readonly (readonly [string, string])[] = [
  ['0', 'all values'],
  ['0.0001', 'top 0.01 % cut off'],
  ['0.001', 'top 0.1 % cut off'],
  ['0.01', 'top 1 % cut off'],
  ['0.05', 'top 5 % cut off'],
];

/** With what is set, should it be none of the usual ones. */
function including(options: readonly (readonly [string, string])[], value: string) {
  return options.some(([one]) => one === value) ? options : [...options, [value, value] as const];
}

export function Controls(props: {
  chart: Chart;
  change: PanelProps['change'];
  kind: Dataset['kind'];
  children?: ReactNode;
}) {
  const { chart, change, kind } = props;
  const set = (what: Partial<{ [K in keyof Chart]: Chart[K] | undefined }>) => change(changed(chart, what), false);
  return (
    <div className="cistern-chartcontrols">
      {props.children}
      {kind === 'series' && (
        <Choice
          label="Show as"
          value={chart.display === 'lines' || chart.display === 'stacked' ? chart.display : 'auto'}
          options={[
            ['auto', 'drawn as it fits'],
            ['stacked', 'stacked'],
            ['lines', 'as lines'],
          ]}
          onChange={(display) => set({ display: display === 'auto' ? undefined : display })}
        />
      )}
      {kind === 'histogram' && (
        <>
          <Choice
            label="Axis"
            value={chart.scale ?? 'auto'}
            options={[
              ['auto', 'axis as it fits'],
              ['log', 'logarithmic axis'],
              ['linear', 'linear axis'],
            ]}
            onChange={(scale) => set({ scale: scale === 'auto' ? undefined : scale })}
          />
          <Choice
            label="Outliers"
            value={String(chart.trim ?? 0)}
            options={including(TRIMS, String(chart.trim ?? 0))}
            onChange={(trim) => set({ trim: Number(trim) || undefined })}
          />
          <Choice
            label="Quantiles"
            value={(chart.quantiles ?? []).join(',')}
            options={including(QUANTILES, (chart.quantiles ?? []).join(','))}
            onChange={(text) => set({ quantiles: text === '' ? undefined : text.split(',').map(Number) })}
          />
        </>
      )}
      {kind !== 'stacks' && (
        <Choice
          label="Compare with"
          value={chart.compare ?? ''}
          options={COMPARE}
          onChange={(compare) => set({ compare: compare === '' ? undefined : compare })}
        />
      )}
    </div>
  );
}
