// `./build.sh test changed`: which tests look at what differs from main, committed or not.
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { root } from './job.ts';
import type { Selection } from './plan.ts';

const git = (...args: string[]) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim();

function base(): string {
  for (const ref of ['main', 'origin/main']) {
    try {
      return git('merge-base', ref, 'HEAD');
    } catch {
      // there is no such branch here
    }
  }
  return 'HEAD';
}

/** The folder of a file, and what looks at it; the first line that fits. Every change is looked at by the lints. */
const map: readonly (readonly [RegExp, (found: RegExpExecArray) => Selection[]])[] = [
  [/^tests\/(browser|vm)\/(\w+)\.test\.ts$/, ([, part, file]) => [{ part: part as string, file: file as string }]],
  [/^tests\/vm\//, () => [{ part: 'vm' }]],
  [/^tests\/(browser|stack)\//, () => [{ part: 'browser' }]],
  [/^tests\/(omnios|run)\//, ([, part]) => [{ part: part as string }]],
  [/^tests\/conformance\//, () => [{ part: 'go', file: 'tests/conformance' }]],
  [/^tests\/bench\//, () => []],
  [/^(smf\/illumos|image\/omnios)\//, () => [{ part: 'omnios' }]],
  [/^(image|smf)\//, () => [{ part: 'vm' }, { part: 'omnios' }]],
  [/^ui\//, () => [{ part: 'ui' }, { part: 'browser' }]],
  [/^appliance-kit\/.*\.test\.ts$/, ([file]) => [{ part: 'kit', file: path.basename(file) }]],
  [/^appliance-kit\//, () => [{ part: 'kit' }, { part: 'browser' }]],
  [/^(package(-lock)?\.json|\.npmrc)$/, () => [{ part: 'kit' }, { part: 'ui' }, { part: 'browser' }]],
  [/^(build\.sh|build\/|\.ci\/)/, () => [{ part: 'run' }]],
];

/** Go's packages that import what has changed, or are it. */
function goPackages(files: readonly string[]): Selection[] {
  const folders = new Set(files.filter((file) => file.startsWith('services/')).map((file) => path.dirname(file)));
  if (folders.size === 0) return [];
  if (files.some((file) => /^services\/go\.(mod|sum)$/.test(file))) return [{ part: 'go' }];
  const listed = execFileSync('go', ['list', '-test', '-f', '{{.ImportPath}} {{join .Deps " "}}', './...'], {
    ...{ cwd: path.join(root, 'services'), encoding: 'utf8', maxBuffer: 64 << 20 },
  });
  const changed = [...folders].map((folder) => `cistern/${folder.replace(/\/testdata(\/.*)?$/, '')}`);
  const touched = new Set<string>();
  for (const line of listed.split('\n')) {
    const [name = '', ...dependencies] = line.split(' ');
    const own = name.replace(/(\.test|_test)$/, '');
    if (changed.includes(own) || dependencies.some((one) => changed.includes(one))) touched.add(own);
  }
  return [
    ...[...touched].map((file) => ({ part: 'go', file })),
    // The store is also compared with other programs.
    ...([...folders].some((folder) => /^services\/(store|histogram|ingest)/.test(folder))
      ? [{ part: 'go', file: 'tests/conformance' }]
      : []),
  ];
}

export function selectionsFor(files: readonly string[]): Selection[] {
  if (files.length === 0) return [];
  const found: Selection[] = [{ part: 'lint' }];
  for (const file of files) {
    for (const [pattern, selections] of map) {
      const match = pattern.exec(file);
      if (!match) continue;
      found.push(...selections(match));
      break;
    }
  }
  const parts = new Set(found.filter(({ file }) => file === undefined).map(({ part }) => part));
  const seen = new Set<string>();
  // A file of a part that is run as a whole anyway is not run twice.
  return found.filter(({ part, file }) => {
    const key = `${part} ${file ?? ''}`;
    if (seen.has(key) || (file !== undefined && parts.has(part))) return false;
    seen.add(key);
    return true;
  });
}

export function changedSelections(): Selection[] {
  const files = [
    ...git('diff', '--name-only', base()).split('\n'),
    ...git('ls-files', '--others', '--exclude-standard').split('\n'),
  ].filter(Boolean);
  return [...selectionsFor(files), ...goPackages(files)];
}
