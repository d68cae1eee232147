// What alerts of a burst have in common, and what tells them from the series of their rule that are well.

import { plural } from '../../base/words.ts';

type Labels = Readonly<Record<string, string>>;

/** A label's value that most of the alerts have, and few of the others. */
export interface Apart {
  readonly label: string;
  readonly value: string;
  readonly members: number;
  readonly others: number;
}

export interface Shared {
  /** Labels that all of them have. */
  readonly common: Record<string, string>;
  readonly apart: Apart[];
  /** How many series they are of: one that flaps is raised more than once. */
  readonly series: number;
  /** How many series the rule is about, these included; null: not known. */
  readonly of: number | null;
}

/** What fewer of them have tells nothing of a burst. */
const MOST_OF_THEM = 0.8;
/** So much greater must its share among them be than among the others. */
const APART = 0.5;
const SHOWN = 5;
const LONGEST = 60;

/** The same labels in any order are the same series. */
const keyOf = (labels: Labels) => JSON.stringify(Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1)));

function* pairsOf(all: Iterable<Labels>): Generator<[string, string]> {
  for (const labels of all) yield* Object.entries(labels);
}

/** How many have each value of each label. */
function counted(all: Iterable<Labels>): Map<string, Map<string, number>> {
  const counts = new Map<string, Map<string, number>>();
  for (const [label, value] of pairsOf(all)) {
    let values = counts.get(label);
    if (values === undefined) {
      values = new Map();
      counts.set(label, values);
    }
    values.set(value, (values.get(value) ?? 0) + 1);
  }
  return counts;
}

/**
 * @param members at least one
 * @param population all series that the rule is about, those of the members among them; null: not known
 */
export function sharedBy(members: readonly Labels[], population: readonly Labels[] | null): Shared {
  const own = new Set(members.map(keyOf));
  const others = population?.filter((labels) => !own.has(keyOf(labels))) ?? [];
  const within = counted(members);
  const outside = counted(others);
  const common: Record<string, string> = {};
  const apart: Apart[] = [];
  for (const [label, values] of within) {
    for (const [value, count] of values) {
      if (count === members.length) common[label] = value;
      if (others.length === 0 || count < MOST_OF_THEM * members.length) continue;
      const beyond = outside.get(label)?.get(value) ?? 0;
      if (count / members.length - beyond / others.length < APART) continue;
      apart.push({ label, value, members: count, others: beyond });
    }
  }
  const score = (one: Apart) => one.members / members.length - one.others / others.length;
  apart.sort((a, b) => score(b) - score(a) || (a.label < b.label ? -1 : 1));
  return {
    common,
    apart: apart.slice(0, SHOWN),
    series: own.size,
    of: population === null ? null : own.size + others.length,
  };
}

/** As `version=v3`; the name of a metric stands for itself. */
function written(label: string, value: string): string {
  const short = value.length > LONGEST ? `${value.slice(0, LONGEST)}…` : value;
  return label === '__name__' ? short : `${label}=${short}`;
}

/** A sentence, or nothing where there is nothing to say. */
export function sharedWords({ common, apart, of }: Shared, members: number): string {
  const others = of === null ? 0 : of - members;
  if (others > 0) {
    if (apart.length === 0) return '';
    return apart
      .slice(0, 3)
      .map((one) => {
        const who = one.members === members ? 'All' : `${one.members} of the ${members}`;
        const rest =
          one.others === 0
            ? `none of the ${plural(others, 'other series', 'other series')} does`
            : `so ${one.others === 1 ? 'does' : 'do'} ${one.others} of the ${plural(others, 'other series', 'other series')}`;
        return `${who} have ${written(one.label, one.value)}; ${rest}.`;
      })
      .join(' ');
  }
  const labels = Object.entries(common);
  if (labels.length === 0 || members < 2) return '';
  const named = labels.slice(0, SHOWN).map(([label, value]) => written(label, value));
  return `All have ${named.join(', ')}${labels.length > SHOWN ? ' and more labels' : ''} in common.`;
}

/** "Every gauge: 998 of 1,650 series"; without a rule the first of them and how many more. */
export function groupTitle(about: {
  readonly ruleName: string | null;
  /** What a class of a rule says behind the rule's name. */
  readonly suffix: string;
  readonly firstTitle: string;
  readonly count: number;
  readonly series: number;
  readonly of: number | null;
}): string {
  const { ruleName, suffix, firstTitle, count, series, of } = about;
  if (count === 1) return firstTitle;
  const number = new Intl.NumberFormat('en-US');
  if (ruleName === null) return `${firstTitle}, and ${number.format(count - 1)} more`;
  if (series === 1) return `${firstTitle}, ${number.format(count)} times`;
  const share = of !== null && of > series ? `${number.format(series)} of ${number.format(of)}` : number.format(series);
  return `${ruleName}${suffix}: ${share} series`;
}
