// What was asked for at the console: a file in a folder that root alone may write (docs/FORMATS.md, console/let-in.json), left by
// `cistern let-in` (services/cmd/cistern/let_in.go). That root wrote it is the proof that somebody was at the console: it is taken
// from the open file, so that nothing can be put in its place after it was looked at.
import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from 'node:fs';
import { dirname } from 'node:path';
import { closed, type Static, Type } from '../../base/schema/schema.ts';
import { fits } from '../../base/validate.ts';

const Request = closed({
  version: Type.Literal(1),
  id: Type.String({ pattern: '^[0-9a-f]{32}$' }),
  /** As it was typed: perhaps nobody's. */
  user: Type.String({ pattern: '^[^\\u0000-\\u001f\\u007f]{1,64}$' }),
  /** Of the one-time password, which only the console has shown. */
  passwordHash: Type.String({
    pattern: '^\\$argon2id\\$v=19\\$m=19456,t=2,p=1\\$[A-Za-z0-9+/]{22}\\$[A-Za-z0-9+/]{43}$',
  }),
  console: Type.String({ pattern: '^[A-Za-z0-9/._-]{1,32}$' }),
  at: Type.String(),
});
export type Request = Static<typeof Request>;

const ROOT = 0;
const WRITABLE_BY_OTHERS = 0o022;
const LARGEST = 4096;

function mustBeRoots(path: string, { uid, mode }: Stats): void {
  if (uid !== ROOT) throw new Error(`${path} belongs to the user ${uid}, and not to root`);
  if ((mode & WRITABLE_BY_OTHERS) !== 0) throw new Error(`${path} can be written by others than root`);
}

/**
 * Undefined: there is no request, or it is the one with the mark `known`, which was read before. Throws when the file cannot be
 * trusted.
 */
export function readRequest(path: string, known: string): { request: Request; mark: string } | undefined {
  const opened: number[] = [];
  const open = (name: string, flags: number) => {
    const file = openSync(name, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | flags);
    opened.push(file);
    return file;
  };
  try {
    mustBeRoots(dirname(path), fstatSync(open(dirname(path), constants.O_DIRECTORY)));
    const file = open(path, 0);
    const found = fstatSync(file);
    const mark = `${found.ino} ${found.size} ${found.mtimeMs}`;
    if (mark === known) return undefined;
    mustBeRoots(path, found);
    if (!found.isFile() || found.nlink !== 1) throw new Error(`${path} is no file of its own`);
    if (found.size > LARGEST) throw new Error(`${path} has ${found.size} bytes`);
    const content = Buffer.alloc(LARGEST);
    const request: unknown = JSON.parse(content.toString('utf8', 0, readSync(file, content)));
    if (!fits(Request, request)) throw new Error(`${path} is no request that this version knows`);
    return { request: request as Request, mark };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  } finally {
    for (const file of opened) closeSync(file);
  }
}
