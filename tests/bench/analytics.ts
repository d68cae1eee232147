// ./build.sh bench analytics: what the Analytics pages cost the one who looks at them, and what measuring costs the
// machine. Real storaged, akd and nginx over the simulated platform, tracerd's place taken by the stand-in of the browser
// tests; tracerd's own figures are of a real one, on this machine's /proc. Chromium draws in software here: what a
// graphics card would do is in these figures as well.
// Nothing here passes or fails: the figures are read by people.
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { signInBy, startBrowser } from '../browser/browser.ts';
import { setUp } from '../stack/api.ts';
import { binaries, buildGo } from '../stack/build.ts';
import { until } from '../stack/http.ts';
import { Stack } from '../stack/stack.ts';

const WEEK = 604_800;
const EACH_SECOND = 2_000;
const BINS = 40;
const LIVE_SECONDS = 30;
const PAN_SECONDS = 5;
const REPEATS = 10;
const TICKS = 100; // of /proc's processor times, in a second

const row = (what: string, measured: string, asked: string) =>
  console.log(`${what.padEnd(62)} ${measured.padStart(34)}   (asked: ${asked})`);
const ordered = (times: readonly number[]) => [...times].sort((a, b) => a - b);
const median = (times: readonly number[]) => ordered(times)[Math.floor(times.length / 2)] as number;
const ms = (times: readonly number[]) => `${median(times).toFixed(1)} ms, worst ${Math.max(...times).toFixed(1)} ms`;

/** Processor seconds of a process so far. */
function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS;
}

/** `pid` and all that it has started. */
function family(pid: number): number[] {
  const parents = new Map<number, number>();
  for (const name of readdirSync('/proc').filter((one) => /^\d+$/.test(one))) {
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8').replace(/^.*\) /, '');
      parents.set(Number(name), Number(stat.split(' ')[1]));
    } catch {
      // It has ended meanwhile.
    }
  }
  const found = [pid];
  for (const one of found) for (const [child, parent] of parents) if (parent === one) found.push(child);
  return found;
}

/** A week of a timer: each second its 2,000 measurements, which move up and down with the hour. */
async function writeWeek(stack: Stack, end: number): Promise<void> {
  const start = end - WEEK;
  const batch = 3_600;
  for (let from = start; from < end; from += batch) {
    const samples = Array.from({ length: Math.min(batch, end - from) }, (_, at) => {
      const time = from + at;
      const bins: Record<string, number> = {};
      const centre = 12 + Math.round(8 * Math.sin(time / 9_000));
      let left = EACH_SECOND;
      for (let bin = 0; bin < BINS; bin++) {
        const count = bin === BINS - 1 ? left : Math.max(1, Math.floor(left / (3 + ((bin + time) % 5))));
        const place = centre + bin;
        const value = ((10 + (place % 90)) / 10) * 10 ** (Math.floor(place / 90) - 3);
        bins[value.toPrecision(2)] = (bins[value.toPrecision(2)] ?? 0) + count;
        left -= count;
        if (left <= 0) break;
      }
      return { name: 'bench.latency', labels: {}, time, histogram: { bins } };
    });
    await stack.import(samples);
  }
}

/** Notes when anything is drawn on a canvas. */
const noteDrawing = () => {
  const drawn = { last: 0, count: 0 };
  (globalThis as unknown as { drawn: typeof drawn }).drawn = drawn;
  for (const name of ['drawImage', 'putImageData', 'fillRect', 'stroke', 'fill'] as const) {
    const method = CanvasRenderingContext2D.prototype[name] as (...args: unknown[]) => unknown;
    Object.assign(CanvasRenderingContext2D.prototype, {
      [name](this: CanvasRenderingContext2D, ...args: unknown[]) {
        drawn.last = performance.now();
        drawn.count += 1;
        return method.apply(this, args);
      },
    });
  }
};

