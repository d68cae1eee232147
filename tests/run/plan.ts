// Which jobs a run consists of: the parts, their files, what has to be made for them, and the order in which they start.
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { checks } from './checks.ts';
import { fileOf, type Job, root } from './job.ts';
import { quoted } from './results.ts';

/** Minutes that the jobs of a part may take together, on two cores; more is marked in the summary. */
export const budgets: Readonly<Record<string, number>> = {
  prepare: 8,
  lint: 4,
  go: 6,
  kit: 3,
  ui: 1,
  run: 1,
  omnios: 2,
  browser: 15,
  vm: 31,
};
/** Of the whole run, from its start to its end: with an empty cache, and with a full one. */
export const wholeMinutes = { cold: 38, warm: 32 };

/**
 * How far what needs machines goes before others: one runs at a time, and the whole run waits for that row. A browser
 * starts processes in sessions of their own, each with a share like the machine's, which got half of a processor.
 */
const ROW = -5;
/** How far those stand back that have no deadlines. */
const BACK = 10;

/** The parts by the names that `./build.sh test` takes. */
export const parts = ['lint', 'unit', 'browser', 'vm'] as const;
/** What a part consists of. */
const consistsOf: Readonly<Record<string, readonly string[]>> = { unit: ['go', 'kit', 'ui', 'run', 'omnios'] };
export const selections = [...parts, 'go', 'kit', 'ui', 'run', 'omnios'] as const;

export interface Selection {
  readonly part: string;
  /** A test file or a Go package; all of the part when left out. */
  readonly file?: string;
  /** A pattern of a test's name. */
  readonly name?: string;
}

const prepare = (what: string, more: Partial<Job> = {}): Job => ({
  ...{ part: 'prepare', name: `prepare-${what}`, argv: ['./build.sh', 'prepare', what], format: 'step', minutes: 40 },
  ...{ repeat: `./build.sh prepare ${what}`, after: ['prepare-tools'] },
  ...more,
});

const patterns: Readonly<Record<string, string>> = {
  kit: 'appliance-kit/**/*.test.ts',
  ui: 'ui/**/*.test.ts',
  run: 'tests/run/*.test.ts',
  omnios: 'tests/omnios/*.test.ts',
  browser: 'tests/browser/*.test.ts',
  vm: 'tests/vm/*.test.ts',
};

/** How long a file takes, in seconds, as measured on two cores: the longest ones are started first. */
const seconds: Readonly<Record<string, number>> = {
  // Two machines, and so never beside another one: the first, when there is other work beside it.
  'vm/replication': 400,
  'vm/first-day': 230,
  'vm/analytics': 215,
  'vm/support': 185,
  'vm/pages': 125,
  'vm/storage': 170,
  'vm/datasets': 180,
  'vm/alerts': 205,
  'vm/install': 90,
  'vm/network': 155,
  'vm/addresses': 150,
  'vm/wizard': 105,
  'vm/hardware': 130,
  'vm/image': 15,
  'vm/secure-boot': 10,
  'vm/console': 6,
  'vm/access': 1,
  'vm/boots': 1,
  'vm/install-faults': 1,
};

/** Those that wait for half of their time, for what the product does once a minute: two of them take a processor. */
const waiting = new Set(['addresses', 'datasets', 'network']);

/** They boot the image, or read its files, and need no saved machine. */
const fromTheImage = new Set([
  ...['first-day', 'install', 'install-faults', 'boots', 'image', 'console', 'secure-boot', 'hardware'],
]);

const filesOf = (part: string): string[] =>
  globSync(patterns[part] as string, { cwd: root, exclude: (name) => name.split('/').includes('node_modules') })
    .map(String)
    .sort();

