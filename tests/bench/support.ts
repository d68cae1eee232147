// ./build.sh bench support: how soon a bundle says something, how long it takes and what memory it needs, and how fast it is
// downloaded beside a plain file of the same bytes. Real supportd, akd and nginx over the simulated platform: the steps are
// those of this machine, so the bundle's own time is a hint; the VM test prints it for the appliance (under emulation).
// Nothing here passes or fails: the figures are read by people.
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { appendFileSync, linkSync, readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { administrator, setUp } from '../stack/api.ts';
import { ask, until } from '../stack/http.ts';
import { Stack } from '../stack/stack.ts';

const ROUNDS = 5;
const BYTES = 1 << 30;

const row = (what: string, measured: string, asked: string) =>
  console.log(`${what.padEnd(62)} ${measured.padStart(34)}   (asked: ${asked})`);
const median = (values: readonly number[]) =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] as number;

interface Bundle {
  readonly id: string;
  readonly state: string;
  readonly bytes: number;
  readonly percent: number;
  readonly steps: readonly { readonly state: string }[];
}

/** The most memory that the process with this word in its arguments has ever had, in MiB. */
function peakOf(word: string): number {
  for (const name of readdirSync('/proc').filter((one) => /^\d+$/.test(one))) {
    try {
      if (!readFileSync(`/proc/${name}/cmdline`, 'utf8').split('\0').includes(word)) continue;
      return Number(/^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${name}/status`, 'utf8'))?.[1]) / 1024;
    } catch {
      // It has ended meanwhile.
    }
  }
  throw new Error(`no process has ${word} in its arguments`);
}

/** Bytes a second, over TLS, into nothing. */
function download(url: string, cookie: string): number {
  const args = ['-sSkf', '-o', '/dev/null', '-w', '%{speed_download} %{size_download}', '-H', `Cookie: ${cookie}`, url];
  const [speed, size] = execFileSync('curl', args, { encoding: 'utf8' }).split(' ').map(Number) as [number, number];
  if (size < BYTES) throw new Error(`${url}: only ${size} bytes came`);
  return speed;
}

const stack = new Stack();
try {
  await stack.start();
  const person = await setUp(stack);
  const session = await ask(new URL('/api/session', stack.url), {
    method: 'POST',
    headers: { origin: stack.url },
    body: { user: administrator.name, password: administrator.password },
  });
  const cookie = (session.headers['set-cookie'] ?? []).map((line) => line.split(';', 1)[0]).join('; ');

  const begun = performance.now();
  const { id } = await person.get<Bundle>('POST', '/api/bundles', {});
  const first = await until('the bundle has begun to say something', async () => {
    const now = await person.get<Bundle>('GET', `/api/bundles/${id}`);
    return now.percent > 0 || now.steps.some(({ state }) => state !== 'waiting') ? performance.now() : undefined;
  });
  const bundle = await until(
    'the bundle is done',
    async () => {
      const now = await person.get<Bundle>('GET', `/api/bundles/${id}`);
      return now.state === 'building' ? undefined : now;
    },
    240,
  );
  const took = (performance.now() - begun) / 1000;
  row('click → first progress', `${((first - begun) / 1000).toFixed(2)} s`, '≤ 1 s');
  row(
    `a whole bundle (${bundle.steps.length} steps of this machine, ${bundle.bytes} bytes)`,
    `${took.toFixed(1)} s`,
    '≤ 30 s',
  );
  row('supportd at most', `${peakOf(path.join(stack.dir, 'support')).toFixed(0)} MiB`, '≤ 100 MB');

  // A bundle of a gigabyte, and the same bytes as one of the pages' files.
  const archive = path.join(stack.dir, 'support', `${id}.tar.zst`);
  while (statSync(archive).size < BYTES) appendFileSync(archive, randomBytes(16 << 20));
  linkSync(archive, path.join(stack.dir, 'ui/assets/plain.bin'));
  const speeds = { bundle: [] as number[], plain: [] as number[] };
  for (let round = 0; round <= ROUNDS; round++) {
    const bundleSpeed = download(`${stack.url}/api/bundles/${id}/content`, cookie);
    const plainSpeed = download(`${stack.url}/assets/plain.bin`, cookie);
    if (round === 0) continue; // the page cache
    speeds.bundle.push(bundleSpeed);
    speeds.plain.push(plainSpeed);
  }
  const [ours, plain] = [median(speeds.bundle), median(speeds.plain)];
  row(
    'download of 1 GiB, median of 5, in turns with a plain file',
    `${(ours / 1e6).toFixed(0)} of ${(plain / 1e6).toFixed(0)} MB/s, ${((100 * ours) / plain).toFixed(0)} %`,
    '≥ 80 %',
  );
} finally {
  await stack.stop();
}
