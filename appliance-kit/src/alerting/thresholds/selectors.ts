// The selectors in an expression: which metrics a rule is about, and the same expression for one of its series alone. It reads
// words, strings and brackets, and no more of PromQL than that; the store has the last word, and is asked for the whole
// expression where this knows no better.

export interface Selector {
  /** Of the metric; null when the braces say which: `{__name__=~"a.*"}`. */
  readonly name: string | null;
  /** Where it stands in the expression, with its braces. */
  readonly from: number;
  readonly to: number;
}

/** Strings, comments, durations and numbers, words, and every other character by itself. */
const TOKEN =
  /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`[^`]*`|#[^\n]*|\d[\w.]*|\.\d\w*|[a-zA-Z_:][a-zA-Z0-9_:]*|\[[^\]]*\]|\s+|[\s\S]/g;
const WORDS = new Set(
  'and or unless atan2 by without on ignoring group_left group_right offset bool inf nan start end'.split(' '),
);
/** What is in their parentheses are labels. */
const LISTS = new Set(['by', 'without', 'on', 'ignoring', 'group_left', 'group_right']);
const STRING = /^["'`]/;
const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;
/** They make labels that their series do not have. */
const MAKES_LABELS = /\b(?:label_replace|label_join|count_values|info)\b/;

interface Token {
  readonly text: string;
  readonly at: number;
}

/** Where the bracket that opens at `open` is closed; past the end when it is not. */
function closing(tokens: readonly Token[], open: number, [opens, closes]: readonly [string, string]): number {
  let depth = 0;
  for (let at = open; at < tokens.length; at++) {
    if (tokens[at]?.text === opens) depth++;
    if (tokens[at]?.text === closes && --depth === 0) return at;
  }
  return tokens.length;
}

export function selectorsOf(expression: string): Selector[] {
  const tokens = [...expression.matchAll(TOKEN)]
    .map((found): Token => ({ text: found[0], at: found.index }))
    .filter(({ text }) => !/^[\s#]/.test(text));
  const found: Selector[] = [];
  for (let at = 0; at < tokens.length; at++) {
    const { text, at: from } = tokens[at] as Token;
    const next = tokens[at + 1]?.text;
    const metric = NAME.test(text) && !WORDS.has(text.toLowerCase());
    if (text === '{' || (metric && next === '{')) {
      const open = text === '{' ? at : at + 1;
      const close = closing(tokens, open, ['{', '}']);
      const quoted = tokens[open + 1]?.text ?? '';
      const named = STRING.test(quoted) && [',', '}'].includes(tokens[open + 2]?.text ?? '');
      const to = (tokens[close]?.at ?? expression.length) + 1;
      found.push({ name: text !== '{' ? text : named ? unquoted(quoted) : null, from, to });
      at = close;
    } else if (NAME.test(text)) {
      if (LISTS.has(text.toLowerCase()) && next === '(') at = closing(tokens, at + 1, ['(', ')']);
      else if (metric && next !== '(' && !aggregation(tokens, at))
        found.push({ name: text, from, to: from + text.length });
    }
  }
  return found;
}

/** `sum by (host) (x)`: the function's name stands before `by`. */
const aggregation = (tokens: readonly Token[], at: number) =>
  ['by', 'without'].includes(tokens[at + 1]?.text.toLowerCase() ?? '');

function unquoted(text: string): string {
  if (text.startsWith('`')) return text.slice(1, -1);
  try {
    return JSON.parse(`"${text.slice(1, -1).replaceAll(/\\'/g, "'")}"`) as string;
  } catch {
    return text.slice(1, -1);
  }
}

/** Whether series of several metrics can come of an expression, so that a series is not known by its labels alone. */
export function severalMetrics(expression: string): boolean {
  const names = new Set(selectorsOf(expression).map(({ name }) => name));
  return names.has(null) || names.size > 1;
}

/**
 * The expression for the series of these labels alone, so that the store need not evaluate ten thousand to draw one. Null
 * where that could be another value: more than one selector, or labels that the series do not have.
 */
export function narrowed(expression: string, labels: Readonly<Record<string, string>>): string | null {
  const selectors = selectorsOf(expression);
  const [one] = selectors;
  if (one === undefined || selectors.length > 1 || MAKES_LABELS.test(expression)) return null;
  const wanted = Object.entries(labels).filter(([name]) => name !== '__name__' || one.name === null);
  return (
    expression.slice(0, one.from) + matching(expression.slice(one.from, one.to), wanted) + expression.slice(one.to)
  );
}

/** A selector that asks for these labels too. */
function matching(selector: string, labels: readonly (readonly [string, string])[]): string {
  if (labels.length === 0) return selector;
  const written = labels
    .map(([name, value]) => `${NAME.test(name) ? name : JSON.stringify(name)}=${JSON.stringify(value)}`)
    .join(', ');
  if (!selector.endsWith('}')) return `${selector}{${written}}`;
  const before = selector.slice(0, -1).trimEnd();
  return `${before}${before.endsWith('{') || before.endsWith(',') ? '' : ', '}${written}}`;
}

/** `name{host="web1"}` as PromQL has it; a name with dots stands in the braces. */
export function selectorOf(labels: Readonly<Record<string, string>>): string {
  const { __name__: name, ...others } = labels;
  const pairs = Object.entries(others);
  if (name === undefined) return matching('{}', pairs);
  if (NAME.test(name)) return matching(name, pairs);
  return matching(`{${JSON.stringify(name)}}`, pairs);
}
