// One line an event, to standard error, as `level message key=value …`. The service manager adds time and name.
// What is given here is printed: callers never pass a secret, and values are cut so that no client can flood it.
import process from 'node:process';

export type Fields = Record<string, string | number | boolean | null | undefined>;
export interface Log {
  info(message: string, fields?: Fields): void;
  warn(message: string, fields?: Fields): void;
  error(message: string, fields?: Fields): void;
}

const LONGEST = 500;

function line(level: string, message: string, fields: Fields): string {
  const parts = Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => `${key}=${JSON.stringify(typeof value === 'string' ? value.slice(0, LONGEST) : value)}`);
  return `${[level, message.replace(/\s+/g, ' '), ...parts].join(' ')}\n`;
}

function logTo(write: (text: string) => void): Log {
  const at =
    (level: string) =>
    (message: string, fields: Fields = {}) =>
      write(line(level, message, fields));
  return { info: at('info'), warn: at('warn'), error: at('error') };
}

export const standardLog = logTo((text) => process.stderr.write(text));
export const silentLog = logTo(() => {});
