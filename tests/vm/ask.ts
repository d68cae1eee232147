// What several tests ask a machine.
import type { Person } from '../stack/api.ts';

export interface Alert {
  class: string;
  text: string;
  state: string;
  page: string;
}

/** @param state `active`, or `all` */
export const alerts = async (api: Person, state = 'active') =>
  (await api.get<{ items: Alert[] }>('GET', `/api/alerts?state=${state}`)).items;

/** The values of an expression now. */
export async function query(
  api: Person,
  expression: string,
): Promise<{ metric: Record<string, string>; value: [number, string] }[]> {
  const path = `/api/v1/query?query=${encodeURIComponent(expression)}`;
  return (await api.get<{ data: { result: [] } }>('GET', path)).data.result;
}

/** Those of the numbers in the series `flow{n="…"}` that are not stored. */
export async function missing(api: Person, sent: readonly number[]): Promise<number[]> {
  const there = new Set((await query(api, 'last_over_time(flow[2h])')).map(({ metric }) => Number(metric.n)));
  return sent.filter((n) => !there.has(n));
}
