// Names by which applications say how they do, with no configuration: OpenTelemetry's semantic conventions 1.45, "HTTP metrics",
// "RPC metrics", "Database metrics", and what came before them and is still sent (1.20). The manual's table
// (docs/manual/applications.md) is of this.

export const KINDS = ['http', 'rpc', 'database', 'names', 'log'] as const;
export type Kind = (typeof KINDS)[number];

export type Unit = 'seconds' | 'milliseconds';

export interface Convention {
  readonly kind: Exclude<Kind, 'names' | 'log'>;
  /** A histogram of how long an operation took, as OpenTelemetry writes it. */
  readonly metric: string;
  readonly unit: Unit;
  /** Labels that name an operation. */
  readonly operation: readonly string[];
  /** Matchers of what failed; none of them matches what another one does. */
  readonly errors: readonly (readonly Matcher[])[];
}

export interface Matcher {
  readonly label: string;
  readonly how: '=' | '!=' | '=~';
  readonly value: string;
}

const failed: Matcher = { label: 'error.type', how: '!=', value: '' };
const noType: Matcher = { label: 'error.type', how: '=', value: '' };

/** What of gRPC's codes is the server's fault: unknown, deadline exceeded, unimplemented, internal, unavailable, data loss. */
const GRPC_FAILURES = '2|4|12|13|14|15';

export const CONVENTIONS: readonly Convention[] = [
  {
    ...{ kind: 'http', metric: 'http.server.request.duration', unit: 'seconds' },
    operation: ['http.request.method', 'http.route'],
    // The type of an error is the status when there is no better word; some libraries leave it out.
    errors: [[failed], [noType, { label: 'http.response.status_code', how: '=~', value: '5..' }]],
  },
  {
    ...{ kind: 'http', metric: 'http.server.duration', unit: 'milliseconds' },
    operation: ['http.method', 'http.route'],
    errors: [[{ label: 'http.status_code', how: '=~', value: '5..' }]],
  },
  {
    ...{ kind: 'rpc', metric: 'rpc.server.call.duration', unit: 'seconds' },
    operation: ['rpc.method'],
    errors: [[failed]],
  },
  {
    ...{ kind: 'rpc', metric: 'rpc.server.duration', unit: 'milliseconds' },
    operation: ['rpc.service', 'rpc.method'],
    errors: [[{ label: 'rpc.grpc.status_code', how: '=~', value: GRPC_FAILURES }]],
  },
  {
    ...{ kind: 'database', metric: 'db.client.operation.duration', unit: 'seconds' },
    operation: ['db.system.name', 'db.operation.name', 'db.collection.name'],
    errors: [[failed]],
  },
];

/** OpenTelemetry's service.name, with the namespace before it: docs/api/inputs.md, "OpenTelemetry". */
export const APPLICATION_LABEL = 'job';

const escaped = (name: string) => name.replace(/[^A-Za-z0-9_:]/g, '_');

/** A convention's metric as it is stored. */
export interface Source {
  readonly convention: Convention;
  readonly name: string;
  /** A counter for each bucket, as Prometheus scrapes it from those without native histograms. */
  readonly classic: boolean;
  /** How a label of OpenTelemetry is written beside this name. */
  readonly label: (name: string) => string;
}

interface Stored {
  readonly name: string;
  readonly type: string;
}

/** Where the metrics of conventions are, whichever translation wrote their names (docs/api/inputs.md, "OpenTelemetry"). */
export function sourcesOf(metrics: readonly Stored[]): Source[] {
  const types = new Map(metrics.map(({ name, type }) => [name, type]));
  return CONVENTIONS.flatMap((convention) => {
    const { metric, unit } = convention;
    const names = [metric, escaped(metric)].flatMap((name) => [name, `${name}_${unit}`]);
    return names.flatMap((name): Source[] => {
      const label = name.includes('.') ? (one: string) => one : escaped;
      if (types.get(name)?.endsWith('histogram')) return [{ convention, name, classic: false, label }];
      return types.has(`${name}_bucket`) && types.has(`${name}_count`)
        ? [{ convention, name, classic: true, label }]
        : [];
    });
  });
}
