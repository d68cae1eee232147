// A reporter of Node's test runner: a line of JSON for each test that has ended, for results.ts. Beside it the log is
// written by Node's own reporter "spec".
import path from 'node:path';

interface Data {
  name: string;
  nesting: number;
  file?: string;
  skip?: string | boolean;
  todo?: string | boolean;
  details?: { duration_ms: number; type?: string; error?: Error & { failureType?: string; cause?: unknown } };
}

const shown = (error: unknown): string => {
  const cause = (error as { cause?: unknown })?.cause;
  const inner = cause === undefined ? error : cause;
  return inner instanceof Error ? (inner.stack ?? inner.message) : String(inner);
};

export default async function* reporter(source: AsyncIterable<{ type: string; data: Data }>): AsyncGenerator<string> {
  /** Of each file, the names of the tests that the next one lies in. */
  const open = new Map<string, string[]>();
  /** The test file that speaks: the steps of tests/vm/row.ts have that file's name, and are reported among its own. */
  let speaking = '';
  for await (const { type, data } of source) {
    if (!['test:start', 'test:pass', 'test:fail'].includes(type)) continue;
    if (data.file?.match(/\.test\.tsx?$/)) speaking = data.file;
    const file = speaking;
    const names = open.get(file) ?? [];
    names.length = data.nesting;
    names[data.nesting] = data.name;
    open.set(file, names);
    if (type === 'test:start') continue;
    const { details, skip, todo } = data;
    // A suite, or a test that failed because of one in it: those in it are reported themselves.
    if (details?.type === 'suite' && type === 'test:pass') continue;
    if (details?.error?.failureType === 'subtestsFailed') continue;
    // Node reports a file as a test of its name when the file itself fails.
    yield `${JSON.stringify({
      file: path.relative(process.cwd(), file),
      name: names.filter(Boolean).join(' › '),
      outcome: skip || todo ? 'skipped' : type === 'test:pass' ? 'passed' : 'failed',
      seconds: (details?.duration_ms ?? 0) / 1000,
      output: type === 'test:fail' ? shown(details?.error) : String(skip || todo || ''),
    })}\n`;
  }
}
