// What PromQL's parser says about an expression, in words and at its place; and the word one is just writing.
export interface Complaint {
  /** From 1. */
  readonly line: number;
  readonly column: number;
  readonly words: string;
}

/** The parser's own terms, for those who do not read grammars. */
const PLAIN: readonly (readonly [RegExp, string])[] = [
  [/unexpected end of input(.*)/, 'the expression ends too early$1'],
  [/unexpected <([^>]+)>/g, 'did not expect “$1” here'],
  [/unexpected identifier "([^"]*)"/g, 'did not expect “$1” here'],
  [/unexpected (character|symbol): '?([^']*)'?/g, 'did not expect “$2” here'],
  [/unexpected "?(\S+?)"? in /g, 'did not expect “$1” in '],
  [/unclosed left parenthesis/, 'a “(” is not closed'],
  [/unclosed left brace/, 'a “{” is not closed'],
  [/unterminated quoted string/, 'a text is not closed with a quotation mark'],
  [/unknown function with name "([^"]*)"/, 'there is no function “$1”'],
  [
    /vector selector must contain at least one non-empty matcher/,
    'a selector has to name a metric, or at least one label with a value',
  ],
  [
    /expected type (range vector|instant vector|scalar|string) in call to function "([^"]*)", got (.*)/,
    '“$2” takes a $1, not a $3',
  ],
];

export function complaintIn(detail: string): Complaint | undefined {
  const found = /(?:^|[^\d:])(\d+):(\d+): (?:parse error: )?(.*)$/s.exec(detail);
  if (found === null) return undefined;
  const [, line, column, text = ''] = found;
  const words = PLAIN.reduce((before, [pattern, plain]) => before.replace(pattern, plain), text);
  return { line: Number(line), column: Number(column), words };
}

/** The line with a caret beneath the column. */
export function pointing(expression: string, { line, column }: Complaint): string {
  const text = expression.split('\n')[line - 1] ?? '';
  return `${text}\n${' '.repeat(Math.max(0, column - 1))}^`;
}

export function wordAt(expression: string, caret: number): { word: string; from: number } {
  const before = expression.slice(0, caret);
  const word = /[a-zA-Z_:][a-zA-Z0-9_:.]*$/.exec(before)?.[0] ?? '';
  return { word, from: caret - word.length };
}

const FUNCTIONS = [
  'rate',
  'irate',
  'increase',
  'sum',
  'avg',
  'min',
  'max',
  'count',
  'topk',
  'bottomk',
  'quantile',
  'histogram_quantile',
  'histogram_fraction',
  'histogram_count',
  'histogram_sum',
  'avg_over_time',
  'sum_over_time',
  'max_over_time',
  'min_over_time',
  'count_over_time',
  'last_over_time',
  'quantile_over_time',
  'delta',
  'deriv',
  'predict_linear',
  'label_replace',
  'clamp',
  'abs',
  'ceil',
  'floor',
  'round',
  'time',
  'vector',
  'scalar',
  'absent',
  'changes',
  'resets',
  'sort',
  'sort_desc',
];

export function functionsLike(word: string): string[] {
  return FUNCTIONS.filter((name) => name.startsWith(word) && name !== word).slice(0, 5);
}
