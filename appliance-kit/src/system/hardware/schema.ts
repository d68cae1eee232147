// The machine's parts: what they are, how they are, and what errors they have reported.
import { Bytes, Count, closed, component, nullable, type Static, Time, Type } from '../../base/schema/schema.ts';
import { ERROR_KINDS, SENSOR_KINDS } from '../../platform/hardware.ts';

const text = (description: string) => nullable(Type.String({ description }));
const State = Type.Enum(['ok', 'warning', 'critical', 'absent']);

const Summary = component('HardwareSummary', {
  maker: text('of the machine, as its firmware has it; null: it does not say, as with those below'),
  product: text('the model'),
  serial: text('printed on the machine'),
  assetTag: text('what its owner has written into the firmware'),
  board: closed({ maker: text('of the main board'), product: text('the model'), serial: text('printed on it') }),
  firmware: closed({
    kind: nullable(Type.Enum(['uefi', 'bios'], { description: 'what the system was started by' })),
    maker: text('of the firmware'),
    version: text('of the firmware'),
    date: text('as the firmware writes it'),
  }),
  microcode: text('of the processors, hexadecimal'),
  secureBoot: nullable(
    Type.Enum(['on', 'off', 'setup', 'none'], {
      description:
        '`setup`: it waits for keys; `none`: the firmware has no Secure Boot, or the system was started by BIOS',
    }),
  ),
  lockdown: text('what the kernel keeps even root from: none, integrity or confidentiality'),
});

const Processor = component('HardwareProcessor', {
  socket: Type.String(),
  model: text('as it calls itself'),
  cores: nullable(Count),
  threads: nullable(Count),
});

const MemoryModule = component('HardwareMemoryModule', {
  slot: Type.String(),
  bytes: nullable(Type.Integer({ minimum: 0, description: 'bytes; null: the slot is empty' })),
  kind: text('DDR4'),
  megatransfers: nullable(Type.Integer({ minimum: 0, description: 'millions of transfers a second' })),
  maker: text('of the module'),
  part: text('the maker’s number of the model'),
  serial: text('printed on the module'),
});

const Card = component('HardwareCard', {
  place: Type.String({
    description: 'on the PCI bus: 0000:01:00.0. The same after each start, as long as it stays in its slot',
  }),
  slot: text('as printed on the board'),
  kind: Type.String(),
  title: Type.String(),
  driver: text('null: none, and the system cannot use the card'),
});

const Port = component('HardwarePort', {
  name: Type.String(),
  place: text('of its card, as HardwareCard’s'),
  driver: text('the kernel’s'),
  firmware: text('version of what runs on the card'),
  mac: text('its hardware address'),
  packets: Type.Integer({ minimum: 0, description: 'received and sent since the start' }),
  errors: Type.Integer({ minimum: 0, description: 'of those' }),
});

export const HardwareSensor = component('HardwareSensor', {
  name: Type.String(),
  kind: Type.Enum([...SENSOR_KINDS]),
  state: State,
  value: nullable(Type.Number({ description: 'in `unit`; null: it only says how it is' })),
  unit: Type.String({ description: '°C, V, A, W, rpm or %; empty without a value' }),
  reports: Type.Array(Type.String(), { description: 'in the controller’s words' }),
  lowest: nullable(Type.Number({ description: 'limit in `unit`' })),
  highest: nullable(Type.Number({ description: 'limit in `unit`' })),
});

const Controller = component('HardwareController', {
  state: Type.Enum(['none', 'answers', 'silent', 'asked'], {
    description: '`none`: the machine has no management controller; `asked`: it has not answered yet',
  }),
  sentence: Type.String(),
  maker: text('of the controller'),
  firmware: text('version'),
  address: text('where its own web page is'),
  mac: text('its hardware address'),
  logUsedRatio: nullable(Type.Number({ minimum: 0, maximum: 1, description: 'of its event log, 0..1' })),
  chassis: Type.Array(Type.String(), {
    description: 'what it says of the chassis that is not as it should be, where no sensor says more',
  }),
  ageSeconds: Type.Number({ description: 'of what the sensors said' }),
});

export const HardwareErrors = component('HardwareErrors', {
  part: Type.String({ description: 'names it in POST /api/hardware/errors/{part}/clear' }),
  kind: Type.Enum([...ERROR_KINDS, 'link']),
  title: Type.String(),
  state: State,
  corrected: Type.Integer({ minimum: 0, description: 'since the start, or since they were cleared' }),
  uncorrected: Type.Integer({ minimum: 0, description: 'as `corrected`; of a link: packets that were lost' }),
  detail: Type.String({ description: 'of the last one, in the system’s words' }),
  clearedAt: nullable(Time),
});

const Slot = component('HardwareSlot', {
  enclosure: Type.String(),
  slot: Type.String(),
  disk: text('the id of the disk in it'),
  state: State,
  lit: Type.Boolean(),
});

const Enclosure = component('HardwareEnclosure', {
  id: Type.String({ description: 'where the system has it' }),
  title: Type.String(),
  error: text('why it has said nothing when it was asked for its sensors; null: it has, or it has none'),
});

const Watchdog = component('HardwareWatchdog', {
  title: Type.String(),
  active: Type.Boolean(),
  seconds: nullable(
    Type.Number({ description: 'after as many seconds without a sign of life it restarts the machine' }),
  ),
});

export const HardwareChange = component('HardwareChange', { at: Time, text: Type.String() });
export type HardwareChange = Static<typeof HardwareChange>;

export const Hardware = component('Hardware', {
  state: Type.Enum(['ok', 'warning', 'critical']),
  sentence: Type.String(),
  summary: nullable(Summary),
  memoryBytes: nullable(Bytes),
  processors: Type.Array(Processor),
  memory: Type.Array(MemoryModule),
  cards: Type.Array(Card),
  ports: Type.Array(Port),
  controller: Controller,
  sensors: Type.Array(HardwareSensor),
  errors: Type.Array(HardwareErrors),
  enclosures: Type.Array(Enclosure, {
    description: 'shelves that tell of their parts (SCSI Enclosure Services); what they say is in `sensors`',
  }),
  slots: Type.Array(Slot),
  watchdogs: Type.Array(Watchdog),
  changes: Type.Array(HardwareChange, { description: 'the newest first; at most 50' }),
  problems: Type.Array(Type.String(), { description: 'what could not be asked, and why' }),
});
export type Hardware = Static<typeof Hardware>;

export const HardwareEvent = component('HardwareEvent', {
  number: Type.Integer({ minimum: 0, description: 'in the controller’s log' }),
  at: nullable(Time),
  sensor: Type.String(),
  text: Type.String(),
  over: Type.Boolean({ description: 'the end of what was reported before' }),
  state: State,
});
export const HardwareEventList = closed(
  { items: Type.Array(HardwareEvent), ageSeconds: Type.Number(), error: nullable(Type.String()) },
  { $id: 'HardwareEventList' },
);
export const byPart = closed({ part: Type.String({ minLength: 1, maxLength: 256 }) });
