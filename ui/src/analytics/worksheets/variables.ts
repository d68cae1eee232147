// A worksheet's variables: $name in an expression stands for the chosen values of a label, so that one worksheet serves many
// hosts. $__interval and $__rate_interval are the time between two points of the chart, and a window in which a rate has values.
import type { Schemas } from '../../api/client.ts';

export type Variable = Schemas['WorksheetVariable'];
/** What is chosen of each; a variable that is not in it has all values. */
export type Chosen = Readonly<Record<string, readonly string[]>>;

/** As Grafana has it: whatever is sent every 15 s has a sample or two in such a window. */
const SENT_EVERY = 15;

const escapedForRegex = (text: string) => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
const escapedForText = (text: string) => text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');

const NAME = /\$(?:\{([a-zA-Z_][a-zA-Z0-9_]*)\}|([a-zA-Z_][a-zA-Z0-9_]*))/g;
/** A matcher's operator, if there is one, and a text in quotes; or what is outside of texts. */
const PIECES = /(!=|=~|!~|=)?(\s*)"((?:[^"\\]|\\.)*)"|[^"]+?(?=!=|=~|!~|=|")|[^"]+|"/g;

function inText(text: string, chosen: Chosen, known: ReadonlySet<string>, regex: boolean): string {
  return text.replace(NAME, (whole, braced?: string, bare?: string) => {
    const name = (braced ?? bare) as string;
    if (!known.has(name)) return whole;
    const values = chosen[name] ?? [];
    if (!regex) return escapedForText(values[0] ?? '');
    if (values.length === 0) return '.*';
    const parts = values.map((value) => escapedForText(escapedForRegex(value)));
    return parts.length === 1 ? (parts[0] as string) : `(?:${parts.join('|')})`;
  });
}

/**
 * The expression with what is chosen in place of its variables. `label="$name"` becomes `label=~"…"` where that is several
 * values, or all. @param step seconds between two points
 */
export function substitute(query: string, variables: readonly Variable[], chosen: Chosen, step: number): string {
  const known = new Set(variables.map(({ name }) => name));
  const timed = query
    .replace(/\$(?:\{__rate_interval\}|__rate_interval\b)/g, `${Math.max(4 * SENT_EVERY, step + SENT_EVERY)}s`)
    .replace(/\$(?:\{__interval\}|__interval\b)/g, `${step}s`);
  return timed.replace(PIECES, (whole, operator?: string, space = '', text?: string) => {
    if (text === undefined) {
      return whole.replace(NAME, (found: string, braced?: string, bare?: string) => {
        const name = (braced ?? bare) as string;
        return known.has(name) ? (chosen[name] ?? []).join('|') : found;
      });
    }
    const names = [...text.matchAll(NAME)].map(([, braced, bare]) => (braced ?? bare) as string);
    const several = names.some((name) => known.has(name) && (chosen[name] ?? []).length !== 1);
    const regex = operator === '=~' || operator === '!~' || (operator !== undefined && several);
    const written = operator === '=' && regex ? '=~' : operator === '!=' && regex ? '!~' : (operator ?? '');
    return `${written}${space}"${inText(text, chosen, known, regex)}"`;
  });
}

/** Names in an expression that are no variables of the worksheet. */
export function unknownIn(query: string, variables: readonly Variable[]): string[] {
  const known = new Set([...variables.map(({ name }) => name), '__interval', '__rate_interval']);
  const names = [...query.matchAll(NAME)].map(([, braced, bare]) => (braced ?? bare) as string);
  // In a regular expression $ is its end, and label_replace has $1: only what looks like a name is one.
  return [...new Set(names)].filter((name) => !known.has(name) && !/^\d/.test(name));
}

/** As they are in the address: `var-host=web1&var-host=web2`; all of them is `var-host=`. */
export function readChosen(query: URLSearchParams): Chosen {
  const chosen: Record<string, string[]> = {};
  for (const [key, value] of query) {
    if (!key.startsWith('var-') || value.length > 1024) continue;
    const name = key.slice(4);
    const list = chosen[name] ?? [];
    chosen[name] = list;
    if (value !== '' && list.length < 100) list.push(value);
  }
  return chosen;
}

export function writeChosen(query: URLSearchParams, chosen: Chosen): void {
  for (const [name, values] of Object.entries(chosen)) {
    for (const value of values.length === 0 ? [''] : values) query.append(`var-${name}`, value);
  }
}

/** In words, for titles: `web1, web2`; `every host` for all of them. */
export const titled = (title: string, variables: readonly Variable[], chosen: Chosen): string =>
  title.replace(NAME, (whole, braced?: string, bare?: string) => {
    const name = (braced ?? bare) as string;
    if (!variables.some((one) => one.name === name)) return whole;
    return chosen[name]?.join(', ') || `every ${name}`;
  });
