// What illumos' fault manager knows of shelves and cards: its topology, as fmtopo prints it with -P. Formats: print_node and
// print_prop_nameval of fmtopo.c, types, units and states of libtopo.h, the sensors of ses_facility.c, the cards' properties of
// did_props.c, all of illumos-gate (2023 to 2025). Not run on illumos yet.
import type { Card, ControllerSensor, Enclosure, SensorKind, SensorState, Slot } from '../hardware.ts';

interface TopologyNode {
  /** /ses-enclosure=0/fan=2; without the authority. */
  readonly path: string;
  /** Of the authority: product-id, chassis-id. */
  readonly authority: ReadonlyMap<string, string>;
  /** sensor or indicator, and its name; null: the node is a part itself. */
  readonly facility: { readonly kind: string; readonly name: string } | null;
  /** By group and name: facility.state → 0x1 (DEASSERTED) */
  readonly properties: ReadonlyMap<string, string>;
}

export function parseTopology(text: string): TopologyNode[] {
  const nodes: (TopologyNode & { properties: Map<string, string> })[] = [];
  let group = '';
  for (const line of text.split('\n')) {
    // libtopo lets no slash into an authority.
    const fmri = /^hc:\/\/([^/]*)(\/[^?]*)(?:\?(sensor|indicator)=(.*))?$/.exec(line.trimEnd());
    if (fmri !== null) {
      const [, authority = '', path = '', kind, name = ''] = fmri;
      nodes.push({
        path,
        authority: new Map(
          authority
            .split(':')
            .filter((one) => one.includes('='))
            .map((one): [string, string] => [one.slice(0, one.indexOf('=')), one.slice(one.indexOf('=') + 1)]),
        ),
        facility: kind === undefined ? null : { kind, name },
        properties: new Map(),
      });
      group = '';
      continue;
    }
    const heading = /^ {2}group: (\S+)/.exec(line);
    if (heading !== null) {
      group = heading[1] ?? '';
      continue;
    }
    const [, name, value] = /^ {4}(\S+)\s+\S+\s+(.*)$/.exec(line) ?? [];
    if (name !== undefined && group !== '') nodes.at(-1)?.properties.set(`${group}.${name}`, (value ?? '').trim());
  }
  return nodes;
}

/** A number of a facility: `0x4 (FAN)`. */
function code(node: TopologyNode, name: string): number | null {
  const text = /^0x[0-9a-f]+/.exec(node.properties.get(`facility.${name}`) ?? '')?.[0];
  return text === undefined ? null : Number(text);
}

type Meaning = readonly [bit: number, words: string, state: SensorState];
/** TOPO_SENSOR_STATE_THRESH_*; a sensor of the class threshold has them whatever its type. */
const THRESHOLDS: readonly Meaning[] = [
  [0x01, 'Low', 'warning'],
  [0x02, 'Critically low', 'critical'],
  [0x04, 'Far too low', 'critical'],
  [0x08, 'High', 'warning'],
  [0x10, 'Critically high', 'critical'],
  [0x20, 'Far too high', 'critical'],
];
/** TOPO_SENSOR_STATE_GENERIC_FAIL_* */
const FAILURES: readonly Meaning[] = [
  [0x02, 'Failed', 'critical'],
  [0x04, 'Critical', 'critical'],
];
/** TOPO_SENSOR_STATE_POWER_SUPPLY_*; ses_psu_state says by them also what the supply gives, so both may be meant. */
const SUPPLIES: readonly Meaning[] = [
  [0x02, 'Failed', 'critical'],
  [0x04, 'Predicted to fail', 'warning'],
  [0x08, 'No power', 'critical'],
  [0x10, 'Voltage too low', 'critical'],
  [0x20, 'Voltage or current too high', 'critical'],
  [0x40, 'Wrongly configured', 'warning'],
];
const MEANINGS: Readonly<Record<number, readonly Meaning[]>> = { 8: SUPPLIES, 269: FAILURES };

