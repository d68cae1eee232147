// ./build.sh nightly [--only PART] [--minutes M]: what takes hours, in parts that each end within an hour unless they are
// given more. A seed is printed by what is random; what breaks a decoder is kept by the fuzzer in testdata/fuzz.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { type Ended, endAll, type Job, logs, root } from './job.ts';
import { jobsOf, nodeJob, preparationsFor } from './plan.ts';
import { clock, counts, failures, jobLine, partTable } from './report.ts';
import { notesOf, type Result, resultsOf } from './results.ts';
import { schedule } from './schedule.ts';

const names = ['fuzz', 'crash', 'hostile', 'soak', 'access', 'race', 'clients', 'vm', 'image', 'browser'] as const;
type Name = (typeof names)[number];

function usage(why: string): never {
  console.error(`build.sh nightly: ${why}
  nightly [--only PART] [--minutes M]   parts: ${names.join(' ')}; M minutes for each, 60 without it
    fuzz    every decoder is fed by Go's fuzzer; they share the minutes
    crash   storaged is killed under load, again and again
    hostile 20,000 queries that ask for far too much, against a storaged that has little memory
    soak    storaged under a steady load of 200,000 samples a second, queries and rules; 120 minutes without --minutes
    access  10,000 wrong passwords from 100 addresses; an Active Directory; every route fed with garbage as each role
    race    go test -race over all packages
    clients Telegraf and the OpenTelemetry Collector, which are built here, send in each way that we have an input for;
            Grafana's client of npm asks
    vm      the VM tests with all their variants, again and again
    image   those of them that start and install the image on each kind of machine
    browser the browser tests, with pictures in each theme at each width`);
  process.exit(2);
}

const services = path.join(root, 'services');
const job = (name: string, argv: string[], more: Partial<Job>): Job => ({
  ...{ part: 'nightly', name, argv, cwd: services, format: 'check', minutes: 60, slots: 2 },
  ...{ repeat: `cd services && ${argv.join(' ')}`, after: ['prepare-tools'] },
  ...more,
});

/** A minute is left over for building, and for what a job does after its time. */
const reserve = 1;

