// The alerts that this domain can raise: what the pages, the mails and the traps say of each.

import { quantity } from '../../base/quantity.ts';
import { duration } from '../../base/words.ts';
import { alertClass } from '../catalogue/alert-class.ts';
import type { Severity } from '../catalogue/severity.ts';
import { sentences } from '../catalogue/words.ts';
import { selectorOf, severalMetrics } from './selectors.ts';

export interface ThresholdArgs {
  readonly ruleId: string;
  readonly ruleName: string;
  readonly severity: Severity;
  readonly direction: 'above' | 'below';
  readonly expression: string;
  readonly value: number;
  readonly limit: number;
  /** Of both, as `bytes/s`; empty when nobody knows it. */
  readonly unit: string;
  readonly labels: Record<string, string>;
  readonly seriesKey: string;
}

/**
 * As `host="web1", disk="sda"`; nothing for a series without labels. Of a rule over several metrics with the name, as
 * `free_bytes{host="web1"}`: two of them may have the same labels.
 */
export function seriesWords(labels: Readonly<Record<string, string>>, expression: string): string {
  if (labels.__name__ !== undefined && severalMetrics(expression)) return selectorOf(labels);
  return Object.entries(labels)
    .filter(([name]) => name !== '__name__')
    .map(([name, value]) => `${name}="${value}"`)
    .join(', ');
}

/** The same in brackets, behind the name of a rule. */
export function ofSeries({ labels, expression }: Pick<ThresholdArgs, 'labels' | 'expression'>): string {
  const words = seriesWords(labels, expression);
  return words === '' ? '' : ` (${words})`;
}

export const thresholdExceeded = alertClass<ThresholdArgs>({
  class: 'threshold.exceeded',
  severity: ({ severity }) => severity,
  severities: ['critical', 'warning', 'info'],
  title: (args) => `${args.ruleName}${ofSeries(args)}`,
  text: ({ ruleName, value, limit, unit, direction, ...series }) =>
    `${ruleName}${ofSeries(series)} is ${quantity(value, unit)}, ${direction} the limit of ${quantity(limit, unit)}.`,
  impact: () => 'A value is beyond the limit that was set for it. What that means is known to whoever set the limit.',
  response: () => 'The appliance goes on measuring, and sends an all-clear when the value is back within its limit.',
  action: ({ expression }) => `Look at the chart of ${expression} and find out what changed.`,
  page: ({ ruleId }) => `/alerts/thresholds/${ruleId}`,
  labels: ({ labels }) => labels,
  dedupKey: ({ ruleId, seriesKey }) => `threshold.exceeded/${ruleId}/${seriesKey}`,
  example: {
    ruleId: 'th-0mi5x3k9f-3f9c2b7a10',
    ruleName: 'Egress',
    severity: 'warning',
    direction: 'above',
    expression: 'egress',
    value: 16,
    limit: 10,
    unit: '',
    labels: { host: 'web1' },
    seriesKey: '[["host","web1"]]',
  },
  dedupExample: 'threshold.exceeded/th-0mi5x3k9f-3f9c2b7a10/[["host","web1"]]',
  dependsOn: () => [],
  visibleAfterSeconds: 0,
});

export interface NoDataArgs {
  readonly ruleId: string;
  readonly ruleName: string;
  readonly severity: Severity;
  readonly expression: string;
  readonly labels: Record<string, string>;
  readonly seriesKey: string;
  /** How long there has been no value. */
  readonly noDataSeconds: number;
}

export const thresholdNoData = alertClass<NoDataArgs>({
  class: 'threshold.nodata',
  together: ' has no data',
  severity: ({ severity }) => severity,
  severities: ['critical', 'warning', 'info'],
  title: (args) => `${args.ruleName}${ofSeries(args)} has no data`,
  text: ({ ruleName, noDataSeconds, ...series }) =>
    `${ruleName}${ofSeries(series)} has had no value for ${duration(noDataSeconds)}.`,
  impact: () => 'Whether the value is within its limit is not known: what sent it may be down.',
  response: () => 'The appliance goes on checking, and sends an all-clear when values arrive again.',
  action: ({ expression }) =>
    `See whether what sends ${expression} is running and reaches the appliance. If it is gone for good, have the rule forget the series.`,
  page: ({ ruleId }) => `/alerts/thresholds/${ruleId}`,
  labels: ({ labels }) => labels,
  dedupKey: ({ ruleId, seriesKey }) => `threshold.nodata/${ruleId}/${seriesKey}`,
  example: {
    ruleId: 'th-0mi5x3k9f-3f9c2b7a10',
    ruleName: 'Egress',
    severity: 'warning',
    expression: 'egress',
    labels: { host: 'web1' },
    seriesKey: '[["host","web1"]]',
    noDataSeconds: 600,
  },
  dedupExample: 'threshold.nodata/th-0mi5x3k9f-3f9c2b7a10/[["host","web1"]]',
  dependsOn: () => ['service.failed/storaged'],
  visibleAfterSeconds: 0,
});

export interface RuleErrorArgs {
  readonly ruleId: string;
  readonly ruleName: string;
  /** The store's own words. */
  readonly error: string;
}

/** A rule that is not watched looks like one whose value is well: the lack of its alerts would not be noticed. */
export const thresholdFailing = alertClass<RuleErrorArgs>({
  class: 'threshold.failing',
  severity: () => 'warning',
  title: ({ ruleName }) => `The rule “${ruleName}” cannot be evaluated`,
  text: ({ ruleName, error }) => `“${ruleName}” watches nothing: ${sentences(error)}`,
  impact: () => 'Whether its value is within its limit is not known. No alert of it is raised, and none clears.',
  response: () => 'It is tried again every few seconds.',
  action: () => 'Correct the rule: its page shows what is wrong, and where. Or switch it off.',
  page: ({ ruleId }) => `/alerts/thresholds/${ruleId}`,
  labels: ({ ruleName }) => ({ rule: ruleName }),
  dedupKey: ({ ruleId }) => `threshold.failing/${ruleId}`,
  example: { ruleId: 'th-0mi5x3k9f-3f9c2b7a10', ruleName: 'Egress', error: 'no answer' },
  dedupExample: 'threshold.failing/th-0mi5x3k9f-3f9c2b7a10',
  dependsOn: () => ['service.failed/storaged'],
  // A rule that is being written is wrong for a while.
  visibleAfterSeconds: 300,
});

export const alertClasses = [thresholdExceeded, thresholdNoData, thresholdFailing] as const;