/** topo_sensor_unit */
const UNITS: Readonly<Record<number, string>> = { 1: '°C', 4: 'V', 5: 'A', 6: 'W', 18: 'rpm' };
const KIND_OF_UNIT: Readonly<Record<string, SensorKind>> = {
  ...{ '°C': 'temperature', V: 'voltage', A: 'current', W: 'power', rpm: 'fan' },
};
const KIND_OF_PART: Readonly<Record<string, SensorKind>> = {
  ...{ fan: 'fan', psu: 'power-supply', bay: 'disk', 'ses-enclosure': 'chassis', controller: 'other' },
};
const PART_TITLES: Readonly<Record<string, string>> = {
  ...{ fan: 'Fan', psu: 'Power supply', bay: 'Bay', 'ses-enclosure': 'Enclosure', controller: 'Controller' },
};

const RANK: Readonly<Record<SensorState, number>> = { absent: 0, ok: 1, warning: 2, critical: 3 };
const worse = (a: SensorState, b: SensorState): SensorState => (RANK[b] > RANK[a] ? b : a);

const SHELF = /^(?:.*\/)?ses-enclosure=[^/]+/;

/** A shelf has the same name after it is plugged in elsewhere: by its own number. */
function shelfOf(node: TopologyNode): { id: string; title: string; name: string } | null {
  const path = SHELF.exec(node.path)?.[0];
  if (path === undefined) return null;
  const chassis = node.authority.get('chassis-id') || path;
  const title = node.authority.get('product-id') || 'Enclosure';
  return { id: chassis, title, name: `${title} ${chassis.slice(-8)}` };
}

/** The part that a sensor is of: its kind, and what it is called within the shelf. */
function partOf(path: string): { part: string; title: string } {
  const [part = '', number = ''] = path.slice(path.lastIndexOf('/') + 1).split('=');
  return { part, title: part === 'ses-enclosure' ? 'Enclosure' : `${PART_TITLES[part] ?? part} ${number}` };
}

function reading(node: TopologyNode): Pick<ControllerSensor, 'state' | 'value' | 'unit' | 'reports'> {
  const threshold = node.properties.get('facility.sensor-class') === 'threshold';
  const bits = code(node, 'state') ?? 0;
  const meanings = threshold ? THRESHOLDS : (MEANINGS[code(node, 'type') ?? -1] ?? []);
  const raised = meanings.filter(([bit]) => (bits & bit) !== 0);
  const unit = UNITS[code(node, 'units') ?? -1] ?? '';
  const text = node.properties.get('facility.reading');
  const value = unit === '' || text === undefined || !Number.isFinite(Number(text)) ? null : Number(text);
  return {
    state: raised.map(([, , state]) => state).reduce(worse, 'ok'),
    ...{ value, unit: value === null ? '' : unit, reports: raised.map(([, words]) => words) },
  };
}

/** The sensors of one part are one: a fan that has failed and its speed. Named ones of the shelf itself stand alone. */
function sensorsOf(shelf: string, nodes: readonly TopologyNode[]): ControllerSensor[] {
  const found = new Map<string, ControllerSensor>();
  for (const node of nodes) {
    if (node.facility?.kind !== 'sensor') continue;
    const { part, title } = partOf(node.path);
    const own = reading(node);
    const alone = part === 'ses-enclosure' && node.facility.name !== 'fault';
    const name = `${shelf} ${alone ? node.facility.name : title}`;
    const before = found.get(name);
    found.set(name, {
      ...{ name, kind: (alone ? KIND_OF_UNIT[own.unit] : KIND_OF_PART[part]) ?? 'other' },
      state: worse(before?.state ?? 'ok', own.state),
      value: own.value ?? before?.value ?? null,
      unit: own.unit || (before?.unit ?? ''),
      reports: [...new Set([...(before?.reports ?? []), ...own.reports])],
      // libtopo has limits of the management controller's sensors only.
      ...{ lowest: null, highest: null },
    });
  }
  return [...found.values()];
}

/** Without the bays, which are slots. */
export function topologyEnclosures(text: string): Enclosure[] {
  const shelves = new Map<string, { title: string; name: string; nodes: TopologyNode[] }>();
  for (const node of parseTopology(text)) {
    const shelf = shelfOf(node);
    if (shelf === null) continue;
    const known = shelves.get(shelf.id) ?? { ...shelf, nodes: [] };
    known.nodes.push(node);
    shelves.set(shelf.id, known);
  }
  return [...shelves].map(([id, { title, name, nodes }]) => ({
    ...{ id, title, error: null },
    sensors: sensorsOf(name, nodes).filter(({ kind }) => kind !== 'disk'),
  }));
}