function fuzzers(minutes: number): Job[] {
  const found = execFileSync('grep', ['-ro', '^func Fuzz[A-Za-z0-9_]*(', '--include=*_test.go', '.'], {
    ...{ cwd: services, encoding: 'utf8' },
  });
  const all = found
    .trim()
    .split('\n')
    .sort()
    .map((line) => /^(.*)\/[^/]*:func (\w+)\($/.exec(line) as RegExpExecArray);
  // Each is built first, which is not its share of the time.
  const seconds = Math.max(5, Math.floor(((minutes - reserve) * 60) / all.length) - 8);
  return all.map(([, folder, name]) =>
    job(`fuzz ${name}`, ['bash', '../build/fuzz.sh', name as string, folder as string, String(seconds)], {
      repeat: `cd services && ../build/fuzz.sh ${name} ${folder} ${seconds}`,
      minutes: seconds / 60 + 5,
    }),
  );
}

function crashes(minutes: number): Job[] {
  // Sixty rounds take 16 s on two quiet cores. Then a new store: its samples' times would run into the future.
  const rounds = 60;
  const count = Math.max(1, Math.floor((minutes - reserve) * 2));
  const test = 'TestKillLosesNothingAcknowledged';
  return [
    job(
      'crash',
      [
        'go',
        'test',
        '-json',
        '-count',
        String(count),
        '-timeout',
        `${minutes}m`,
        '-run',
        `^${test}$`,
        './cmd/storaged',
      ],
      {
        ...{ format: 'go', env: { CISTERN_CRASH_ROUNDS: String(rounds) }, minutes },
        repeat: `CISTERN_CRASH_ROUNDS=${rounds} ./build.sh test go cmd/storaged ${test} #`,
      },
    ),
  ];
}

function hostiles(minutes: number): Job[] {
  const test = 'TestHostileQueries';
  // A slow machine asks fewer of them.
  const env = {
    CISTERN_HOSTILE_QUERIES: '20000',
    CISTERN_HOSTILE_MINUTES: String(Math.max(1, Math.floor(minutes - reserve))),
  };
  return [
    job(
      'hostile',
      ['go', 'test', '-json', '-v', '-timeout', `${minutes + 5}m`, '-run', `^${test}$`, './cmd/storaged'],
      {
        ...{ format: 'go', env, minutes: minutes + 5 },
        repeat: `CISTERN_HOSTILE_QUERIES=20000 ./build.sh test go cmd/storaged ${test} #`,
      },
    ),
  ];
}

function soaks(minutes: number): Job[] {
  const [test, env] = ['TestSoak', { CISTERN_SOAK_MINUTES: String(minutes), CISTERN_SOAK_SAMPLES: '200000' }];
  const limit = minutes + 10;
  return [
    job('soak', ['go', 'test', '-json', '-v', '-timeout', `${limit}m`, '-run', `^${test}$`, './cmd/storaged'], {
      ...{ format: 'go', env, minutes: limit },
      repeat: `CISTERN_SOAK_MINUTES=${minutes} CISTERN_SOAK_SAMPLES=200000 ./build.sh test go cmd/storaged ${test} #`,
    }),
  ];
}

function races(minutes: number): Job[] {
  return [
    job('race', ['go', 'test', '-json', '-race', '-timeout', `${minutes}m`, './...'], {
      ...{ format: 'go', env: { CGO_ENABLED: '1' }, minutes, after: ['prepare-race', 'prepare-programs'] },
      repeat: './build.sh nightly --only race  #',
    }),
  ];
}

/** Clients that take minutes to build: behind a tag of Go's, so that the ordinary run does not wait for them. */
function clients(minutes: number): Job[] {
  const tests = '^(TestTelegraf|TestCollector|TestGrafanaClient)$';
  const flags = ['-tags', 'grpcnotrace,clients', '-timeout', `${minutes}m`, '-run', tests];
  return [
    job('clients', ['go', 'test', '-json', '-count=1', ...flags, '.'], {
      ...{ format: 'go', cwd: path.join(root, 'tests', 'conformance'), minutes },
      repeat: './build.sh nightly --only clients  #',
    }),
  ];
}

/** Those that boot the image on many machines, and install it. */
const onMachines = ['install', 'install-faults', 'boots', 'secure-boot', 'hardware', 'image', 'console'].map(
  (file) => `vm-${file}`,
);

const withVariants = (one: Job): Job => ({
  ...one,
  // Some variants wait for what the product does after a quarter of an hour.
  minutes: Math.max(one.minutes, 60),
  env: { ...one.env, CISTERN_VARIANTS: '1' },
});

/** The VM tests as often as they fit into the time: a fault that depends on the moment shows itself sooner or later. */
function machines(minutes: number): Job[] {
  const once = jobsOf({ part: 'vm' }).filter(({ name }) => !onMachines.includes(name));
  const rounds = Math.max(1, Math.floor((minutes - 10) / 45));
  return Array.from({ length: rounds }, (_, n) =>
    once.map((one) => ({
      ...withVariants(one),
      name: `${one.name}-${n + 1}`,
      argv: one.argv.map((word) =>
        word.replace(`${path.join(logs, one.name)}.`, `${path.join(logs, one.name)}-${n + 1}.`),
      ),
    })),
  ).flat();
}

const images = () =>
  jobsOf({ part: 'vm' })
    .filter(({ name }) => onMachines.includes(name))
    .map(withVariants);

/** In a network namespace: Samba's ports are below 1024, and Schemathesis makes up hosts that are connected to. */
function alone({ argv, ...job }: Job): Job {
  return { ...job, argv: ['unshare', '-n', 'sh', '-c', 'ip link set lo up && exec "$@"', 'sh', ...argv] };
}

const activeDirectory = () =>
  alone(
    nodeJob('kit', 'active-directory', ['appliance-kit/tests/active-directory.nightly.ts'], undefined, {
      ...{ minutes: 5, repeat: './build.sh nightly --only access  #', after: ['prepare-tools', 'prepare-samba'] },
    }),
  );

/** As each role, and as a stranger. */
const FUZZED_AS = 5;
function routes(minutes: number): Job {
  const seconds = Math.floor((Math.max(2, minutes - 8) * 60) / FUZZED_AS);
  return alone(
    nodeJob('browser', 'openapi', ['tests/browser/openapi.nightly.ts'], undefined, {
      ...{ minutes, env: { CISTERN_FUZZ_SECONDS: String(seconds) }, repeat: './build.sh nightly --only access  #' },
      after: ['prepare-tools', 'prepare-pages', 'prepare-samba', 'prepare-schemathesis'],
    }),
  );
}

const access = (minutes: number) => [
  ...jobsOf({ part: 'kit', file: 'throttle.test.ts' }).map(withVariants),
  activeDirectory(),
  routes(Math.min(minutes, 30)),
];

const browsers = () => jobsOf({ part: 'browser' }).map(withVariants);

async function main(): Promise<boolean> {
  let only: Name[] = [...names];
  let given: number | undefined;
  const args = process.argv.slice(2);
  for (let at = 0; at < args.length; at += 2) {
    const value = args[at + 1];
    if (args[at] === '--minutes' && Number(value) > 0) given = Number(value);
    else if (args[at] === '--only' && names.includes(value as Name)) only = [value as Name];
    else usage(`'${args.slice(at, at + 2).join(' ')}' is not known`);
  }
  mkdirSync(logs, { recursive: true });
  for (const name of readdirSync(logs)) rmSync(path.join(logs, name), { recursive: true });
  const finished: { ended: Ended; results: Result[] }[] = [];
  for (const part of only) {
    const minutes = given ?? (part === 'soak' ? 120 : 60);
    console.log(`${clock()}  == ${part}, at most ${minutes} minutes`);
    const makers = { fuzz: fuzzers, crash: crashes, hostile: hostiles, race: races, vm: machines, image: images };
    const jobs = { ...makers, access, clients, soak: soaks, browser: browsers }[part](minutes);
    const prepared = (name: string, ...what: string[]): Job => ({
      ...{ part: 'prepare', name: `prepare-${name}`, argv: ['./build.sh', 'prepare', ...what], format: 'step' },
      ...{ minutes: 10, repeat: `./build.sh prepare ${what.join(' ')}`, after: ['prepare-tools'] },
    });
    const more: Partial<Record<Name, Job[]>> = {
      race: [prepared('race', 'tools', 'race')],
      access: [prepared('samba', 'tools', 'samba'), prepared('schemathesis', 'schemathesis')],
    };
    const preparations = [...preparationsFor(jobs), ...(more[part] ?? [])];
    await schedule([...preparations, ...jobs], {
      slots: 2,
      started: ({ name }) => console.log(`${clock()}          ${name}`),
      ended: (ended) => {
        const results = resultsOf(ended);
        finished.push({ ended, results });
        console.log(jobLine(ended, results));
        // What is measured is wanted whether it is within its bounds or not.
        if (ended.job.argv.includes('-v')) for (const note of notesOf(ended)) console.log(`          ${note}`);
      },
    });
  }
  console.log('');
  for (const line of partTable(finished.map(({ ended }) => ended))) console.log(line);
  for (const line of failures(finished)) console.log(line);
  const results = finished.flatMap((one) => one.results);
  console.log(`\n${counts(results)}`);
  return results.every(({ outcome }) => outcome !== 'failed');
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    if (signal === 'SIGHUP' && process.env.CISTERN_NOHUP) return;
    endAll();
    process.exit(130);
  });
}
process.exit((await main()) ? 0 : 1);
