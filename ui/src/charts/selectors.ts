// The series that an expression names, as it names them: enough to ask when their last samples came.

const STRING = String.raw`"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'`;
const MATCHERS = String.raw`\{(?:[^{}"']|${STRING})*\}`;
/** A name that is neither called nor a part of a grouping, with its matchers; or matchers alone. */
const PARTS = new RegExp(
  String.raw`(?:\b(?:by|without|on|ignoring|group_left|group_right)\s*\([^()]*\))|(${MATCHERS})|(?<![\w.])([a-zA-Z_:][\w:]*)(\s*${MATCHERS})?(?=(\s*(?:\(|by\b|without\b))?)|${STRING}`,
  'g',
);
const WORDS = new Set([
  'and',
  'or',
  'unless',
  'offset',
  'bool',
  'by',
  'without',
  'on',
  'ignoring',
  'inf',
  'nan',
  'atan2',
]);

export function selectorsIn(expression: string): string[] {
  // Of [5m] and `offset 5m` no name is left.
  const plain = expression.replace(/\[[^\]"]*\]/g, ' ').replace(/\boffset\s+-?\w+/g, ' ');
  const found = [...plain.matchAll(PARTS)].flatMap(([, alone, name, matchers = '', called]) => {
    if (alone !== undefined) return [alone];
    if (name === undefined || called !== undefined || WORDS.has(name.toLowerCase())) return [];
    return [name + matchers.trim()];
  });
  return [...new Set(found)];
}
