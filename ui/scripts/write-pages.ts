// Writes docs/manual/pages.md: every page, and where it stands in the frame, as src/frame/places.ts has them.
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { kept } from '../src/frame/kept.ts';
import { navigation, type Place, places, roleAt } from '../src/frame/places.ts';

export const pagesFile = path.join(import.meta.dirname, '../../docs/manual/pages.md');

const row = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
const table = (head: readonly string[], rows: readonly (readonly string[])[]) =>
  [row(head), row(head.map(() => '---')), ...rows.map(row)].join('\n');
const described = (place: Place) => [place.title, `\`${place.path}\``, place.about, `${roleAt(place.path)}s`];

export function pagesText(): string {
  const below = (entry: Place) =>
    places.filter(({ path: to }) => to !== entry.path && to.startsWith(`${entry.path}/`)).map(described);
  const elsewhere = places.filter(({ path: to }) => !navigation.some((entry) => `${to}/`.startsWith(`${entry.path}/`)));
  const head = ['page', 'address', 'what is there', 'from whom on'];
  return `<!-- Printed from the code by \`node ui/scripts/write-pages.ts\`; changes are made there, and lost here. -->

# Pages

Every page that has a place of its own, and where it stands. \`/\` opens the search from anywhere: it finds pages, active alerts, hosts, applications, metrics, settings by the
labels of their fields, worksheets and the sections of this manual. Results stand in groups, what fits best first; the arrow keys choose, Enter goes there, *more* opens the rest of a
group. What somebody may not see is not found. \`g\` and then a letter goes to an entry of the navigation.

A page whose figures could not be read again for more than five seconds says of when they are, below its title, until they are read again. A live chart whose values have stopped, for longer
than five of their usual distances and five seconds, says since when. The store draws the last value of a series for five minutes; the chart asks it when the last sample came.

## The navigation

${table(
  ['entry', 'address', 'what is there', 'from whom on', 'keys'],
  navigation.map((place) => [...described(place), `g ${place.key}`]),
)}
${navigation
  .filter((entry) => below(entry).length > 0)
  .map((entry) => `\n## ${entry.title}\n\n${table(head, below(entry))}\n`)
  .join('')}
## At the name of the user

${table(head, elsewhere.map(described))}

## Places that are kept

These pages are not there yet. Their addresses and their places are theirs from now on.

${table(
  ['page', 'address', 'what will be there', 'where it will stand', 'keys'],
  kept.map(({ title, path: to, about, stands, key }) => [title, `\`${to}\``, about, stands, key && `g ${key}`]),
)}
`;
}

if (process.argv[1] === import.meta.filename) writeFileSync(pagesFile, pagesText());
