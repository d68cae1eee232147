// What the values of an expression are measured in, for the pages that draw it.
import { queryOptions, useQuery } from '@tanstack/react-query';
import { type Measure, measureOf } from './telemetry.ts';

const UNKNOWN: Measure = { unit: 'count', perSecond: false };

/** A person may say it anew at any time; that is an event of the topic. */
export const measureQuery = (expression: string) =>
  queryOptions({
    queryKey: ['metric-meanings', 'measure', expression],
    queryFn: ({ signal }) => measureOf(expression, signal),
    enabled: expression !== '',
    staleTime: 60_000,
    retry: false,
  });

/** Of an expression that is wrong, and until the store has said it, nothing is known. */
export const useMeasure = (expression: string): Measure => useQuery(measureQuery(expression)).data ?? UNKNOWN;
