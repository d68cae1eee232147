// What was used at supportd's own sign-in, which works without akd: a code that was taken there is taken nowhere again.
// supportd writes the file (services/support/web/factors.go), and reads what was used here in administrators.json.
import { readFileSync, statSync } from 'node:fs';
import type { Log } from '../../base/log.ts';

export interface UsedThere {
  /** The last step that was taken, by factor. */
  readonly steps: Readonly<Record<string, number>>;
  readonly recoveryCodes: readonly { user: string; hash: string; from: string }[];
}

const VERSION = 1;

export class UsedThereFile {
  readonly #path: string;
  readonly #log: Log;
  #seen = '';

  constructor(path: string, log: Log) {
    this.#path = path;
    this.#log = log;
  }

  /** Null when there is nothing that was not read before. */
  readNew(): UsedThere | null {
    try {
      const { ino, size, mtimeNs } = statSync(this.#path, { bigint: true });
      const now = `${ino} ${size} ${mtimeNs}`;
      if (now === this.#seen) return null;
      const content = JSON.parse(readFileSync(this.#path, 'utf8'));
      if (content.version !== VERSION) throw new Error(`its version is ${content.version}, and not ${VERSION}`);
      const read = { steps: { ...content.steps }, recoveryCodes: [...content.recoveryCodes] };
      this.#seen = now;
      return read;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
      const fields = { path: this.#path, error: (error as Error).message };
      this.#log.warn('which codes were used at the sign-in of supportd is not known', fields);
      return null;
    }
  }
}
