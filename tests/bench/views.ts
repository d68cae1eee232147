// ./build.sh bench views: what a page costs at size. 5,000 hosts with 20 series each, sent through storaged as a sender does:
// the list, what has changed of it, values for all of them, an action on all of them, akd's memory, and how long Chromium
// takes to draw the table and the map again. Beside what is asked for; nothing here passes or fails.
import { readFileSync } from 'node:fs';
import { availableParallelism, cpus } from 'node:os';
import { startBrowser } from '../browser/browser.ts';
import { administrator, setUp } from '../stack/api.ts';
import { ask, until } from '../stack/http.ts';
import { Stack } from '../stack/stack.ts';
import { bundledAkd, memoryOf } from './akd.ts';
import { openMany } from './many.ts';

const quick = process.argv.includes('--quick');
const HOSTS = quick ? 500 : 5_000;
const SERIES = 20;
const ROUNDS = quick ? 20 : 100;
const ACTIONS = quick ? 5 : 20;
const AT_ONCE = 250;
const BROWSERS = quick ? 5 : 50;

const row = (what: string, measured: string, asked = '') =>
  console.log(`${what.padEnd(62)} ${measured.padStart(30)}${asked && `   (asked: ${asked})`}`);
const quantile = (times: readonly number[], q: number) =>
  times.toSorted((a, b) => a - b)[Math.min(times.length - 1, Math.floor(q * times.length))] ?? Number.NaN;
const both = (times: readonly number[]) =>
  `p50 ${quantile(times, 0.5).toFixed(0)} ms, p99 ${quantile(times, 0.99).toFixed(0)} ms`;

const stack = new Stack({ akd: bundledAkd() });

/** Ticks of /proc/PID/stat a second, on every Linux that Node runs on. */
const TICKS = 100;
/** Milliseconds of a core that akd has used so far: what a busy machine does not make longer. */
function usedByAkd(): number {
  const fields =
    readFileSync(`/proc/${stack.pid('akd')}/stat`, 'utf8')
      .split(') ')[1]
      ?.split(' ') ?? [];
  return ((Number(fields[11]) + Number(fields[12])) / TICKS) * 1000;
}

async function timed(times: number[], work: () => Promise<unknown>): Promise<void> {
  const began = performance.now();
  await work();
  times.push(performance.now() - began);
}

