// Every link to a file, and every file or folder named in backticks, in README.md and docs/ exists: below the document's
// own folder or the repository's root. Prints FILE:LINE and the name that leads nowhere.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { root } from './job.ts';

/** What documents name that is not in the repository, each with the reason. */
const elsewhere: readonly (readonly [RegExp, string])[] = [
  [/^[~$/]/, 'a path of the appliance or of the reader’s machine, or of a URL'],
  [/^(\.\/)?out\//, 'made by the build'],
  [/[*{}<>@…]|[A-Z]{3,}|\bXXX\b/, 'a pattern with a place to fill in'],
  [/^(tank|system|rpool|data|pool)\//, 'a dataset of ZFS'],
  [/^[a-z0-9.-]+\.(com|org|net|io|dev)\//, 'an address, or a Go module'],
  [/^(application|text|image|audio|video)\//, 'a media type'],
];

/** In backticks it is taken for a file when a folder of the repository begins it, or when it ends like one. */
function looksLikeFile(text: string, folders: ReadonlySet<string>): boolean {
  if (/[\s()=,;|"'?&]/.test(text) || !text.includes('/')) return false;
  return folders.has(text.replace(/^\.\//, '').split('/')[0] as string);
}

export function brokenNames(file: string, text: string, folders: ReadonlySet<string>): string[] {
  const broken: string[] = [];
  let code = false;
  for (const [at, line] of text.split('\n').entries()) {
    if (/^\s*```/.test(line)) code = !code;
    if (code) continue;
    const names: string[] = [];
    for (const [, target = ''] of line.replace(/`[^`]*`/g, '').matchAll(/\]\(([^)\s]+)[^)]*\)/g)) {
      if (!/^([a-z]+:|#)/i.test(target)) names.push(target.replace(/#.*$/, ''));
    }
    for (const [, target = ''] of line.matchAll(/`\]\(([^)\s]+)\)/g))
      if (!/^([a-z]+:|#)/i.test(target)) names.push(target.replace(/#.*$/, ''));
    for (const [, quoted = ''] of line.matchAll(/`([^`]+)`/g)) {
      const name = quoted.split(' ')[0] as string;
      if (looksLikeFile(name, folders)) names.push(name.replace(/:\d+$/, ''));
    }
    for (const name of names) {
      if (elsewhere.some(([pattern]) => pattern.test(name))) continue;
      if (existsSync(path.join(root, path.dirname(file), name)) || existsSync(path.join(root, name))) continue;
      broken.push(`${file}:${at + 1}: ${name}`);
    }
  }
  return broken;
}

if (process.argv[1] === import.meta.filename) {
  const list = (...globs: string[]) =>
    execFileSync('git', ['ls-files', '-co', '--exclude-standard', '--', ...globs], { cwd: root, encoding: 'utf8' })
      .split('\n')
      .filter((name) => name !== '' && existsSync(path.join(root, name)));
  const folders = new Set(list().map((name) => name.split('/')[0] as string));
  const broken = list('README.md', 'CONTRIBUTING.md', 'docs/*.md', 'docs/**/*.md').flatMap((file) =>
    brokenNames(file, readFileSync(path.join(root, file), 'utf8'), folders),
  );
  for (const line of broken) console.log(line);
  process.exitCode = broken.length > 0 ? 1 : 0;
}
