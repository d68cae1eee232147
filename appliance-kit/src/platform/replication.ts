// What the management plane needs of replication: docs/api/replicd.md. One snapshot of one dataset at a time;
// when, which, and what is given up afterwards is decided by src/replication.
export interface ReplicationTarget {
  readonly kind: 'here' | 'ssh';
  readonly host?: string;
  readonly port?: number;
  readonly user?: string;
  /** As in known_hosts without the name. Nothing is sent to a machine that has another. */
  readonly hostKey?: string;
  readonly dataset: string;
}

export interface ReplicationIdentity {
  /** A line for authorized_keys: this appliance signs in elsewhere with it. */
  readonly publicKey: string;
  readonly fingerprint: string;
  /** What others see when they replicate to here. */
  readonly hostKey: string;
  readonly hostFingerprint: string;
  /** 0: replication to here is off. */
  readonly port: number;
  /** Why it does not listen although it should; "" otherwise. */
  readonly failure: string;
}

export interface TargetLook {
  readonly cistern: { readonly product: string; readonly version: string; readonly under: string } | null;
  readonly dataset: {
    readonly exists: boolean;
    readonly partial: boolean;
    readonly snapshots: readonly { readonly name: string; readonly guid: string }[];
  };
}

export interface SendOrder {
  readonly dataset: string;
  /** Behind the @. */
  readonly snapshot: string;
  readonly target: ReplicationTarget;
  readonly intermediate: boolean;
  /** 0: as fast as it goes. */
  readonly bytesPerSecond: number;
}

export interface SendProgress {
  readonly phase: string;
  readonly text: string;
  readonly sent: number;
  /** An estimate; missing when there is none. */
  readonly total?: number;
}

export interface Sent {
  readonly bytes: number;
  readonly from: string;
  readonly resumed: boolean;
  readonly nothing: boolean;
}

export interface AcceptedSender {
  readonly name: string;
  readonly publicKey: string;
  readonly under: string;
}

export interface ReplicationPlatform {
  identity(): Promise<ReplicationIdentity>;
  hostKey(host: string, port: number): Promise<{ hostKey: string; fingerprint: string }>;
  look(target: ReplicationTarget): Promise<TargetLook>;
  /** What the replication may do with a dataset and what lies below it: exactly this. */
  allow(dataset: string, may: { send: boolean; receive: boolean }): Promise<void>;
  send(order: SendOrder, onProgress: (progress: SendProgress) => void, signal: AbortSignal): Promise<Sent>;
  /** Replaces who may replicate to here; port 0 ends it. */
  accept(port: number, senders: readonly AcceptedSender[]): Promise<void>;
}
