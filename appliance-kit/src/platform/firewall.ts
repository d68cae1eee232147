// Who may reach the machine from the network: the document that execd keeps, tries and compares with what is really loaded.

export interface FirewallPort {
  readonly protocol: 'tcp' | 'udp';
  readonly port: number;
}

export interface FirewallService {
  readonly name: string;
  /** None: it is off, and keeps its networks. */
  readonly ports: readonly FirewallPort[];
  /** As 192.0.2.0/24, and `own` for those that the machine has an address in; none: everybody. */
  readonly networks: readonly string[];
}

export interface FirewallDocument {
  readonly version: 1;
  readonly services: readonly FirewallService[];
}

/** Somebody whose packets were dropped within the last hour. */
export interface FirewallSender extends FirewallPort {
  readonly address: string;
  readonly packets: number;
  /** The first of them, so long ago. */
  readonly sinceSeconds: number;
}

export interface FirewallState {
  readonly kept: FirewallDocument;
  /** `default`: none was ever kept; `broken`: what was kept cannot be read, and the default holds. */
  readonly origin: 'kept' | 'default' | 'broken';
  readonly tried: { readonly document: FirewallDocument; readonly secondsLeft: number } | null;
  /** What `own` stands for. */
  readonly own: readonly string[];
  /** What was loaded and should not have been, or the other way round; it has been loaded anew. */
  readonly differs: readonly string[];
  /** Packets by service, and `other`, since counting began. */
  readonly dropped: Readonly<Record<string, number>>;
  /** Packets of connections that were one too many of their address, by service; null where the system has no such limit. */
  readonly overLimit: Readonly<Record<string, number>> | null;
  /** Null where the system does not remember them. */
  readonly senders: readonly FirewallSender[] | null;
  /** There were more than are remembered. */
  readonly sendersFull: boolean;
}

export interface FirewallPlatform {
  read(): Promise<FirewallState>;
  /** The document holds for so many seconds, then the kept one does again; answers what confirming needs. */
  try(document: FirewallDocument, seconds: number): Promise<string>;
  confirm(token: string): Promise<void>;
  takeBack(token: string): Promise<void>;
  /** Keeps a document at once; refused when it changes who may open the page. */
  set(document: FirewallDocument): Promise<void>;
  /** Whether the system's own sshd takes connections. */
  sshListens(): Promise<boolean>;
}
