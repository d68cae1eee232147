// Who may come in by ssh, into the one account whose shell runs a fixed list of commands (services/execd/sshaccess).

/** A public key, as it was understood. */
export interface SshKey {
  readonly algorithm: string;
  /** Base64. */
  readonly encoded: string;
  /** SHA256:… */
  readonly fingerprint: string;
  readonly comment: string;
}

/** All of it: what was before is replaced. */
export type SshAccess =
  | { readonly enabled: false }
  | {
      readonly enabled: true;
      readonly untilMs: number;
      /** As 192.0.2.0/24. */
      readonly networks: readonly string[];
      readonly keys: readonly { readonly user: string; readonly key: string }[];
    };

export interface SshPlatform {
  /** Answers by which key clients know this machine again; null as long as it was never on. */
  configure(access: SshAccess): Promise<SshKey | null>;
  /** Throws what is wrong with a line of a .pub file. */
  checkKey(line: string): Promise<SshKey>;
}

/** Who comes in there is always this account. */
export const SSH_ACCOUNT = 'cistern-ssh';
export const SSH_PORT = 22;
