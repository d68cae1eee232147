// ./build.sh test [PART… | PART FILE [NAME] | changed] [--stress N] [--slots N]: runs tests and says what came of them. The
// last line is always "N passed, N failed[, N skipped]"; before it stand the failures, whole.
import { spawn } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { changedSelections } from './changed.ts';
import { type Ended, endAll, type Job, logs, root } from './job.ts';
import { jobsOf, parts, preparationsFor, type Selection, selections, wholeMinutes } from './plan.ts';
import { clock, counts, failures, jobLine, partTable, slowest } from './report.ts';
import { type Result, resultsOf } from './results.ts';
import { schedule } from './schedule.ts';

function usage(why: string): never {
  console.error(`build.sh test: ${why}
  test [lint|unit|browser|vm …]        parts, all of them without one
  test lint NAME                       a check
  test go PACKAGE [NAME]               a package of services/, or tests/conformance
  test kit|ui|browser|vm|omnios|run FILE [NAME]
  test changed                         what differs from main touches
  --stress N                           N times under load, and how often each failed`);
  process.exit(2);
}

export function parseArguments(args: readonly string[]): { chosen: Selection[]; stress: number; slots: number } {
  const words: string[] = [];
  const numbers = { stress: 0, slots: 0 };
  for (let at = 0; at < args.length; at++) {
    const option = /^--(stress|slots)(?:=(.*))?$/.exec(args[at] as string);
    if (!option) {
      if (args[at] !== '--') words.push(args[at] as string);
      continue;
    }
    const value = Number(option[2] ?? args[++at]);
    if (!(Number.isInteger(value) && value > 0)) usage(`--${option[1]} needs a number`);
    numbers[option[1] as keyof typeof numbers] = value;
  }
  const known: readonly string[] = selections;
  const chosen = (): Selection[] => {
    if (words.length === 0) return parts.map((part) => ({ part }));
    if (words.length === 1 && words[0] === 'changed') return changedSelections();
    const [part, ...rest] = words as [string, ...string[]];
    if (!known.includes(part)) usage(`there are no tests called '${part}'; they are: ${selections.join(' ')} changed`);
    if (words.every((word) => known.includes(word))) return words.map((word) => ({ part: word }));
    if (part === 'unit') usage("'unit' has no files of its own: name go, kit, ui, run or omnios");
    // A name of several words need not be quoted.
    const name = rest.slice(1).join(' ');
    if (part === 'lint') return [{ part, file: rest.join(' ') }];
    return [{ part, file: rest[0] as string, ...(name !== '' && { name }) }];
  };
  return { chosen: chosen(), ...numbers };
}

/** As many programs that only compute as there are processors. */
function burners(): () => void {
  const children = Array.from({ length: availableParallelism() }, () =>
    spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }),
  );
  return () => {
    for (const child of children) child.kill('SIGKILL');
  };
}

async function main(): Promise<boolean> {
  const began = Date.now();
  const { chosen, stress, slots } = parseArguments(process.argv.slice(2));
  const once = chosen.flatMap(jobsOf);
  if (once.length === 0) {
    if (chosen.length > 0) usage(`nothing is called '${chosen.map(({ file }) => file).join(' ')}' there`);
    console.log('nothing that a test looks at differs from main');
    console.log('0 passed, 0 failed');
    return true;
  }
  const tests: Job[] =
    stress === 0
      ? once
      : Array.from({ length: stress }, (_, n) =>
          once.map((job) => ({
            ...job,
            name: `${job.name}-${n + 1}`,
            // A result of an earlier time would be taken from Go's cache.
            argv: job.argv.map((word) =>
              word.replace(`${path.join(logs, job.name)}.`, `${path.join(logs, job.name)}-${n + 1}.`),
            ),
            ...(job.format === 'go' && { argv: [...job.argv.slice(0, 3), '-count=1', ...job.argv.slice(3)] }),
          })),
        ).flat();
  mkdirSync(logs, { recursive: true });
  for (const name of readdirSync(logs)) rmSync(path.join(logs, name), { recursive: true });
  rmSync(path.join(root, 'out/failures'), { recursive: true, force: true });

  const finished: { ended: Ended; results: Result[] }[] = [];
  const options = {
    // Half a slot beside the cores is for those that mostly wait.
    slots: slots || availableParallelism() + 0.5,
    started: (job: Job) => console.log(`${clock()}          ${job.name}`),
    ended: (ended: Ended) => {
      const results = resultsOf(ended);
      finished.push({ ended, results });
      console.log(jobLine(ended, results));
    },
  };
  if (stress > 0) {
    const prepared = await schedule(preparationsFor(tests), options);
    const stop = burners();
    try {
      if (prepared.every(({ code }) => code === 0)) await schedule(tests, { ...options, slots: slots || 1 });
    } finally {
      stop();
    }
  } else {
    await schedule([...preparationsFor(tests), ...tests], options);
  }

  const results = finished.flatMap((one) => one.results);
  const seconds = (Date.now() - began) / 1000;
  console.log('');
  for (const line of partTable(finished.map(({ ended }) => ended))) console.log(line);
  const whole = words(chosen) === words(parts.map((part) => ({ part })));
  const budget = whole ? ` (budget: ${wholeMinutes.cold}, with full caches ${wholeMinutes.warm})` : '';
  console.log(`\nall of it took ${(seconds / 60).toFixed(1)} minutes${budget}\n\nthe slowest tests:`);
  for (const line of slowest(results)) console.log(line);
  if (stress > 0) {
    console.log(`\nof ${stress} times under load:`);
    const names = [...new Set(results.map(({ part, name }) => `${part}: ${name}`))];
    const failed = (name: string) =>
      results.filter((r) => `${r.part}: ${r.name}` === name && r.outcome === 'failed').length;
    const bad = names.filter((name) => failed(name) > 0);
    for (const name of bad) console.log(`  failed ${failed(name)} times: ${name}`);
    if (bad.length === 0) console.log(`  none of ${names.length} tests failed`);
  }
  for (const line of failures(finished)) console.log(line);
  console.log(`\n${counts(results)}`);
  return results.every(({ outcome }) => outcome !== 'failed');
}

const words = (chosen: readonly Selection[]) =>
  chosen.map(({ part, file, name }) => [part, file, name].join(' ')).join();

if (process.argv[1] === import.meta.filename) {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      if (signal === 'SIGHUP' && process.env.CISTERN_NOHUP) return;
      endAll();
      console.log(`\nended by ${signal}; logs of what ran until then: out/log/`);
      process.exit(130);
    });
  }
  // The reader of a pipe may be gone; the run goes on, and its logs are kept.
  process.stdout.on('error', () => {});
  const good = await main();
  process.exit(good ? 0 : 1);
}
