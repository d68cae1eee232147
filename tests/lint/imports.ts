// Who may import whom, in TypeScript: reads the tables of docs/ARCHITECTURE.md, and every import of the folder that is given.
// Fails with the sentence of the table; for a circle, with the files in it; for a domain that is imported other than by its
// index; and for a file of more than 600 lines.
//
//   node tests/lint/imports.ts appliance-kit/src
//
// It is a program of its own because the rules are those tables, because a circle of types counts as well, and because it
// takes a second. Imports here name their file, so nothing has to be resolved but a path.
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import process from 'node:process';

const LONGEST = 600;
const root = resolve(import.meta.dirname, '../..');
const folder = process.argv[2] ?? 'appliance-kit/src';
const src = join(root, folder);

interface Row {
  readonly folder: string;
  readonly may: readonly string[];
  readonly why: string;
}

/** The table beneath the heading that names the folder. */
function table(): Row[] {
  const text = readFileSync(join(root, 'docs/ARCHITECTURE.md'), 'utf8');
  const section = text.split(/^### /m).find((one) => one.split('\n', 1)[0]?.includes(`\`${folder}/\``));
  if (section === undefined) throw new Error(`docs/ARCHITECTURE.md has no table for ${folder}/`);
  const names = (cell: string) => [...cell.matchAll(/`([^`]+)`/g)].map((match) => match[1] as string);
  return section.split('\n').flatMap((line) => {
    const cells = line.split('|').map((cell) => cell.trim());
    if (cells.length < 5 || !cells[1]?.startsWith('`')) return [];
    return names(cells[1]).map((name) => ({ folder: name, may: names(cells[2] as string), why: cells[3] as string }));
  });
}

const beneath = (file: string, name: string) => file === name || file.startsWith(`${name}/`);
const rows = table();
/** The row that covers a file: the one of the longest name. */
const rowOf = (file: string) =>
  rows.filter((row) => beneath(file, row.folder)).sort((a, b) => b.folder.length - a.folder.length)[0];

const IMPORT = /^(?:import|export)\b[^;'"]*?from\s*'(\.[^']+)'|\bimport\('(\.[^']+)'\)|^import '(\.[^']+)'/gm;
const files = globSync('**/*.{ts,tsx}', { cwd: src }).filter((file) => !/\.(test|d)\.tsx?$/.test(file));
const known = new Set(files);
const domains = files.filter((file) => /^.+\/index\.ts$/.test(file)).map((file) => dirname(file));
const domainOf = (file: string) => domains.find((domain) => beneath(file, domain));

/** The file that is meant: some imports leave out the ending. */
const found = (path: string) =>
  [path, `${path}.ts`, `${path}.tsx`, `${path}/index.ts`].find((candidate) => known.has(candidate));

const wrong: string[] = [];
const imports = new Map<string, Set<string>>();
for (const file of files) {
  const text = readFileSync(join(src, file), 'utf8');
  const lines = text.split('\n').length - 1;
  if (lines > LONGEST) wrong.push(`${folder}/${file} has ${lines} lines: past ${LONGEST} it has a second concern`);
  const all = new Set<string>();
  imports.set(file, all);
  for (const match of text.matchAll(IMPORT)) {
    const target = found(relative(src, resolve(src, dirname(file), (match[1] ?? match[2] ?? match[3]) as string)));
    if (target === undefined) continue;
    all.add(target);
    const [from, to] = [rowOf(file), rowOf(target)];
    const arrow = `${folder}/${file} imports ${target}`;
    if (from !== undefined && from !== to) {
      const may = from.may.some((name) => beneath(target, name)) && to !== undefined;
      if (!may) wrong.push(`${arrow}\n    ${from.folder}: ${from.why}`);
    }
    const [own, other] = [domainOf(file), domainOf(target)];
    if (other !== undefined && own !== other && target !== `${other}/index.ts`) {
      wrong.push(`${arrow}\n    Another domain is imported by its index.ts only.`);
    }
  }
}

/** Circles: files each of which reaches all others (Tarjan). */
function circles(): string[][] {
  const results: string[][] = [];
  const index = new Map<string, number>();
  const low = new Map<string, number>();
  const stack: string[] = [];
  const visit = (file: string): void => {
    index.set(file, index.size);
    low.set(file, index.get(file) as number);
    stack.push(file);
    for (const next of imports.get(file) ?? []) {
      if (!index.has(next)) visit(next);
      if (stack.includes(next)) low.set(file, Math.min(low.get(file) as number, low.get(next) as number));
    }
    if (low.get(file) !== index.get(file)) return;
    const circle = stack.splice(stack.indexOf(file));
    if (circle.length > 1) results.push(circle);
  };
  for (const file of files) if (!index.has(file)) visit(file);
  return results;
}

for (const circle of circles()) wrong.push(`a circle: ${circle.map((file) => `${folder}/${file}`).join(', ')}`);
for (const one of wrong) console.error(one);
if (wrong.length > 0) {
  console.error(`${wrong.length} of the imports and files of ${folder} break docs/ARCHITECTURE.md`);
  process.exit(1);
}
