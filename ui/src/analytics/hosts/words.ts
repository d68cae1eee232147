// A host's values and states in words.
import { duration, percent, quantity } from '../../words/format.ts';
import type { Host, HostsView, HostValue } from './view.ts';

export const hostPath = (name: string) => `/hosts/${encodeURIComponent(name)}`;

/** As the appliance tells whose an alert is. */
export function hostOf(labels: Readonly<Record<string, string>>): string | undefined {
  const named = labels.host || labels['host.name'] || labels.host_name;
  if (named) return named;
  const [, inner, outer] = /^(?:\[([^\]]+)\]|([^:]+)):[0-9]+$/.exec(labels.instance ?? '') ?? [];
  return inner ?? outer ?? labels.instance;
}

/** What the hosts are filled and sorted by. */
export function fillWords({ metric, as }: Pick<HostsView, 'metric' | 'as'>): string {
  if (metric === '') return 'Waiting';
  return as === 'rate' ? `${metric}, each second` : metric;
}

export function valueWords(value: number, { metric, as, unit }: Pick<HostsView, 'metric' | 'as' | 'unit'>): string {
  return metric === '' ? percent(value) : quantity(value, unit ?? 'count', as === 'rate');
}

/** All of one square or row, for who hears it. */
export function hostSentence(host: Host, value: HostValue | undefined, view: HostsView): string {
  const parts = [
    host.name,
    host.state,
    value === undefined ? 'no value' : `${fillWords(view)} ${valueWords(value.value, view)}`,
    ...(value?.unlike ? [`unlike its peers: ${value.unlike.words}`] : []),
    ...(host.alerts > 0 ? [`${host.alerts} active ${host.alerts === 1 ? 'alert' : 'alerts'}`] : []),
    ...(host.silencedUntil === null ? [] : ['silenced']),
  ];
  return parts.join(', ');
}

export function intervalWords({ intervalSeconds }: Pick<Host, 'intervalSeconds'>): string {
  return intervalSeconds === null ? 'heard of once so far' : `every ${duration(intervalSeconds)}`;
}