/** From choosing another range to the last stroke that it leads to, once the answer is there. */
async function choose(page: Page, range: string): Promise<number> {
  return page.evaluate(async (value) => {
    const select = document.querySelector('select[aria-label="Time range"]') as HTMLSelectElement;
    const { drawn } = globalThis as unknown as { drawn: { last: number } };
    const before = performance.getEntriesByType('resource').length;
    const set = Object.getOwnPropertyDescriptor(HTMLSelectElement.prototype, 'value')?.set;
    const clicked = performance.now();
    set?.call(select, value);
    select.dispatchEvent(new Event('change', { bubbles: true }));
    const answered = () =>
      performance
        .getEntriesByType('resource')
        .slice(before)
        .some(({ name }) => /histogram\/heatmap|columns/.test(name));
    const deadline = clicked + 20_000;
    while (!answered() && performance.now() < deadline) await new Promise(requestAnimationFrame);
    const there = performance.now();
    // Drawn in the frame after the answer; then quiet.
    while ((drawn.last < there - 50 || performance.now() - drawn.last < 300) && performance.now() < there + 3_000) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    return drawn.last - clicked;
  }, range);
}

async function heatmapOfAWeek(stack: Stack, page: Page): Promise<void> {
  const end = Math.floor(Date.now() / 1000) - 60;
  const began = performance.now();
  await writeWeek(stack, end);
  console.log(
    `a week of one second, ${((WEEK * EACH_SECOND) / 1e9).toFixed(2)} billion measurements, was written in ${((performance.now() - began) / 1000).toFixed(0)} s`,
  );
  // As of a week that has passed: all but the newest hours is in blocks.
  const flushed = await stack.socket('storaged', '/admin/flush', { method: 'POST' });
  if (flushed.status !== 200) throw new Error(flushed.text);
  const ask = (from: number) =>
    stack.socket(
      'storaged',
      `/api/v1/histogram/heatmap?query=${encodeURIComponent('{__name__="bench.latency"}')}&start=${from}&end=${from + WEEK}&step=${WEEK / 112}&format=columns`,
    );
  for (const [what, from] of [
    ['aligned to the hour', Math.ceil((end - WEEK) / 3600) * 3600],
    ['beginning at an odd second', end - WEEK + 1_234],
  ] as const) {
    const times: number[] = [];
    for (let at = 0; at < REPEATS + 1; at++) {
      const asked = performance.now();
      const reply = await ask(from);
      if (reply.status !== 200) throw new Error(reply.text);
      if (at > 0) times.push(performance.now() - asked);
    }
    row(`a week's heatmap, the server's part, ${what}`, ms(times), '≤ 20 ms');
  }
  await page.goto(`${stack.url}/analytics/explore?metric=bench.latency&range=3600`);
  await page.getByRole('img', { name: /bench\.latency/ }).waitFor();
  const times: number[] = [];
  for (let at = 0; at < REPEATS; at++) {
    await choose(page, '3600');
    times.push(await choose(page, String(WEEK)));
  }
  row("a week's heatmap, from the click to the last stroke", ms(times), '≤ 100 ms');
}

const ten = [
  ...['cpu.utilization[mode]', 'disk.bytes[disk]', 'net.bytes[direction]', 'io.ops[type]', 'io.ops[latency]'],
  ...['vdev.ops[latency]', 'io.ops[disk]', 'http.requests[uri]', 'net.bytes', 'io.ops'],
];

