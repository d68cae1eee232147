// What a job's tests came to: read from the events of `go test -json`, from the lines of reporter.ts, or from the exit
// code of a check.
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { folderOf } from '../failures.ts';
import { type Ended, fileOf } from './job.ts';

export interface Result {
  readonly part: string;
  readonly name: string;
  readonly outcome: 'passed' | 'failed' | 'skipped';
  readonly seconds: number;
  /** What it said, of one that failed; why, of one that was skipped. */
  readonly output: string;
  /** The command that runs it again. */
  readonly repeat: string;
}

const OUTPUT_LINES = 80;

export function lastLines(text: string, lines = OUTPUT_LINES): string {
  const all = text.trimEnd().split('\n');
  return all.length <= lines
    ? all.join('\n')
    : [`… ${all.length - lines} lines before`, ...all.slice(-lines)].join('\n');
}

const read = (file: string) => (existsSync(file) ? readFileSync(file, 'utf8') : '');

function lines<T>(text: string): T[] {
  return text.split('\n').flatMap((line) => {
    // The last line of a run that was killed may be cut off.
    try {
      return line.startsWith('{') ? [JSON.parse(line) as T] : [];
    } catch {
      return [];
    }
  });
}

/** A word for the shell. */
export const quoted = (word: string) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);
/** A pattern that matches this text and nothing else. */
const literally = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

interface GoEvent {
  Action: string;
  Package?: string;
  ImportPath?: string;
  Test?: string;
  Elapsed?: number;
  Output?: string;
}

export function goResults(text: string, part: string, repeat: (folder: string, test?: string) => string): Result[] {
  const output = new Map<string, string>();
  const results: Result[] = [];
  const failed = new Set<string>();
  for (const event of lines<GoEvent>(text)) {
    const { Action, Package = event.ImportPath?.split(' ')[0] ?? '', Test = '' } = event;
    const key = `${Package} ${Test}`;
    if (Action === 'output' || Action === 'build-output') {
      output.set(key, (output.get(key) ?? '') + (event.Output ?? ''));
      continue;
    }
    if (!['pass', 'fail', 'skip'].includes(Action)) continue;
    const folder = Package.replace(/^cistern(?:\/services)?\/?/, '') || Package;
    if (Action === 'fail') {
      const inside = [...failed].some((one) => one.startsWith(Test === '' ? `${Package} ` : `${key}/`));
      failed.add(key);
      // Of a test that failed because of one in it, that one is shown; it is counted once.
      if (inside) continue;
      results.push({
        ...{ part, name: `${folder} ${Test || '(the package)'}`, outcome: 'failed', seconds: event.Elapsed ?? 0 },
        ...{ output: lastLines(output.get(key) ?? ''), repeat: repeat(Package, Test || undefined) },
      });
      continue;
    }
    if (Test === '' || Test.includes('/')) continue;
    results.push({
      ...{ part, name: `${folder} ${Test}`, outcome: Action === 'pass' ? 'passed' : 'skipped' },
      ...{ seconds: event.Elapsed ?? 0, output: Action === 'skip' ? (output.get(key) ?? '').trim() : '' },
      repeat: repeat(Package, Test),
    });
  }
  return results;
}

/** What Go's tests measured and logged, whether they passed or not (they are run with -v then). */
export function goNotes(text: string): string[] {
  return lines<GoEvent>(text).flatMap(({ Action, Output = '' }) => {
    const note = /^ +\w+_test\.go:\d+: (.*)/s.exec(Output);
    return Action === 'output' && note ? [(note[1] as string).trimEnd()] : [];
  });
}

/** The notes of a job that has ended. */
export const notesOf = ({ job }: Ended): string[] => goNotes(read(fileOf(job, 'jsonl')));

export function nodeResults(text: string, part: string, repeat: (file: string, name?: string) => string): Result[] {
  type Line = { file: string; name: string; outcome: Result['outcome']; seconds: number; output: string };
  return lines<Line>(text).map(({ file, name, outcome, seconds, output }) => {
    const whole = path.resolve(name) === path.resolve(file);
    const shown = whole ? `${file} (the file)` : `${path.basename(file).replace(/\.test\.tsx?$/, '')}: ${name}`;
    // What a browser test saw of the page when it failed.
    const said = outcome === 'failed' ? read(path.join(folderOf(file, name), 'said')) : '';
    return {
      ...{ part, name: shown, outcome, seconds, repeat: repeat(file, whole ? undefined : name) },
      output: said === '' ? output : `${output}\n${said}`,
    };
  });
}

/** The last name of a path of tests, as the pattern that `./build.sh test PART FILE NAME` takes. */
export const patternOf = (name: string) => quoted(literally(name.split(' › ').at(-1) as string));

/** All results of a job that has ended; one that ended badly without a failed test is itself one. */
export function resultsOf(ended: Ended): Result[] {
  const { job, code, trouble, seconds } = ended;
  const own = (outcome: Result['outcome'], output: string): Result => ({
    ...{ part: job.part, name: job.name, outcome, seconds, repeat: job.repeat },
    output,
  });
  const log = () => [trouble, lastLines(read(fileOf(job, 'log')))].filter(Boolean).join('\n');
  const good = code === 0 && trouble === '';
  if (job.format === 'check') return [own(good ? 'passed' : 'failed', good ? '' : log())];
  if (job.format === 'step') return good ? [] : [own('failed', log())];
  const base = job.repeat.replace(/ --$/, '');
  const results =
    job.format === 'go'
      ? goResults(read(fileOf(job, 'jsonl')), job.part, (folder, test) =>
          [base, folder, test && quoted(`^${test}$`)].filter(Boolean).join(' '),
        )
      : nodeResults(read(fileOf(job, 'jsonl')), job.part, (file, name) =>
          [base, quoted(path.basename(file).replace(/\.test\.tsx?$/, '')), name && patternOf(name)]
            .filter(Boolean)
            .join(' '),
        );
  if (!good && !results.some(({ outcome }) => outcome === 'failed')) results.push(own('failed', log()));
  if (good && results.length === 0) results.push(own('failed', 'no test was run'));
  return results;
}
