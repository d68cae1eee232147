// Sealing with a passphrase, in the format of age (https://age-encryption.org/v1): `cistern age` does it, a process of its own.
// A guess costs 256 MiB and a second by design, which neither this process' memory nor its only thread is to pay.
import { spawn } from 'node:child_process';
import { fail } from '../../base/problems/problem.ts';

const DEADLINE_MS = 60_000;
/** What `cistern age open` exits with. */
const WRONG_PASSPHRASE = 3;
const NOT_AGE = 4;

export class Age {
  readonly #command: string;
  /** One at a time: each takes the memory. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(command: string) {
    this.#command = command;
  }

  async #run(verb: 'seal' | 'open', passphrase: string, content: string): Promise<string> {
    const run = this.#turn.then(() => this.#once(verb, passphrase, content));
    this.#turn = run.catch(() => {});
    return run;
  }

  #once(verb: 'seal' | 'open', passphrase: string, content: string): Promise<string> {
    return new Promise((resolve, reject) => {
      const child = spawn(this.#command, ['age', verb], { stdio: 'pipe', timeout: DEADLINE_MS });
      const out: Buffer[] = [];
      let said = '';
      child.stdout.on('data', (chunk: Buffer) => void out.push(chunk));
      child.stderr.setEncoding('utf8').on('data', (text: string) => {
        said = (said + text).slice(0, 1000);
      });
      child.on('error', (error) =>
        reject(fail('command_failed', `The secrets could not be sealed: ${error.message}.`)),
      );
      child.on('close', (code) => {
        if (code === 0) resolve(Buffer.concat(out).toString('utf8'));
        else if (code === WRONG_PASSPHRASE) {
          reject(
            fail(
              'wrong_passphrase',
              'The passphrase does not open the secrets of the document.',
              'Give the one that it was exported with. Without it all else can be applied, and the secrets entered again.',
              [{ path: '/passphrase', message: 'is wrong' }],
            ),
          );
        } else if (code === NOT_AGE) {
          const message = 'is no age file, or is damaged';
          reject(
            fail('invalid_request', `The secrets of the document ${message}.`, 'Export the document again.', [
              { path: '/document/sealed', message },
            ]),
          );
        } else
          reject(fail('command_failed', `The secrets could not be ${verb}ed: ${said.trim() || `exit code ${code}`}.`));
      });
      // A child that is gone already has said why.
      child.stdin.on('error', () => {});
      child.stdin.end(`${passphrase}\n${content}`);
    });
  }

  seal(passphrase: string, content: string): Promise<string> {
    return this.#run('seal', passphrase, content);
  }

  /** Throws `wrong_passphrase`. */
  open(passphrase: string, sealed: string): Promise<string> {
    return this.#run('open', passphrase, sealed);
  }
}
