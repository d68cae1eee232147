// ./build.sh bench image: size, build times, boot time, what it costs idle, and how soon `dev` is ready; each beside what was asked
// for. Nothing here passes or fails: machines are shared and noisy, so the figures are read by people.
//
//   --no-cold   leaves out the build with an empty cache (about ten minutes)
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Person } from '../stack/api.ts';
import { idle } from '../vm/idle.ts';
import { Machine, usual } from '../vm/machine.ts';
import { until } from '../vm/until.ts';

const rows: { what: string; measured: string; asked: string }[] = [];
function row(what: string, measured: string, asked: string): void {
  rows.push({ what, measured, asked });
  console.log(`${what.padEnd(52)} ${measured.padStart(12)}   (asked: ${asked})`);
}
const seconds = (since: number) => (Date.now() - since) / 1000;
const minutes = (n: number) => `${Math.floor(n / 60)} min ${Math.round(n % 60)} s`;

function build(env: NodeJS.ProcessEnv = {}): number {
  const started = Date.now();
  const { status } = spawnSync('./build.sh', ['image'], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  if (status !== 0) throw new Error('the image was not built');
  return seconds(started);
}

// --- building ---
if (!process.argv.includes('--no-cold')) {
  const cache = mkdtempSync('/var/tmp/cistern-bench-');
  row('image build, nothing cached', minutes(build({ CISTERN_CACHE: cache })), '≤ 35 min');
  rmSync(cache, { recursive: true, force: true });
  // out/image points into the cache that was just removed.
  build();
}
const grub = 'image/debian/grub.cfg';
const original = readFileSync(grub, 'utf8');
try {
  // A changed line in what the image is made of: its own stage is built again, the others come from the cache.
  writeFileSync(grub, `${original}# bench ${Date.now()}\n`);
  row('image build, packages and modules cached', minutes(build()), '≤ 6 min');
} finally {
  writeFileSync(grub, original);
}
build();

const directory = resolve('out/image');
const size = (ending: string) =>
  statSync(join(directory, readdirSync(directory).find((name) => name.endsWith(ending)) as string)).size;
row('compressed image (raw.zst)', `${Math.round(size('.raw.zst') / 1e6)} MB`, '≤ 300 MB');

// --- booting ---
const work = resolve('out/bench');
rmSync(work, { recursive: true, force: true });
const image = join(directory, readdirSync(directory).find((name) => name.endsWith('.qcow2')) as string);
const machine = await Machine.create(work, image, { hardware: { ...usual, processors: 2 } });
try {
  const powered = Date.now();
  await machine.start();
  const asked = machine.accelerated ? '≤ 25 s' : '≤ 150 s under emulation';
  const api = new Person(machine.url);
  await until(
    'the page answers',
    600,
    async () => (await api.ask('GET', '/')).status === 200 && (await api.ask('GET', '/api/setup')).status === 200,
    250,
  );
  row('first boot: power to a usable page', `${seconds(powered).toFixed(0)} s`, asked);

  const code = await until('the set-up code', 60, () => /Set-up code {2}(\S+)/.exec(machine.console())?.[1]);
  await api.get('POST', '/api/setup/enter-code', { code });
  await api.get('POST', '/api/setup/create-administrator', { name: 'admin', password: 'measured and found well' });
  await api.get('POST', '/api/setup/set-identity', { hostName: 'bench', timeZone: 'Etc/UTC' });
  const disks = machine.disks.map(({ serial }) => `scsi-0QEMU_QEMU_HARDDISK_${serial}`);
  await api.get('POST', '/api/pools', { name: 'tank', layout: 'mirror', disks, telemetry: true });
  await until(
    'the store takes samples in',
    300,
    async () => (await api.ask('GET', '/api/v1/status/storage')).status === 200,
    1000,
  );

  await machine.ssh('sync');
  const again = Date.now();
  await machine.reset();
  await until(
    'the machine is down',
    60,
    async () => (await api.ask('GET', '/api/setup').catch(() => undefined)) === undefined,
    250,
  );
  await until(
    'the page answers',
    600,
    async () => (await api.ask('GET', '/')).status === 200 && (await api.ask('GET', '/api/session')).status === 200,
    250,
  );
  row('later boots: reset to a usable sign-in page', `${seconds(again).toFixed(0)} s`, asked);

  // Idle: a minute without a request.
  await machine.waitForSsh(120);
  await new Promise((done) => setTimeout(done, 60_000));
  const processes = (
    await machine.sh(
      'for d in /proc/[0-9]*; do p=$(sed -n "s/^Pss: *\\([0-9]*\\) kB/\\1/p" $d/smaps_rollup 2>/dev/null); [ -n "$p" ] && echo "$p $(cat $d/comm)"; done; true',
    )
  )
    .trim()
    .split('\n')
    .map((line) => line.split(' ') as [string, string]);
  const total = processes.reduce((sum, [kilobytes]) => sum + Number(kilobytes), 0);
  row('idle: resident memory of all processes', `${Math.round((total * 1024) / 1e6)} MB`, '≤ 300 MB');
  const largest = processes.sort(([a], [b]) => Number(b) - Number(a)).slice(0, 8);
  console.log(
    `    the largest: ${largest.map(([kilobytes, name]) => `${name} ${Math.round((Number(kilobytes) * 1024) / 1e6)} MB`).join(', ')}`,
  );
  const { busyRatio, forksPerSecond } = await idle(machine);
  const most = machine.accelerated ? '≤ 1 %' : '≤ 15 % under emulation';
  row('idle: processors, of one of them', `${(busyRatio * 100).toFixed(1)} %`, most);
  row('idle: processes started', `${forksPerSecond.toFixed(2)} a second`, '≤ 0.5');
  const used = /Mem: +\d+ +(\d+)/.exec(await machine.ssh('free', '-m'))?.[1];
  row('idle: memory in use, with the kernel and the ARC', `${used} MiB`, '≤ 390 MB of 2048 MiB');
} finally {
  await machine.kill();
}

// --- dev ---
for (const first of [true, false]) {
  const started = Date.now();
  const dev = spawn('./build.sh', ['dev'], { stdio: ['ignore', 'pipe', 'ignore'], detached: true });
  let said = '';
  dev.stdout.on('data', (text) => {
    said += text;
  });
  try {
    await until('dev is ready', 300, () => /https:\/\/localhost:\d+/.test(said), 100);
    if (!first) row('./build.sh dev: ready, after the first time', `${seconds(started).toFixed(1)} s`, '≤ 20 s');
  } finally {
    const ended = new Promise((done) => dev.once('exit', done));
    process.kill(-(dev.pid as number), 'SIGINT');
    await ended;
  }
}

writeFileSync(resolve('out/bench-image.json'), `${JSON.stringify(rows, null, 2)}\n`);