/** The files of a part whose path ends in `file`, with or without what all of their names end in; else those that hold it. */
export function chooseFiles(files: readonly string[], file: string | undefined): string[] {
  if (file === undefined) return [...files];
  const wanted = file.replace(/\.test\.tsx?$/, '');
  const bare = (one: string) => one.replace(/\.test\.tsx?$/, '');
  const exact = files.filter((one) => bare(one) === wanted || bare(one).endsWith(`/${wanted}`));
  return exact.length > 0 ? exact : files.filter((one) => one.includes(wanted));
}

/** The options that choose those tests of VM files that hold a step which matches; none of them when that is not plain. */
function enclosing(files: readonly string[], step: string): string[] {
  const wanted = new RegExp(step);
  return files.flatMap((file) => {
    const pieces = readFileSync(path.join(root, file), 'utf8')
      .split(/^(?=test\()/m)
      .slice(1);
    const titles = pieces
      .filter((piece) => [...piece.matchAll(/'((?:[^'\\]|\\.)+)'/g)].some(([, text]) => wanted.test(text as string)))
      .map((piece) => /^test\(\s*'([^']+)'/.exec(piece)?.[1] ?? '');
    return titles.map((title) => `--test-name-pattern=${title.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}`);
  });
}

export function nodeJob(
  part: string,
  name: string,
  files: readonly string[],
  test: string | undefined,
  more: Partial<Job>,
): Job {
  const job = { part, name } as Job;
  return {
    ...{ part, name, format: 'node', minutes: 20, repeat: `./build.sh test ${part} --` },
    argv: [
      ...['node', '--test', '--test-reporter=spec', '--test-reporter-destination=stdout'],
      ...[`--test-reporter=${path.join(root, 'tests/run/reporter.ts')}`],
      `--test-reporter-destination=${fileOf(job, 'jsonl')}`,
      // The steps of a row are chosen by the harness (tests/vm/row.ts): each needs those before it.
      ...(test === undefined ? [] : part === 'vm' ? enclosing(files, test) : [`--test-name-pattern=${test}`]),
      ...(more.argv ?? []),
      ...files,
    ],
    ...(test !== undefined && part === 'vm' && { env: { CISTERN_TEST_STEP: test } }),
    after: ['prepare-tools'],
    ...Object.fromEntries(Object.entries(more).filter(([key]) => key !== 'argv')),
  };
}

/** Go's modules by the folder that a package is named from. */
export const goModules = ['services', 'tests/conformance'] as const;

function goJobs({ file, name }: Selection): Job[] {
  const make = (module: string, packages: readonly string[]): Job => ({
    ...{ part: 'go', name: `go-${module}`, cwd: path.join(root, module), format: 'go', minutes: 30 },
    // Go's own ten minutes are for one package on a machine that does nothing else.
    argv: [
      'go',
      'test',
      '-json',
      '-timeout',
      '25m',
      ...(name === undefined ? [] : ['-count=1', '-run', name]),
      ...packages,
    ],
    ...{ after: ['prepare-tools', 'prepare-programs'], repeat: './build.sh test go --', priority: 55, nice: BACK },
    // Its tests wait for processes and times of their own more than half of their time.
    slots: 0.5,
  });
  if (file === undefined) return goModules.map((module) => make(module, ['./...']));
  // As a folder of the repository, a folder of services, or by the name that Go knows it by.
  const wanted = file.replace(/^cistern\//, '').replace(/^\.\//, '');
  const module = goModules.find((one) => wanted === one || wanted.startsWith(`${one}/`)) ?? 'services';
  const inside = wanted === module ? '...' : wanted.replace(`${module}/`, '');
  return [make(module, [`./${inside}`])];
}

export function jobsOf(selection: Selection): Job[] {
  const { part, file, name } = selection;
  const more = consistsOf[part];
  if (more) return more.flatMap((one) => jobsOf({ part: one }));
  if (part === 'lint') {
    const wanted = file === undefined ? checks : checks.filter((one) => one.name.includes(file));
    return wanted.map(({ name: called, argv, slow }) => ({
      ...{ part: 'lint', name: called, argv, format: 'check', minutes: 15, after: ['prepare-tools'] },
      ...{ repeat: `./build.sh test lint ${quoted(called)}`, priority: slow ? 62 : 60, nice: BACK },
    }));
  }
  if (part === 'go') return goJobs(selection);
  const files = chooseFiles(filesOf(part), file);
  switch (part) {
    case 'kit':
      // They take free ports and folders of their own; some measure how long things take, so no more than there are cores.
      return files.length === 0
        ? []
        : [
            nodeJob(part, 'kit', files, name, {
              argv: ['--test-concurrency=2'],
              // All files are one job: 12 minutes beside others, and twice that on a machine that others slow down.
              minutes: 40,
              ...{ priority: 50, nice: BACK },
              after: ['prepare-tools', 'prepare-programs'],
            }),
          ];
    case 'ui':
    case 'run':
      return files.length === 0 ? [] : [nodeJob(part, part, files, name, { priority: 52, nice: BACK })];
    case 'omnios':
      return files.length === 0
        ? []
        : [
            nodeJob(part, 'omnios', files, name, {
              priority: 51,
              nice: BACK,
              after: ['prepare-tools', 'prepare-omnios'],
            }),
          ];
    case 'browser':
      return files.map((one) =>
        nodeJob(part, `browser-${path.basename(one, '.test.ts')}`, [one], name, {
          // A browser test waits for its page three quarters of its time.
          ...{ slots: 0.5, priority: 40, after: ['prepare-tools', 'prepare-pages'] },
        }),
      );
    case 'vm':
      return files.map((one) => {
        const called = path.basename(one, '.test.ts');
        return nodeJob(part, `vm-${called}`, [one], name, {
          // Behind a failed teardown others are not run, and what they would end must not keep the file from ending.
          argv: ['--test-force-exit'],
          ...{
            // With every variant a file takes as long as the nightly run gives it.
            minutes: process.env.CISTERN_VARIANTS === '1' ? 60 : 30,
            nice: ROW,
            alone: 'machine',
            ...(waiting.has(called) && { share: 0.5, slots: 0.5 }),
            // Replication has two machines itself.
            pairsAtTheEnd: called !== 'replication',
            priority: 80 + (seconds[`vm/${called}`] ?? 100) / 100,
          },
          after: [
            'prepare-tools',
            fromTheImage.has(called) ? 'prepare-image' : 'prepare-machines',
            'prepare-prometheus',
          ],
        });
      });
    default:
      throw new Error(`there are no tests called '${part}'; they are: ${selections.join(' ')}`);
  }
}

/** What has to be made before the jobs can start. */
export function preparationsFor(jobs: readonly Job[]): Job[] {
  const chosen = [...new Set(jobs.map(({ part }) => part))];
  const tools = prepare('tools', {
    ...{ argv: ['./build.sh', 'prepare', 'tools', ...chosen], after: [], priority: 200 },
  });
  const all = [
    tools,
    // Of seconds, and what the tests that need no machine wait for.
    prepare('programs', { priority: 101 }),
    // Two builds of the management plane and the pages would meet in the same folders; programs that are made stay as they are.
    prepare('image', { priority: 100, nice: ROW, alone: 'parts', after: ['prepare-tools', 'prepare-programs'] }),
    prepare('machines', { priority: 99, nice: ROW, alone: 'machine', after: ['prepare-tools', 'prepare-image'] }),
    prepare('prometheus', { priority: 98 }),
    prepare('omnios', { priority: 53, alone: 'parts', after: ['prepare-tools', 'prepare-programs'] }),
    prepare('pages', { priority: 96 }),
  ];
  const wanted = new Set(['prepare-tools']);
  for (const job of jobs) for (const name of job.after ?? []) wanted.add(name);
  for (const job of [...all].reverse()) if (wanted.has(job.name)) for (const name of job.after ?? []) wanted.add(name);
  return all.filter((job) => wanted.has(job.name));
}
