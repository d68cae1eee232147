// A file system or a volume, as the pages and the command see it.
import {
  Bytes,
  Count,
  closed,
  component,
  Etag,
  nullable,
  Ratio,
  type Static,
  Time,
  Type,
} from '../../base/schema/schema.ts';

export const DatasetName = Type.String({ minLength: 1, maxLength: 255, description: 'POOL/NAME' });
export const OneDataset = closed({ name: DatasetName });

const Kind = Type.Enum(['filesystem', 'volume']);

export const Dataset = component('Dataset', {
  name: Type.String(),
  pool: Type.String(),
  kind: Kind,
  depth: Type.Integer({ minimum: 0, description: 'how many levels below its pool' }),
  system: Type.Boolean({ description: 'the appliance itself lives on it; it is not changed from here' }),
  telemetry: Type.Boolean({ description: 'the measurements are on it' }),
  used: Type.Integer({ minimum: 0, description: 'bytes, with all below it and its snapshots' }),
  available: Bytes,
  referenced: Type.Integer({ minimum: 0, description: 'bytes of what it holds now' }),
  usedBySnapshots: Type.Integer({ minimum: 0, description: 'bytes that only its snapshots hold' }),
  compression: Type.String(),
  compressRatio: Type.Number({ minimum: 0 }),
  quota: nullable(closed({ bytes: Bytes, used: Bytes, ratio: Ratio })),
  volumeBytes: nullable(Bytes),
  mountpoint: nullable(Type.String()),
  mounted: Type.Boolean(),
  origin: nullable(Type.String({ description: 'the snapshot it is a clone of' })),
  encrypted: Type.Boolean(),
  encryptionRoot: nullable(Type.String({ description: 'the dataset whose key it is encrypted with' })),
  keyStatus: Type.Enum(['none', 'available', 'unavailable']),
  snapshots: Count,
  children: Count,
  createdAt: Time,
});
export type Dataset = Static<typeof Dataset>;

export const Property = component('DatasetProperty', {
  name: Type.String(),
  value: Type.String({ description: 'sizes in bytes; 0 or none where there is no limit' }),
  source: Type.Enum(['local', 'inherited', 'default', 'received', 'temporary', 'none']),
  from: nullable(Type.String({ description: 'the dataset an inherited value comes from' })),
  settable: Type.Boolean(),
  inheritable: Type.Boolean({ description: 'resetting it takes the value of the dataset above' }),
  explanation: nullable(Type.String()),
});
export type Property = Static<typeof Property>;

export const DatasetDetail = component('DatasetDetail', {
  ...Dataset.properties,
  etag: Etag,
  state: Type.Enum(['ok', 'info', 'warning', 'critical']),
  sentence: Type.String(),
  keyFormat: nullable(Type.Enum(['passphrase', 'keyFile'])),
  properties: Type.Array(Property),
});
export type DatasetDetail = Static<typeof DatasetDetail>;

/** What a change sets: each property that can be set, with whether it is the dataset's own. */
export const editableProperties = ({ properties }: DatasetDetail) =>
  Object.fromEntries(
    properties.filter(({ settable }) => settable).map(({ name, value, source }) => [name, [value, source]]),
  );

const Paging = {
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, description: '50 when left out' })),
  offset: Type.Optional(Type.Integer({ minimum: 0 })),
  order: Type.Optional(Type.Enum(['up', 'down'])),
  search: Type.Optional(Type.String({ maxLength: 255, description: 'a part of the name' })),
};

export { Paging };

export const DatasetQuery = closed({
  ...Paging,
  under: Type.Optional(Type.String({ maxLength: 255, description: 'this dataset and all below it' })),
  kind: Type.Optional(Kind),
  sort: Type.Optional(Type.Enum(['name', 'used', 'available', 'ratio', 'quota', 'snapshots'])),
});
export type DatasetQuery = Static<typeof DatasetQuery>;

export const Page = {
  total: Type.Integer({ minimum: 0, description: 'how many there are with this filter' }),
  offset: Count,
  generation: Type.Integer({ description: 'changes whenever anything of what is listed has changed' }),
  ageSeconds: Type.Number(),
  error: nullable(Type.String()),
};
export const DatasetPage = closed({ items: Type.Array(Dataset), ...Page }, { $id: 'DatasetPage' });

const Properties = Type.Record(Type.String({ maxLength: 64 }), Type.String({ maxLength: 1024 }), {
  description: 'by name; sizes in bytes, `none` for no limit',
});
const Passphrase = Type.String({ minLength: 8, maxLength: 512 });
export const Encryption = component('DatasetEncryption', {
  format: Type.Enum(['passphrase', 'keyFile']),
  passphrase: Type.Optional(Passphrase),
});

export const NewDataset = component('NewDataset', {
  name: DatasetName,
  kind: Kind,
  volumeBytes: Type.Optional(Type.Integer({ minimum: 1 })),
  sparse: Type.Optional(Type.Boolean({ description: 'a volume without reserved space' })),
  properties: Type.Optional(Properties),
  encryption: Type.Optional(Encryption),
});
export type NewDataset = Static<typeof NewDataset>;

export const DatasetChange = component('DatasetChange', {
  set: Type.Optional(Properties),
  inherit: Type.Optional(Type.Array(Type.String({ maxLength: 64 }), { maxItems: 64 })),
});
export type DatasetChange = Static<typeof DatasetChange>;

export const Rename = closed({ to: Type.String({ minLength: 1, maxLength: 255 }) });
export const DestroyDataset = closed({
  confirm: Type.String({ description: 'its name, again' }),
  recursive: Type.Boolean({ description: 'with all below it and with its snapshots' }),
});

export const LoadKeyInput = component('LoadKeyInput', {
  passphrase: Type.Optional(Type.String({ maxLength: 512, description: 'left out when the key is in a file' })),
});
export const ChangeKeyInput = component('ChangeKeyInput', { encryption: Encryption });
export type KeyChange =
  | { readonly action: 'load'; readonly passphrase?: string }
  | { readonly action: 'unload' }
  | { readonly action: 'change'; readonly encryption: Static<typeof Encryption> };

export const Hindrances = component('Hindrances', {
  datasets: Count,
  snapshots: Count,
  bytes: Type.Integer({ minimum: 0, description: 'what is freed' }),
  refused: nullable(Type.String({ description: 'why it can never be destroyed' })),
  items: Type.Array(closed({ path: Type.String(), message: Type.String() }), {
    description: 'what has to be destroyed or released first, even when it is destroyed with all below it',
  }),
});
export type Hindrances = Static<typeof Hindrances>;

export const EstimateInput = closed({
  bytes: Type.Optional(
    Type.Integer({ minimum: 2 ** 20, maximum: 2 ** 30, description: 'how much to read; 64 MiB when left out' }),
  ),
});

export const CompressionEstimate = component('CompressionEstimate', {
  sampledBytes: Bytes,
  sampledBlocks: Count,
  holes: Count,
  blockBytes: Bytes,
  levels: Type.Array(
    closed({
      compression: Type.String(),
      ratio: Type.Number(),
      nanosecondsPerByte: Type.Number(),
      sentence: Type.String(),
    }),
  ),
});
export type CompressionEstimate = Static<typeof CompressionEstimate>;
