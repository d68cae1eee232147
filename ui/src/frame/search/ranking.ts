// What fits best stands first, whatever kind it is of.
export interface Hit {
  readonly title: string;
  /** Beside the title. */
  readonly about: string;
  /** A path of the appliance; those beneath /docs are pages of the manual. */
  readonly to: string;
  /** What else may be searched for, and is not shown. */
  readonly also?: string;
}

export interface Group {
  readonly kind: string;
  readonly hits: readonly Hit[];
  /** There may be more than these. */
  readonly cut?: boolean;
}

export const wordsOf = (text: string): string[] => text.toLowerCase().split(/\s+/).filter(Boolean);

const TITLE = 0;
const BEGINS = 1;
const WORD_BEGINS = 2;
const WITHIN = 3;
const BESIDE = 4;

function fitOf(word: string, title: string, beside: string): number {
  if (title.startsWith(word)) return BEGINS;
  const at = title.indexOf(word);
  if (at >= 0) {
    for (let next = at; next >= 0; next = title.indexOf(word, next + 1)) {
      if (/[^\p{L}\p{N}]/u.test(title[next - 1] ?? '')) return WORD_BEGINS;
    }
    return WITHIN;
  }
  return beside.includes(word) ? BESIDE : Number.POSITIVE_INFINITY;
}

/** The less, the better; infinite: one of the words is not in it. */
export function fit(hit: Hit, words: readonly string[]): number {
  const title = hit.title.toLowerCase();
  if (title === words.join(' ')) return TITLE;
  const beside = `${hit.about}\n${hit.also ?? ''}`.toLowerCase();
  return words.reduce((worst, word) => Math.max(worst, fitOf(word, title, beside)), BEGINS);
}

/** The kinds that have something, the one with the best first; of the same fit, as they are given. */
export function ranked(kinds: readonly Group[], text: string): Required<Group>[] {
  const words = wordsOf(text);
  return kinds
    .map(({ kind, hits, cut = false }) => {
      const found = hits
        .map((hit) => ({ hit, by: fit(hit, words) }))
        .filter(({ by }) => by < Number.POSITIVE_INFINITY)
        .sort((a, b) => a.by - b.by || a.hit.title.length - b.hit.title.length);
      return { kind, cut, best: found[0]?.by ?? Number.POSITIVE_INFINITY, hits: found.map(({ hit }) => hit) };
    })
    .filter(({ hits }) => hits.length > 0)
    .sort((a, b) => a.best - b.best)
    .map(({ kind, hits, cut }) => ({ kind, hits, cut }));
}