async function tenCharts(stack: Stack, page: Page, browserPid: number): Promise<void> {
  const charts = ten.map((statistic, at) => ({ id: `c${at + 1}`, statistic }));
  await page.goto(`${stack.url}/analytics/charts?charts=${encodeURIComponent(JSON.stringify(charts))}`);
  await page.waitForFunction(() => document.querySelectorAll('canvas').length >= 8);
  await sleep(5_000);
  const all = () => family(browserPid).reduce((sum, pid) => sum + cpuSeconds(pid), 0);
  const before = all();
  await sleep(LIVE_SECONDS * 1000);
  const share = `${(((all() - before) / LIVE_SECONDS) * 100).toFixed(1)} % of a core`;
  row(`${ten.length} live charts: all of the browser, drawing in software`, share, '≤ 15 %');

  const box = await page.locator('canvas').first().boundingBox();
  if (!box) throw new Error('no chart is shown');
  const frames = page.evaluate(async (seconds) => {
    const times: number[] = [];
    const end = performance.now() + seconds * 1000;
    let before = performance.now();
    while (before < end) {
      const now = await new Promise<number>(requestAnimationFrame);
      times.push(now - before);
      before = now;
    }
    return times;
  }, PAN_SECONDS);
  await page.mouse.move(box.x + box.width * 0.8, box.y + box.height / 2);
  await page.mouse.down();
  const stop = Date.now() + PAN_SECONDS * 1000;
  for (let at = 0; Date.now() < stop; at++) {
    await page.mouse.move(box.x + box.width * (0.5 + 0.3 * Math.cos(at / 20)), box.y + box.height / 2);
    await sleep(8);
  }
  await page.mouse.up();
  const times = ordered((await frames).slice(2));
  const rate = times.length / (times.reduce((sum, time) => sum + time, 0) / 1000);
  const slow = times[Math.floor(times.length * 0.95)] ?? 0;
  row('panning over ten charts', `${rate.toFixed(1)} frames/s, 95 % ≤ ${slow.toFixed(1)} ms`, '60 frames/s');
}

/** A real tracerd with what it always measures, over this machine's own counters; DTrace is the VM tests' part. */
async function idleTracer(): Promise<void> {
  await buildGo(['tracerd']);
  const dir = mkdtempSync(path.join(tmpdir(), 'cistern-bench-'));
  mkdirSync(path.join(dir, 'state'));
  const socket = path.join(dir, 'http.sock');
  const child = spawn(
    path.join(binaries, 'tracerd'),
    ['--run', dir, '--dir', path.join(dir, 'state'), '--storaged', path.join(dir, 'none.sock'), '--dtrace', ''],
    { stdio: 'ignore' },
  );
  try {
    const pid = child.pid as number;
    await until('tracerd answers', async () => readdirSync(dir).includes(path.basename(socket)) || undefined);
    await sleep(5_000);
    const before = cpuSeconds(pid);
    await sleep(LIVE_SECONDS * 1000);
    const share = (cpuSeconds(pid) - before) / LIVE_SECONDS;
    const kilobytes = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
    row('tracerd with what is always on: memory', `${(kilobytes / 1024).toFixed(1)} MiB`, '≤ 30 MB');
    row('tracerd with what is always on: processor', `${(share * 100).toFixed(2)} % of a core`, '≤ 2 %');
  } finally {
    child.kill();
    rmSync(dir, { recursive: true, force: true });
  }
}

const stack = new Stack({ tracerd: { historySeconds: 600 } });
const browser = await startBrowser();
try {
  await stack.start();
  await setUp(stack);
  await idleTracer();
  const context = await browser.newContext({ ignoreHTTPSErrors: true, viewport: { width: 1440, height: 900 } });
  await context.addInitScript(noteDrawing);
  const page = await context.newPage();
  await page.goto(`${stack.url}/sign-in`);
  await signInBy(page);
  const system = await (await browser.newBrowserCDPSession()).send('SystemInfo.getProcessInfo');
  const browserPid = system.processInfo.find(({ type }) => type === 'browser')?.id as number;
  await tenCharts(stack, page, browserPid);
  await heatmapOfAWeek(stack, page);
  console.log(
    'From opening a traced statistic to its first point: printed by the VM test (tests/vm/analytics.test.ts), emulated.',
  );
} finally {
  await browser.close();
  await stack.stop();
}
