// What is wrong with the hardware, joined with the alerts of it: since when, and what to do.
import type { Schemas } from '../../api/client.ts';
import { plural } from '../../words/format.ts';
import type { Hardware, PartErrors, Sensor } from './queries.ts';
import { chartOf, countsOf, isWrong, sensorSentence } from './words.ts';

type Alert = Schemas['Alert'];
type AlertKind = Schemas['AlertKind'];

export interface Trouble {
  readonly key: string;
  readonly state: 'warning' | 'critical';
  readonly words: string;
  /** What can be looked at, or done, at once. */
  readonly chart?: string;
  readonly disk?: string | null;
  readonly part?: PartErrors;
  readonly alert: Pick<Alert, 'id' | 'raisedAt'> | undefined;
}

/** Troubles of one kind: the same has to be done about them. */
export interface TroubleGroup {
  readonly class: string;
  readonly title: string;
  readonly state: 'warning' | 'critical';
  readonly troubles: readonly Trouble[];
  /** Empty: not known yet. */
  readonly action: string;
}

const titles: Readonly<Record<string, readonly [one: string, many: string]>> = {
  'controller.silent': ['The management controller does not answer', ''],
  'enclosure.silent': ['An enclosure does not answer', 'enclosures do not answer'],
  'psu.failed': ['A power supply has a fault', 'power supplies have a fault'],
  'fan.failed': ['A fan has a fault', 'fans have a fault'],
  'hardware.sensor': ['A part has a fault', 'parts have a fault'],
  'memory.errors': ['A part of the memory has errors', 'parts of the memory have errors'],
  'processor.errors': ['A part of a processor has errors', 'parts of processors have errors'],
  'pcie.errors': ['A card has bus errors', 'cards have bus errors'],
  'link.errors': ['A network link loses packets', 'network links lose packets'],
};

const sensorClass = ({ kind }: Sensor) =>
  kind === 'power-supply' ? 'psu.failed' : kind === 'fan' ? 'fan.failed' : 'hardware.sensor';
const level = (state: Sensor['state']) => (state === 'critical' ? ('critical' as const) : ('warning' as const));

export function troublesOf(
  {
    controller,
    enclosures,
    sensors,
    errors,
    slots,
  }: Pick<Hardware, 'controller' | 'enclosures' | 'sensors' | 'errors' | 'slots'>,
  alerts: readonly Pick<Alert, 'id' | 'class' | 'labels' | 'raisedAt'>[],
  classes: readonly Pick<AlertKind, 'class' | 'action'>[],
): TroubleGroup[] {
  const found = new Map<string, Trouble[]>();
  const add = (kind: string, labels: Readonly<Record<string, string>>, trouble: Omit<Trouble, 'alert'>) => {
    const fits = (one: (typeof alerts)[number]) =>
      one.class === kind && Object.entries(labels).every(([name, value]) => one.labels[name] === value);
    found.set(kind, [...(found.get(kind) ?? []), { ...trouble, alert: alerts.find(fits) }]);
  };
  if (controller.state === 'silent')
    add('controller.silent', {}, { key: 'controller', state: 'warning', words: controller.sentence });
  for (const { id, title, error } of enclosures) {
    if (error === null) continue;
    const words = `${title} (${id}): ${error}`;
    add('enclosure.silent', { enclosure: id }, { key: `enclosure ${id}`, state: 'warning', words });
  }
  const wrong = sensors.filter(isWrong);
  for (const sensor of wrong) {
    const words = sensorSentence(sensor);
    const trouble = { key: `sensor ${sensor.name}`, state: level(sensor.state), words, chart: chartOf(sensor) };
    add(sensorClass(sensor), { sensor: sensor.name }, trouble);
  }
  for (const words of controller.chassis)
    add('hardware.sensor', { sensor: words }, { key: `chassis ${words}`, state: 'warning', words: `${words}.` });
  for (const { enclosure, slot, state, disk } of slots.filter(isWrong)) {
    const sensor = `${slot} of the enclosure ${enclosure}`;
    const words = `${sensor} reports a fault of its disk.`;
    add('hardware.sensor', { sensor }, { key: `slot ${sensor}`, state: level(state), words, disk });
  }
  for (const part of errors.filter(isWrong)) {
    const words = `${part.title}: ${countsOf(part)}${part.detail === '' ? '' : `. The last: ${part.detail}`}.`;
    add(`${part.kind}.errors`, { part: part.part }, { key: part.part, state: level(part.state), words, part });
  }
  const groups = [...found].map(([kind, troubles]): TroubleGroup => {
    const [one = kind, many = kind] = titles[kind] ?? [];
    return {
      class: kind,
      title: troubles.length === 1 ? one : plural(troubles.length, many, many),
      state: troubles.some(({ state }) => state === 'critical') ? 'critical' : 'warning',
      troubles: [...troubles].sort((a, b) => Number(b.state === 'critical') - Number(a.state === 'critical')),
      action: classes.find((one) => one.class === kind)?.action ?? '',
    };
  });
  return groups.sort((a, b) => Number(b.state === 'critical') - Number(a.state === 'critical'));
}
