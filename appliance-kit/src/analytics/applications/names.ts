// Applications whose metrics have no labels, as statsd's: a rule says which part of a name is the application.
import { fail } from '../../base/problems/problem.ts';
import type { ApplicationRule } from './schema.ts';

const PLACE = /\{(application|operation)\}|\*/g;

/** A regular expression without its meaning. */
export const inRegex = (text: string) => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');

/** Any part of a name between two dots; an operation may be several. */
const ANY = { application: '[^.]+', operation: '.+', '*': '[^.]+' } as const;

export interface Named {
  readonly application: string;
  /** Empty: the rule names none. */
  readonly operation: string;
}

/** A pattern of names as a regular expression that is right in the store (RE2) and here. */
function regexOf(pattern: string, place: (which: keyof typeof ANY) => string): string {
  let text = '';
  let from = 0;
  for (const found of pattern.matchAll(PLACE)) {
    text += inRegex(pattern.slice(from, found.index)) + place((found[1] ?? '*') as keyof typeof ANY);
    from = found.index + found[0].length;
  }
  return text + inRegex(pattern.slice(from));
}

/** Who a name is of, or null: the pattern does not match it. */
export function namer(pattern: string): (name: string) => Named | null {
  const regex = new RegExp(
    `^${regexOf(pattern, (which) => (which === '*' ? ANY[which] : `(?<${which}>${ANY[which]})`))}$`,
  );
  return (name) => {
    const groups = regex.exec(name)?.groups;
    return groups === undefined ? null : { application: groups.application ?? '', operation: groups.operation ?? '' };
  };
}

/** What matches the names of one application, and of one of its operations, in the store. */
export const matching = (pattern: string, { application, operation }: Partial<Named>) =>
  regexOf(pattern, (which) => {
    if (which === 'application' && application !== undefined) return inRegex(application);
    if (which === 'operation' && operation !== undefined && operation !== '') return inRegex(operation);
    return ANY[which];
  });

function complaint(pattern: string): string | null {
  const places = [...pattern.matchAll(PLACE)].map(([text]) => text);
  if (places.filter((one) => one === '{application}').length !== 1)
    return 'write {application} once, for the part of the name that is the application';
  if (places.filter((one) => one === '{operation}').length > 1) return 'write {operation} once at most';
  if (/[{}]/.test(pattern.replace(PLACE, ''))) return 'in braces stand {application} and {operation} only';
  return null;
}

/** Throws what is wrong with the rules, by field. */
export function checkRules(rules: readonly ApplicationRule[]): void {
  const errors = rules.flatMap(({ durations, failures }, at) =>
    [['durations', durations] as const, ['failures', failures] as const].flatMap(([field, pattern]) => {
      if (field === 'failures' && pattern === '') return [];
      const message = complaint(pattern);
      return message === null ? [] : [{ path: `/rules/${at}/${field}`, message }];
    }),
  );
  const [first] = errors;
  if (first !== undefined)
    throw fail('invalid_request', `The rule cannot be used: ${first.message}.`, undefined, errors);
}
