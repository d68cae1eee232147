// The flags of a daemon, with the meanings that they have for the Go daemons (services/daemon/flags.go), and the file that
// --config names. A flag wins over the file, the file over the environment.
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { type LogFormat, type LogLevel, logFormats, logLevels } from '../base/log.ts';
import { parseToml, type Setting } from './toml.ts';

export interface Flag {
  /** What stands for the value in --help; none: it needs no value. */
  readonly argument?: string;
  readonly help: string;
  /** What holds when it is not given; as --help shows it. */
  readonly usual: string;
  /** The environment's variable that it stands for. */
  readonly variable?: string;
  /** Throws an Error that says what is needed, when a value is not possible. */
  readonly check?: (value: string) => void;
}
export type Flags = Readonly<Record<string, Flag>>;

function oneOf(words: readonly string[]): (value: string) => void {
  return (value) => {
    if (!words.includes(value)) throw new Error(`must be one of ${words.join(', ')}`);
  };
}

/** Those of every daemon. */
export const commonFlags = {
  config: { argument: 'FILE', help: 'settings in TOML', usual: '' },
  socket: { argument: 'PATH', help: 'serve HTTP on this Unix socket (mode 0660)', usual: '' },
  'log-level': {
    argument: 'LEVEL',
    help: 'debug, info, warn or error: what is logged, and what is worse',
    usual: 'info',
    check: oneOf(logLevels),
  },
  'log-format': {
    argument: 'FORMAT',
    help: 'text or json: how a line of the log, on standard error, is written',
    usual: 'text',
    check: oneOf(logFormats),
  },
  version: { help: 'print the version', usual: '' },
} as const satisfies Flags;

/** The command line, the file or the environment is wrong: the process ends with 2. */
export class UsageError extends Error {}

export interface Settings {
  /** By the names of the daemon's own flags. */
  readonly values: ReadonlyMap<string, string>;
  readonly socket: string;
  readonly logLevel: LogLevel;
  readonly logFormat: LogFormat;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Not of a file: what names the file, and what asks for an answer. */
const OF_THE_COMMAND_LINE = ['config', 'version', 'help'];

function fileSettings(path: string, flags: Flags, name: string): Map<string, string> {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
      throw new UsageError(`the configuration file ${path} does not exist`);
    }
    throw new UsageError(`reading the configuration: ${(error as Error).message}`);
  }
  const settings = new Map<string, string>();
  try {
    for (const [key, { line, value }] of parseToml(text)) {
      const flag = key.replaceAll('_', '-');
      if (flags[flag] === undefined || OF_THE_COMMAND_LINE.includes(flag)) {
        throw new Error(`line ${line}: there is no setting ${key}; see ${name} --help`);
      }
      try {
        settings.set(flag, checked(flags[flag], value));
      } catch (error) {
        throw new Error(`line ${line}: ${key}: ${(error as Error).message}`);
      }
    }
  } catch (error) {
    throw new UsageError(`${path}, ${(error as Error).message}`);
  }
  return settings;
}

function checked(flag: Flag, given: Setting): string {
  const value = String(given);
  if (flag.argument === undefined && value !== 'true' && value !== 'false') throw new Error('must be true or false');
  flag.check?.(value);
  return value;
}

function helpText(about: string, flags: Flags): string {
  const lines = Object.entries(flags)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, { argument, help, usual, variable }]) => {
      const from = variable === undefined ? '' : ` (${variable})`;
      return `  --${`${name} ${argument ?? ''}`.trim().padEnd(23)} ${help}${usual && `; ${usual}`}${from}`;
    });
  return `${about}\n\nFlags, which win over the file of --config (the same names, with _ for -) and over the environment:\n\n${lines.join('\n')}\n`;
}

export interface Parsed {
  readonly settings: Settings;
  /** Printed instead of starting: --help or --version asked for it. */
  readonly answer?: string;
}

export interface Program {
  readonly name: string;
  readonly version: string;
  readonly about: string;
  /** Its own flags. */
  readonly flags: Flags;
  /** The default of --socket. */
  readonly socket: (values: ReadonlyMap<string, string>) => string;
}

export function parseFlags(program: Program, args: readonly string[], env: Environment): Parsed {
  const flags: Flags = { ...commonFlags, ...program.flags };
  const options: Record<string, { type: 'string' | 'boolean' }> = { help: { type: 'boolean' } };
  for (const [name, { argument }] of Object.entries(flags)) {
    options[name] = { type: argument === undefined ? 'boolean' : 'string' };
  }
  let given: Record<string, unknown>;
  try {
    given = parseArgs({ args: [...args], options, allowPositionals: false }).values;
  } catch (error) {
    throw new UsageError(`${(error as Error).message}; see ${program.name} --help`);
  }
  const values = new Map<string, string>();
  for (const [name, { usual, variable }] of Object.entries(flags)) {
    values.set(name, (variable !== undefined && env[variable]) || usual);
  }
  if (typeof given.config === 'string') {
    for (const [name, value] of fileSettings(given.config, flags, program.name)) values.set(name, value);
  }
  for (const [name, value] of Object.entries(given)) values.set(name, String(value));
  for (const [name, flag] of Object.entries(flags)) {
    const value = values.get(name) ?? '';
    if (value === '') continue;
    try {
      checked(flag, value);
    } catch (error) {
      const variable = flag.variable === undefined ? '' : ` or ${flag.variable}`;
      throw new UsageError(`--${name}${variable}=${value} ${(error as Error).message}`);
    }
  }
  const settings = {
    values,
    socket: values.get('socket') || program.socket(values),
    logLevel: values.get('log-level') as LogLevel,
    logFormat: values.get('log-format') as LogFormat,
  };
  if (given.help === true) return { settings, answer: helpText(program.about, flags) };
  if (given.version === true) return { settings, answer: `${program.version}\n` };
  return { settings };
}
