// One line an event, to standard error, as the Go daemons write theirs (services/daemon/log): text is key=value, JSON an
// object. What is given here is printed: callers never pass a secret, and values are cut so that no client can flood it.
import { fstatSync } from 'node:fs';
import process from 'node:process';
import type { LogKey } from './log-keys.ts';

export type Fields = Partial<Record<LogKey, string | number | boolean | null>>;
export type LogFormat = 'text' | 'json';

/** Worst first. `priority` is syslog's. */
const levels = {
  error: { name: 'ERROR', priority: 3 },
  warn: { name: 'WARN', priority: 4 },
  info: { name: 'INFO', priority: 6 },
  debug: { name: 'DEBUG', priority: 7 },
} as const;
export type LogLevel = keyof typeof levels;
export const logLevels = Object.keys(levels) as readonly LogLevel[];
export const logFormats: readonly LogFormat[] = ['text', 'json'];

export type Log = Readonly<Record<LogLevel, (message: string, fields?: Fields) => void>>;

const MAX_VALUE = 500;
/** A stack has many frames, and each counts. */
const MAX_ERROR = 8_000;

function value(key: string, given: unknown): unknown {
  const max = key === 'error' ? MAX_ERROR : MAX_VALUE;
  return typeof given === 'string' ? given.slice(0, max) : given;
}

/** As log/slog quotes: what could be taken for two words, or for a key, and what cannot be read. */
function quoted(given: unknown): string {
  const text = String(given);
  return /^[^\s"=\p{C}]+$/u.test(text) ? text : JSON.stringify(text);
}

function line(format: LogFormat, level: LogLevel, message: string, fields: Fields): string {
  const all: [string, unknown][] = [
    ['time', new Date().toISOString()],
    ['level', levels[level].name],
    ['msg', message],
    ...Object.entries(fields)
      .filter(([, given]) => given !== undefined)
      .map(([key, given]): [string, unknown] => [key, value(key, given)]),
  ];
  if (format === 'json') return `${JSON.stringify(Object.fromEntries(all))}\n`;
  return `${all.map(([key, given]) => `${key}=${quoted(given)}`).join(' ')}\n`;
}

/**
 * Whether the file is the stream of systemd's journal that `stream`, $JOURNAL_STREAM, names as "DEVICE:INODE". A child
 * whose standard error goes elsewhere inherits the variable too, which is why systemd.exec(5) has both compared.
 */
export function connectedToJournal(file: number, stream: string | undefined): boolean {
  if (stream === undefined || stream === '' || process.platform !== 'linux') return false;
  try {
    const { dev, ino } = fstatSync(file, { bigint: true });
    return stream === `${dev}:${ino}`;
  } catch {
    return false;
  }
}

export interface LogOptions {
  /** This and worse is written. */
  readonly level?: LogLevel;
  readonly format?: LogFormat;
  /** Lines begin with their priority, which the journal takes off and keeps as the entry's. */
  readonly journal?: boolean;
}

export function logTo(
  write: (text: string) => void,
  { level: least = 'info', format = 'text', journal = false }: LogOptions = {},
): Log {
  const at = (level: LogLevel) => {
    if (logLevels.indexOf(level) > logLevels.indexOf(least)) return () => {};
    const before = journal ? `<${levels[level].priority}>` : '';
    return (message: string, fields: Fields = {}) => write(before + line(format, level, message, fields));
  };
  return { error: at('error'), warn: at('warn'), info: at('info'), debug: at('debug') };
}

/** The log of this process. */
export function standardLog(options: Omit<LogOptions, 'journal'> = {}): Log {
  const journal = connectedToJournal(process.stderr.fd, process.env.JOURNAL_STREAM);
  return logTo((text) => process.stderr.write(text), { ...options, journal });
}

export const silentLog = logTo(() => {});
