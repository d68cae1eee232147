// The test runner's own tests: what it makes of events, in which order it starts jobs, and what it chooses.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { selectionsFor } from './changed.ts';
import { brokenNames } from './docs.ts';
import { cpuOf, type Ended, fileOf, type Job, root, runJob } from './job.ts';
import { parseArguments } from './main.ts';
import { chooseFiles, jobsOf, preparationsFor } from './plan.ts';
import { counts, failures } from './report.ts';
import { goNotes, goResults, nodeResults, resultsOf } from './results.ts';
import { schedule } from './schedule.ts';

const job = (name: string, more: Partial<Job> = {}): Job => ({
  ...{ part: 'lint', name, argv: ['true'], format: 'check', minutes: 1, repeat: `repeat ${name}` },
  ...more,
});
const event = (fields: object) => JSON.stringify(fields);

test('what a Go test that passed has measured is printed', () => {
  const said = (Output: string) => event({ Action: 'output', Package: 'p', Test: 'TestA', Output });
  const text = [said('=== RUN   TestA\n'), said('    soak_test.go:277: 20 minutes\n'), said('--- PASS: TestA (1s)\n')];
  assert.deepEqual(goNotes(text.join('\n')), ['20 minutes']);
});

test('of Go’s events each failed test is named once, with what it said and how to repeat it', () => {
  const of = (Action: string, Test: string, more = {}) =>
    event({ Action, Package: 'cistern/services/store', ...(Test && { Test }), ...more });
  const text = [
    of('output', 'TestA/inner', { Output: 'it is 2\n' }),
    of('fail', 'TestA/inner', { Elapsed: 1 }),
    of('fail', 'TestA', { Elapsed: 1 }),
    of('pass', 'TestB', { Elapsed: 2 }),
    of('skip', 'TestC'),
    of('fail', ''),
    event({ Action: 'build-output', ImportPath: 'cistern/services/cli [x.test]', Output: 'undefined: y\n' }),
    event({ Action: 'fail', Package: 'cistern/services/cli' }),
    '{"Action":"outp',
  ].join('\n');
  const results = goResults(text, 'go', (folder, name) => `${folder} ${name}`);
  assert.deepEqual(
    results.map(({ name, outcome }) => [name, outcome]),
    [
      ['store TestA/inner', 'failed'],
      ['store TestB', 'passed'],
      ['store TestC', 'skipped'],
      ['cli (the package)', 'failed'],
    ],
  );
  assert.equal(results[0]?.output, 'it is 2');
  assert.equal(results[0]?.repeat, 'cistern/services/store TestA/inner');
  assert.equal(counts(results), '1 passed, 2 failed, 1 skipped');
});

test('of Node’s tests a file that fails as a whole is one, too', () => {
  const line = (name: string, outcome: string) =>
    event({ file: 'tests/vm/alerts.test.ts', name, outcome, seconds: 1, output: 'why' });
  const text = [line('alerts › a limit', 'failed'), line('tests/vm/alerts.test.ts', 'failed')].join('\n');
  const results = nodeResults(text, 'vm', (file, name) => `${file} ${name}`);
  assert.deepEqual(
    results.map(({ name }) => name),
    ['alerts: alerts › a limit', 'tests/vm/alerts.test.ts (the file)'],
  );
});

test('a job’s output is whole in its own log, and a failure is printed with its command', async () => {
  const failing = job('a check: one', { argv: ['sh', '-c', 'echo first; echo second >&2; exit 3'] });
  const ended = await runJob(failing);
  assert.equal(ended.code, 3);
  const results = resultsOf(ended);
  const said = failures([{ ended, results }]).join('\n');
  assert.match(
    said,
    /FAILED {2}lint: a check: one\n[\s\S]*first\n {4}second\n {4}log: out\/log\/a-check-one\.log\n {4}repeat: repeat a check: one$/,
  );
  rmSync(fileOf(failing, 'log'));
});

test('a job stands back for others, and still says how it ended', async () => {
  const polite = job('polite', { argv: ['sh', '-c', 'nice; exit 4'], nice: 7 });
  assert.equal((await runJob(polite)).code, 4);
  const own = Number(execFileSync('nice', { encoding: 'utf8' }));
  assert.equal(Number(readFileSync(fileOf(polite, 'log'), 'utf8').trim().split('\n').at(-1)), Math.min(own + 7, 19));
  rmSync(fileOf(polite, 'log'));
});