let browser: Awaited<ReturnType<typeof startBrowser>> | undefined;
try {
  await stack.start();
  const api = await setUp(stack);
  const { token } = await api.get<{ token: string }>('POST', '/api/tokens', { name: 'sender', role: 'writer' });
  const send = async (from: number, to: number, load: (host: number) => number) => {
    const lines: string[] = [];
    for (let host = from; host < to; host++) {
      const tags = `host=host-${host},site=s${host % 7},role=r${host % 3}`;
      lines.push(`system,${tags} load1=${load(host)},n_cpus=8`);
      for (let n = 2; n < SERIES; n++) lines.push(`load${n},${tags} value=${n}`);
    }
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'text/plain' };
    const reply = await ask(new URL('/write', stack.url), { method: 'POST', headers, body: lines.join('\n') });
    if (reply.status !== 204) throw new Error(`write: ${reply.status} ${reply.text.slice(0, 300)}`);
  };
  const all = async (load: (host: number) => number) => {
    for (let from = 0; from < HOSTS; from += AT_ONCE) await send(from, Math.min(HOSTS, from + AT_ONCE), load);
  };
  console.log(
    `${cpus()[0]?.model ?? 'unknown'} × ${availableParallelism()}; ${HOSTS} hosts with ${SERIES} series each`,
  );
  await all((host) => (host % 500 === 7 ? 60 : 4 + (host % 10) / 10));
  interface List {
    version: string;
    items: { name: string }[];
  }
  let list: List = { version: '', items: [] };
  await until('all hosts are known', async () => {
    list = await api.get<List>('GET', '/api/hosts');
    return list.items.length === HOSTS || undefined;
  });

  const whole: number[] = [];
  let before = usedByAkd();
  for (let n = 0; n < ROUNDS; n++)
    await timed(whole, async () => {
      list = await api.get<List>('GET', '/api/hosts');
    });
  row('the list of all hosts', both(whole), '300 ms at p99');
  row('                           processor of akd for each', `${((usedByAkd() - before) / ROUNDS).toFixed(0)} ms`);
  const some: number[] = [];
  for (let n = 0; n < ROUNDS; n++) {
    await api.get('PUT', `/api/hosts/host-${n}`, { note: `round ${n}`, ownLabels: {} });
    await timed(some, async () => {
      list = await api.get<List>('GET', `/api/hosts?since=${list.version}`);
    });
  }
  row('what has changed, of one host', both(some), '300 ms at p99');
  const values: number[] = [];
  for (let n = 0; n < Math.min(ROUNDS, 40); n++) {
    // Another metric each time: what is asked for again is kept for some seconds.
    const metric = `load${2 + (n % (SERIES - 2))}_value`;
    const of = ['max', 'sum', 'avg', 'min'][Math.floor(n / (SERIES - 2)) % 4];
    await timed(values, () => api.get('GET', `/api/host-values?metric=${metric}&of=${of}&group=site&group=role`));
  }
  row('a value for each, and who is unlike its peers', both(values), '300 ms at p99');
  const names = Array.from({ length: HOSTS }, (_, host) => `host-${host}`);
  const labels: number[] = [];
  before = usedByAkd();
  for (let n = 0; n < ACTIONS; n++)
    await timed(labels, () =>
      api.get('POST', '/api/hosts/label', { hosts: names, set: { round: String(n) }, remove: [] }),
    );
  row(`a label for ${HOSTS}`, both(labels), '300 ms');
  row('                           processor of akd for each', `${((usedByAkd() - before) / ACTIONS).toFixed(0)} ms`);
  const silences: number[] = [];
  for (let n = 0; n < ACTIONS; n++)
    await timed(silences, () =>
      api.get('POST', '/api/hosts/silence', { hosts: names, reason: 'bench', forSeconds: 60 }),
    );
  row(`a silence for ${HOSTS}`, both(silences), '300 ms');
  const retiring: number[] = [];
  for (let n = 0; n < ACTIONS; n++) await timed(retiring, () => api.get('POST', '/api/hosts/retire', { hosts: names }));
  row(`retiring ${HOSTS}, all of which still send`, both(retiring), '300 ms');
  const rules: number[] = [];
  const rule = { metric: 'system_load1', as: 'value', direction: 'above', limit: 1000, severity: 'info' };
  for (let n = 0; n < 3; n++)
    await timed(rules, () => api.get('POST', '/api/hosts/watch', { hosts: names, name: `Rule ${n}`, ...rule }));
  row(`a rule over ${HOSTS}`, both(rules), '300 ms');

  const held = () => {
    const { now, most } = memoryOf(stack.pid('akd'));
    return `${now} MiB, ${most} MiB`;
  };
  row('memory of akd, now and at most', held(), '250 MB');

  browser = await startBrowser();
  const context = await browser.newContext({ ignoreHTTPSErrors: true, viewport: { width: 1440, height: 900 } });
  const page = await context.newPage();
  page.setDefaultTimeout(120_000);
  await page.goto(`${stack.url}/hosts`);
  await page.getByLabel('Name').fill(administrator.name);
  await page.getByLabel('Password').fill(administrator.password);
  const opened = performance.now();
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText(new RegExp(`^${HOSTS.toLocaleString('en-GB')} hosts$`)).waitFor();
  row('from signing in to the table', `${(performance.now() - opened).toFixed(0)} ms`, '1 s');
  const measures = (name: string) =>
    page.evaluate((one) => performance.getEntriesByName(one).map(({ duration }) => duration), name);
  for (const search of ['host-4', 'host-49', 'host-4', 'host', '']) {
    await page.getByRole('searchbox', { name: 'Search hosts' }).fill(search);
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  }
  row('the table drawn again', both(await measures('hosts-table')), '100 ms');
  await page.goto(`${stack.url}/hosts?show=map&group=site&group=role`);
  const map = page.getByRole('application', { name: new RegExp(`^Map of ${HOSTS.toLocaleString('en-GB')} hosts`) });
  await map.focus();
  for (let n = 0; n < ROUNDS; n++) await page.keyboard.press(n % 3 ? 'ArrowRight' : 'ArrowDown');
  row('the map drawn again', both(await measures('hosts-map')), '100 ms');
  // From a change at the appliance to the screen: what is sent is that one host.
  const changes: number[] = [];
  await page.goto(`${stack.url}/hosts?search=host-42&sort=name`);
  await page.getByRole('link', { name: 'host-42', exact: true }).waitFor();
  for (let n = 0; n < Math.min(ROUNDS, 20); n++)
    await timed(changes, async () => {
      await api.get('POST', '/api/hosts/label', { hosts: ['host-42'], set: { seen: `n${n}` }, remove: [] });
      await page
        .getByText(new RegExp(`seen=n${n}(?:,|$)`))
        .first()
        .waitFor();
    });
  row('from an action on one to the screen', both(changes));

  for (const one of ['/status', '/hosts', '/alerts/log']) {
    before = usedByAkd();
    const { seconds, times, bytes } = await openMany(page, `${stack.url}${one}`, BROWSERS);
    row(`${BROWSERS} browsers at ${one}: what they ask for`, both(times), '300 ms at p99');
    row(
      '                           requests and kB a second',
      `${(times.length / seconds).toFixed(1)}, ${(bytes / seconds / 1000).toFixed(0)}`,
    );
    row(
      '                           processor of akd',
      `${((usedByAkd() - before) / seconds / 10).toFixed(0)} % of one`,
    );
  }
  row('memory of akd, now and at most', held(), '250 MB');
} finally {
  await browser?.close();
  await stack.stop();
}