const BAY = /^(.*\/bay=([^/]+))/;
/** TOPO_LED_TYPE_* */
const [SERVICE, LOCATE] = [0x0, 0x1];

export function topologySlots(text: string): Slot[] {
  const slots = new Map<string, { -readonly [K in keyof Slot]: Slot[K] }>();
  for (const node of parseTopology(text)) {
    const shelf = shelfOf(node);
    const [, path, number] = BAY.exec(node.path) ?? [];
    if (shelf === null || path === undefined || number === undefined) continue;
    const key = `${shelf.id} ${path}`;
    const slot = slots.get(key) ?? {
      ...{ enclosure: shelf.name, slot: number, disk: null, state: 'absent' as SensorState, lit: false },
    };
    slots.set(key, slot);
    const disk = node.properties.get('storage.logical-disk');
    // A disk that no driver has taken is a node without a name.
    if (/\/disk=[^/]+$/.test(node.path)) {
      slot.state = worse(slot.state, 'ok');
      if (disk !== undefined) slot.disk = `/dev/dsk/${disk}`;
    }
    if (node.path !== path || node.facility === null) continue;
    const on = code(node, 'mode') === 1;
    if (node.facility.kind === 'indicator' && code(node, 'type') === LOCATE) slot.lit = on;
    const fault =
      node.facility.kind === 'indicator'
        ? code(node, 'type') === SERVICE && on
        : node.facility.name === 'fault' && reading(node).state === 'critical';
    if (fault) slot.state = 'critical';
  }
  return [...slots.values()];
}

/** Base class and subclass of PCI, as the PCI Code and ID Assignment Specification has them; names as in pci.ids. */
const CARD_KINDS: Readonly<Record<string, string>> = {
  ...{ '0100': 'SCSI storage controller', '0104': 'RAID bus controller', '0106': 'SATA controller' },
  ...{ '0107': 'Serial Attached SCSI controller', '0108': 'Non-Volatile memory controller' },
  ...{ '0200': 'Ethernet controller', '0207': 'Infiniband controller', '0300': 'VGA compatible controller' },
  ...{ '0c03': 'USB controller', '0c04': 'Fibre Channel' },
};
const CLASSES: Readonly<Record<string, string>> = {
  ...{ '01': 'Storage controller', '02': 'Network controller', '03': 'Display controller', '04': 'Multimedia' },
  ...{ '07': 'Communication controller', '0c': 'Serial bus controller', '10': 'Encryption controller' },
  ...{ '12': 'Processing accelerator' },
};

/** Bridges and the processor's own parts are left out, as on Linux. */
export function topologyCards(text: string): Card[] {
  return parseTopology(text).flatMap((node): Card[] => {
    const numbers = /\/pci(?:ex)?bus=([^/]+)\/pci(?:ex)?dev=([^/]+)\/pci(?:ex)?fn=([^/]+)$/.exec(node.path);
    const property = (name: string) => node.properties.get(name) || null;
    // Written without leading zeros, in three bytes: base class, subclass, programming interface.
    const kind = (property('pci.class-code') ?? '').padStart(6, '0').slice(0, 4);
    const title = CARD_KINDS[kind] ?? CLASSES[kind.slice(0, 2)];
    if (numbers === null || node.facility !== null || property('pci.class-code') === null || title === undefined)
      return [];
    const names = [property('pci.vendor-name'), property('pci.device-name')].filter((one) => one !== null);
    const ids = [property('pci.vendor-id'), property('pci.device-id')].filter((one) => one !== null);
    return [
      {
        place: `bus ${numbers[1]}, device ${numbers[2]}, function ${numbers[3]}`,
        slot: property('protocol.label'),
        kind: title,
        title: names.join(' ') || ids.join(':'),
        driver: property('io.driver'),
      },
    ];
  });
}