test('a job that does not end is ended, with what it has started', async () => {
  const dir = mkdtempSync(path.join(tmpdir(), 'cistern-run-'));
  const slow = job('slow', { argv: ['sh', '-c', `sleep 600 & echo $! >${dir}/pid; wait`], minutes: 0.02 });
  const ended = await runJob(slow);
  assert.match(ended.trouble, /did not end within/);
  const pid = execFileSync('cat', [`${dir}/pid`], { encoding: 'utf8' }).trim();
  const state = () => execFileSync('sh', ['-c', `ps -o stat= -p ${pid} || true`], { encoding: 'utf8' }).trim();
  const deadline = Date.now() + 20_000;
  while (!/^(Z.*)?$/.test(state()) && Date.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 50));
  assert.match(state(), /^(Z.*)?$/);
  rmSync(dir, { recursive: true });
  rmSync(fileOf(slow, 'log'));
});

test('jobs wait for what they need, and what needs a failed one is not started', async () => {
  const order: string[] = [];
  let most = 0;
  let running = 0;
  const run = async (one: Job): Promise<Ended> => {
    order.push(one.name);
    most = Math.max(most, ++running);
    await new Promise((resolve) => setTimeout(resolve, 5));
    running--;
    return { job: one, code: one.name === 'bad' ? 1 : 0, trouble: '', began: 0, seconds: 1, cpuSeconds: 1 };
  };
  const jobs = [
    job('last', { after: ['first'] }),
    job('orphan', { after: ['bad'] }),
    job('its child', { after: ['orphan'] }),
    job('bad'),
    job('first', { priority: 9 }),
    job('free', { after: ['not of this run'] }),
  ];
  const ended = await schedule(jobs, { slots: 2, run });
  assert.equal(ended.length, jobs.length);
  assert.equal(order[0], 'first');
  assert.ok(most <= 2);
  assert.ok(!order.includes('orphan') && !order.includes('its child'));
  assert.match(ended.find(({ job: { name } }) => name === 'orphan')?.trouble ?? '', /“bad” failed/);
});

test('jobs that stay alone run together as far as their shares go', async () => {
  const events: string[] = [];
  const ends = new Map<string, () => void>();
  const run = (one: Job) => {
    events.push(one.name);
    return new Promise<Ended>((resolve) => {
      ends.set(one.name, () => resolve({ job: one, code: 0, trouble: '', began: 0, seconds: 1, cpuSeconds: 1 }));
    });
  };
  const half = { alone: 'machine', share: 0.5, slots: 0.5 };
  const jobs = [job('a', { ...half, priority: 9 }), job('b', { alone: 'machine', priority: 8 }), job('c', half)];
  const all = schedule([...jobs, job('d', half), job('e')], { slots: 2.5, run });
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  await turn();
  assert.deepEqual(events, ['a', 'c', 'e']);
  for (const [ended, then] of [
    ['a', ['a', 'c', 'e', 'd']],
    ['c', ['a', 'c', 'e', 'd']],
    ['d', ['a', 'c', 'e', 'd', 'b']],
  ] as const) {
    ends.get(ended)?.();
    await turn();
    assert.deepEqual(events, then, `after ${ended}`);
  }
  for (const name of ['b', 'e']) ends.get(name)?.();
  assert.equal((await all).length, 5);
});

test('of two jobs that stay alone the second starts early only when nothing but waiting ones is left, and when it may', async () => {
  for (const pairsAtTheEnd of [true, false]) {
    const events: string[] = [];
    const ends = new Map<string, () => void>();
    const run = (one: Job) => {
      events.push(one.name);
      return new Promise<Ended>((resolve) => {
        ends.set(one.name, () => resolve({ job: one, code: 0, trouble: '', began: 0, seconds: 1, cpuSeconds: 1 }));
      });
    };
    const alone = { alone: 'machine', pairsAtTheEnd, priority: 9 };
    const all = schedule([job('a', alone), job('b', alone), job('c'), job('d', { slots: 0.5 })], {
      ...{ slots: 2.5, run },
    });
    const turn = () => new Promise((resolve) => setImmediate(resolve));
    await turn();
    assert.deepEqual(events, ['a', 'c', 'd']);
    ends.get('c')?.();
    await turn();
    assert.deepEqual(events, pairsAtTheEnd ? ['a', 'c', 'd', 'b'] : ['a', 'c', 'd']);
    ends.get('d')?.();
    ends.get('a')?.();
    await turn();
    assert.deepEqual(events, ['a', 'c', 'd', 'b']);
    ends.get('b')?.();
    assert.equal((await all).length, 4);
  }
});

