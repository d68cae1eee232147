// The configuration file, as the Go daemons read theirs (services/daemon/config): TOML, whose keys are the names of the flags
// with _ for -. That is a flat list of values; tables, arrays and text over many lines are no settings, and are refused.

export type Setting = string | number | boolean;
export interface Line {
  readonly line: number;
  readonly value: Setting;
}

const KEY = /^([A-Za-z0-9_-]+)\s*=\s*(.*)$/;
/** A value, and a comment behind it. */
const VALUE = /^("(?:[^"\\]|\\.)*"|'[^']*'|[^\s#"'[{]+)\s*(?:#.*)?$/;

function parsed(text: string): Setting | undefined {
  const [, word] = VALUE.exec(text) ?? [];
  if (word === undefined) return undefined;
  if (word.startsWith("'")) return word.slice(1, -1);
  if (word.startsWith('"')) {
    try {
      return JSON.parse(word) as string;
    } catch {
      return undefined;
    }
  }
  if (word === 'true' || word === 'false') return word === 'true';
  const number = word.replace(/(?<=\d)_(?=\d)/g, '');
  return /^[+-]?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(number) ? Number(number) : undefined;
}

/** The settings of a text by their keys. Its errors name the line. */
export function parseToml(text: string): Map<string, Line> {
  const settings = new Map<string, Line>();
  for (const [at, raw] of text.split(/\r?\n/).entries()) {
    const content = raw.trim();
    if (content === '' || content.startsWith('#')) continue;
    const line = at + 1;
    const [, key, rest] = KEY.exec(content) ?? [];
    if (key === undefined || rest === undefined) throw new Error(`line ${line}: this is not KEY = VALUE`);
    if (settings.has(key)) throw new Error(`line ${line}: ${key} is set twice`);
    const value = parsed(rest);
    if (value === undefined)
      throw new Error(`line ${line}: ${key}: a text in quotes, a number, true or false is needed`);
    settings.set(key, { line, value });
  }
  return settings;
}