test('arguments choose parts, files and names', () => {
  assert.deepEqual(parseArguments([]).chosen, [
    { part: 'lint' },
    { part: 'unit' },
    { part: 'browser' },
    { part: 'vm' },
  ]);
  assert.deepEqual(parseArguments(['vm', 'alerts', 'a', 'limit', '--stress', '3']), {
    ...{ chosen: [{ part: 'vm', file: 'alerts', name: 'a limit' }], stress: 3, slots: 0 },
  });
  assert.deepEqual(parseArguments(['lint', 'vm']).chosen, [{ part: 'lint' }, { part: 'vm' }]);
  assert.deepEqual(chooseFiles(['a/pools.test.ts', 'a/spools.test.ts'], 'pools'), ['a/pools.test.ts']);
  assert.deepEqual(chooseFiles(['a/pools.test.ts', 'a/spools.test.ts'], 'pool').length, 2);
});

test('a VM test needs the saved machines, and they need the image', () => {
  const jobs = jobsOf({ part: 'vm', file: 'alerts' });
  assert.equal(jobs.length, 1);
  const names = preparationsFor(jobs).map(({ name }) => name);
  for (const name of ['prepare-tools', 'prepare-image', 'prepare-machines']) assert.ok(names.includes(name), name);
  assert.ok(!names.includes('prepare-pages'));
});

test('each change is looked at by the lints, and by the tests of its folder', () => {
  assert.deepEqual(selectionsFor([]), []);
  assert.deepEqual(selectionsFor(['docs/TESTING.md']), [{ part: 'lint' }]);
  assert.deepEqual(selectionsFor(['tests/vm/alerts.test.ts', 'tests/vm/alerts.test.ts']), [
    { part: 'lint' },
    { part: 'vm', file: 'alerts' },
  ]);
  assert.deepEqual(selectionsFor(['tests/vm/alerts.test.ts', 'tests/vm/machine.ts']), [
    { part: 'lint' },
    { part: 'vm' },
  ]);
});

test('names of files that documents give are looked for', () => {
  const text =
    'See [the plan](../tests/run/plan.ts), [nothing](gone.md)\n`tests/run/gone.ts` `tests/run` `/opt/x` `out/log/`';
  assert.deepEqual(brokenNames('docs/X.md', text, new Set(['tests'])), [
    'docs/X.md:1: gone.md',
    'docs/X.md:2: tests/run/gone.ts',
  ]);
});

test('a commit’s subject has its form', () => {
  const dir = mkdtempSync(path.join(tmpdir(), 'cistern-run-'));
  const good = (subject: string) => {
    writeFileSync(`${dir}/message`, `${subject}\n\nThe reason.\n`);
    try {
      execFileSync(path.join(root, 'build/hooks/commit-msg'), [`${dir}/message`], { stdio: 'pipe' });
      return true;
    } catch {
      return false;
    }
  };
  assert.ok(good('journal: trim segments after a flush'));
  assert.ok(good('tests/vm, build: save the machine once'));
  assert.ok(!good('Trim segments after a flush'));
  assert.ok(!good('journal: trim segments.'));
  assert.ok(!good(`journal: ${'x'.repeat(70)}`));
  assert.ok(!good('journal: trim segments (#12)'));
  rmSync(dir, { recursive: true });
});

test('the processor’s time is read from what a shell prints', () => {
  assert.equal(cpuOf('0m0.01s 0m0.02s\n1m2.50s 0m0.50s\n'), 63);
});

test('a job that hangs is ended, and its log says what it was running', async () => {
  const dir = mkdtempSync(path.join(tmpdir(), 'hang-'));
  const file = path.join(dir, 'for-ever.test.mjs');
  writeFileSync(file, 'await new Promise(() => setInterval(() => {}, 1000));\n');
  const hangs = job('a job that hangs', {
    argv: ['env', '-u', 'NODE_TEST_CONTEXT', process.execPath, '--test', file],
    minutes: 0.1,
  });
  const { trouble } = await runJob(hangs);
  assert.match(trouble, /did not end within/);
  assert.match(
    readFileSync(fileOf(hangs, 'log'), 'utf8'),
    /these are its processes:[\s\S]*for-ever\.test\.mjs[\s\S]*Interrupted while running:[\s\S]*for-ever\.test\.mjs/,
  );
  for (const kind of ['log', 'times'] as const) rmSync(fileOf(hangs, kind), { force: true });
  rmSync(dir, { recursive: true });
});
