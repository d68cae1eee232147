// Worksheets and statistics: drawn, drilled into, moved through time, held against a limit, saved, taken away.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import type { Download, Locator, Page } from 'playwright-core';
import { setUp } from '../stack/api.ts';
import { until } from '../stack/http.ts';
import type { Stack } from '../stack/stack.ts';
import { lookAt, type Person, person, signInBy, withStack } from './browser.ts';

let stack: Stack;
let someone: Person;
/** When the history began to be made, in seconds. */
let began = 0;
before(async () => {
  began = Math.floor(Date.now() / 1000);
  stack = await withStack({ tracerd: { historySeconds: 600, gap: { from: 200, to: 140 } } });
  await setUp(stack);
  someone = await person(stack);
});
after(async () => {
  await someone?.close();
  await stack?.stop();
});

const to = (path: string) => `/sign-in?to=${encodeURIComponent(path)}`;
const charts = (...list: object[]) =>
  `/analytics/charts?charts=${encodeURIComponent(JSON.stringify(list.map((chart, at) => ({ id: `c${at + 1}`, ...chart }))))}`;
const plot = (page: Page | Locator, name: string | RegExp) => page.getByRole('group', { name });

/** How much of a chart's canvas is painted within a part of its width, 0..1. */
async function painted(page: Page | Locator, name: RegExp, from = 0, until = 1): Promise<number> {
  return page.getByRole('img', { name }).evaluate(
    (canvas: HTMLCanvasElement, [left, right]) => {
      // A copy, because reading back makes a canvas slow for good.
      const copy = document.createElement('canvas');
      [copy.width, copy.height] = [canvas.width, canvas.height];
      const context = copy.getContext('2d', { willReadFrequently: true }) as CanvasRenderingContext2D;
      context.drawImage(canvas, 0, 0);
      const [inner, edge] = [72 / canvas.clientWidth, 12 / canvas.clientWidth];
      const x = (share: number) => Math.round((inner + share * (1 - inner - edge)) * canvas.width);
      const width = Math.max(1, x(right as number) - x(left as number));
      const top = Math.round((canvas.height * 12) / canvas.clientHeight);
      const height = Math.round((canvas.height * (canvas.clientHeight - 40)) / canvas.clientHeight);
      const { data } = context.getImageData(x(left as number), top, width, height);
      let filled = 0;
      for (let at = 3; at < data.length; at += 4) if ((data[at] as number) > 200) filled += 1;
      return filled / (width * height);
    },
    [from, until],
  );
}

test('the ready worksheet draws this machine, live, without any configuration', async (t) => {
  const { page } = await someone.visit(t, to('/analytics'));
  await signInBy(page);
  for (const name of [/^CPU utilization by mode/, /^Disk bytes by disk/, /^Network bytes by direction/]) {
    // What is out of sight is not painted.
    await plot(page, name).first().scrollIntoViewIfNeeded();
    await until(`${name} is drawn`, async () => (await painted(page, name)) > 0.05);
  }
  await page
    .getByRole('region', { name: 'Disk bytes by disk' })
    .getByRole('button', { name: 'sda', exact: true })
    .waitFor();
  await lookAt(page, 'analytics-worksheet');
});

test('a value is highlighted, then drilled into; each step is in the address, and back undoes it', async (t) => {
  const { page } = await someone.visit(t, to(charts({ statistic: 'io.ops[type]' })));
  await signInBy(page);
  const read = page.getByRole('button', { name: 'read', exact: true });
  await read.click();
  assert.equal(await read.getAttribute('aria-pressed'), 'true');
  await until('the highlight is in the address', async () => page.url().includes('highlight'));
  await page.getByRole('button', { name: 'Drill down into read' }).click();
  await page.getByRole('menuitem', { name: 'By process' }).click();
  await page.getByRole('heading', { name: 'Disk operations by process, only type read' }).waitFor();
  const odd = page.getByRole('button', { name: 'nginx "worker"' });
  await odd.waitFor();
  await page.getByText(/There are more values than are kept apart/).waitFor();
  // By keyboard: Enter drills, with the choices at hand.
  await odd.focus();
  await page.keyboard.press('Enter');
  await page.getByRole('menuitem', { name: 'By latency' }).focus();
  await page.keyboard.press('Enter');
  await page
    .getByRole('heading', { name: 'Disk operations by latency, only process nginx "worker", type read' })
    .waitFor();
  await page.getByRole('img', { name: /^Heatmap of Disk operations by latency/ }).waitFor();
  await lookAt(page, 'analytics-drilled');
  await page.goBack();
  await page.getByRole('heading', { name: 'Disk operations by process, only type read' }).waitFor();
  await page.reload();
  await page.getByRole('heading', { name: 'Disk operations by process, only type read' }).waitFor();
  await page.getByRole('button', { name: 'Remove the filter type = read' }).click();
  await page.getByRole('heading', { name: 'Disk operations by process', exact: true }).waitFor();
});

test('values are sorted by what one likes, over the time that is seen', async (t) => {
  const { page } = await someone.visit(t, to(charts({ statistic: 'disk.bytes[disk]' })));
  await signInBy(page);
  const table = page.getByRole('table', { name: /^Values of/ });
  await table.getByRole('button', { name: 'sda', exact: true }).waitFor();
  const first = () => table.getByRole('rowheader').first().textContent();
  assert.equal(await first(), 'sda');
  await table.getByRole('button', { name: 'Average' }).click();
  assert.equal(await first(), 'sdd');
  await table.getByRole('button', { name: 'Value' }).click();
  assert.equal(await first(), 'sda');
  assert.equal(await table.getByRole('columnheader', { name: /Value/ }).getAttribute('aria-sort'), 'ascending');
  // The sum of a minute is less than that of five.
  const sum = async () => (await table.getByRole('row', { name: /sda/ }).getByRole('cell').last().textContent()) ?? '';
  const five = await sum();
  await page.getByLabel('Time range').selectOption('60');
  await until('the sum follows', async () => (await sum()) !== five);
  assert.match(await sum(), /(Mi|Gi)B$/);
});

test('one time axis: dragged, zoomed by wheel and by keys, live again; a gap stays a gap', async (t) => {
  const { page } = await someone.visit(
    t,
    to(`${charts({ statistic: 'net.bytes[direction]' }, { statistic: 'vdev.ops[latency]' })}&range=300&end=${began}`),
  );
  await signInBy(page);
  const [series, heat] = [/^Network bytes by direction/, /^Heatmap of ZFS I\/O by vdev by latency/];
  await until('both are drawn', async () => (await painted(page, series)) > 0.05 && (await painted(page, heat)) > 0.02);

  // Five minutes: from 200 to 140 seconds before the start nothing was measured.
  const shares = Array.from({ length: 20 }, (_, at) => at / 20);
  const bySlice = await Promise.all(shares.map((at) => painted(page, series, at, at + 0.05)));
  const empty = bySlice.filter((share) => share < 0.04).length;
  assert.ok(empty >= 2 && empty <= 6, `${empty} of 20 slices are empty: ${bySlice.map((share) => share.toFixed(2))}`);
  await page.getByRole('button', { name: 'Go live' }).click();
  await page.getByRole('button', { name: 'Go live' }).waitFor({ state: 'detached' });
  await until(
    'both are drawn live',
    async () => (await painted(page, series)) > 0.05 && (await painted(page, heat)) > 0.02,
  );

  const box = await page.getByRole('img', { name: series }).boundingBox();
  assert.ok(box);
  const middle = [box.x + box.width / 2, box.y + box.height / 2] as const;
  // The cursor is in both.
  await page.mouse.move(...middle);
  await page.getByRole('columnheader', { name: 'At cursor' }).waitFor();
  await page.getByRole('region', { name: /^Distribution of .*: \d/ }).waitFor();
  await page.mouse.down();
  await page.mouse.move(middle[0] + 200, middle[1], { steps: 4 });
  await page.mouse.up();
  await page.getByRole('button', { name: 'Go live' }).waitFor();
  await until('the time is in the address', async () => /end=\d+/.test(page.url()));
  const end = Number(/end=(\d+)/.exec(page.url())?.[1]);
  assert.ok(Date.now() / 1000 - end > 60, 'dragged into the past');

  await plot(page, series).focus();
  await page.mouse.move(...middle);
  await page.mouse.wheel(0, -120);
  await until('the wheel zooms in', async () => Number(/range=(\d+)/.exec(page.url())?.[1] ?? 300) < 300);
  const range = Number(/range=(\d+)/.exec(page.url())?.[1]);
  await page.keyboard.press('-');
  await until('a key zooms out', async () => Number(/range=(\d+)/.exec(page.url())?.[1] ?? 300) > range);
  await page.keyboard.press('ArrowLeft');
  await until('a key pans', async () => Number(/end=(\d+)/.exec(page.url())?.[1]) !== end);
  // Shift and dragging chooses a time.
  await page.keyboard.down('Shift');
  await page.mouse.move(box.x + 200, middle[1]);
  await page.mouse.down();
  await page.mouse.move(box.x + 260, middle[1], { steps: 3 });
  await page.mouse.up();
  await page.keyboard.up('Shift');
  await until('that time is shown', async () => Number(/range=(\d+)/.exec(page.url())?.[1]) < range);
  await plot(page, heat).focus();
  await page.keyboard.press('End');
  await page.getByRole('button', { name: 'Pause' }).waitFor();
  await until('live is no moment', async () => !/end=/.test(page.url()));
});

test('the limit line counts people, in each moment and in all; by pointer and by keys', async (t) => {
  const { page } = await someone.visit(
    t,
    to(charts({ statistic: 'http.requests[latency]', limit: 0.1, quantiles: [0.5, 0.99], scale: 'log' })),
  );
  await signInBy(page);
  const heat = /^Heatmap of HTTP requests by latency/;
  const said = page.getByText(/ of [\d,]+ slower than .* since /);
  await said.waitFor();
  const words = async () => (await said.textContent()) ?? '';
  const beyond = async () => Number(/([\d,]+) of ([\d,]+) slower/.exec(await words())?.[1]?.replaceAll(',', ''));
  await until('there is something', async () => (await beyond()) > 0);
  const before = await beyond();
  const line = page.getByRole('slider', { name: 'Limit' });
  assert.equal(await line.getAttribute('aria-valuetext'), '100 ms');
  await line.focus();
  for (let press = 0; press < 8; press += 1) await page.keyboard.press('Shift+ArrowDown');
  await until('a lower limit has more beyond it', async () => (await beyond()) > before * 2);
  // The chart is live: a request that is slower than all before it moves the highest limit, and the line's place.
  await until('nothing is above the highest limit', async () => {
    if ((await beyond()) === 0) return true;
    const knob = await line.boundingBox();
    assert.ok(knob);
    await page.mouse.move(knob.x + 5, knob.y + 10);
    await page.mouse.down();
    await page.mouse.move(knob.x + 5, knob.y - 1000, { steps: 5 });
    await page.mouse.up();
    return false;
  });
  await until('it is in the address', async () => /limit/.test(page.url()));
  await page.goto(page.url().replace(/%22limit%22%3A[^%]+/, '%22limit%22%3A0.1'));
  await said.waitFor();
  const box = await page.getByRole('img', { name: heat }).boundingBox();
  assert.ok(box);
  await page.mouse.move(box.x + box.width * 0.9, box.y + 60);
  await page.getByText(/^At \d.*: [\d,]+ of [\d,]+ slower than 100 ms/).waitFor();
  await lookAt(page, 'analytics-limit');

  await page.getByLabel('Outliers').selectOption('0.05');
  await page.getByText(/ above .* \(.* %\) are not drawn/).waitFor();
  await page.getByLabel('Axis').selectOption('linear');
  await page.getByLabel('Compare with').selectOption('day');
  const legend = page.getByRole('list', { name: /^Legend of HTTP requests by latency/ });
  await legend.getByText('p50, the day before').waitFor();
  await legend.getByText('p99, the day before').waitFor();
  await until('all of it is in the address', async () => /compare/.test(page.url()) && /linear/.test(page.url()));
});

test('why these: what was not recorded by a label is measured by it from now on, at a cost that is said', async (t) => {
  const { page } = await someone.visit(t, to(charts({ statistic: 'http.requests[latency]' })));
  await signInBy(page);
  await page.getByRole('img', { name: /^Heatmap of HTTP requests by latency/ }).waitFor();
  await page.getByRole('button', { name: 'Why these?', exact: true }).press('Enter');
  const box = page.getByRole('group', { name: /Enter takes it, Escape gives it up$/ });
  await until('the plot has the keys', () => box.evaluate((element) => element === document.activeElement));
  for (const key of ['Shift+ArrowRight', 'Shift+ArrowUp', 'Enter']) await page.keyboard.press(key);
  const why = page.getByRole('region', { name: 'Why these?' });
  await why.getByText(/^Not recorded apart, so not ranked\. Measured from now on, which .+:$/).waitFor();
  await lookAt(page, 'why-not-recorded');
  await why
    .getByRole('button', { name: /^Measure by / })
    .first()
    .click();
  await until('it is in the address', async () => !page.url().includes('latency'));
  await page.getByRole('img', { name: /^HTTP requests by / }).waitFor();
});

test('compared with the day before: what was there then is dashed, at its own height', async (t) => {
  const now = Math.floor(Date.now() / 1000);
  for (const [from, value] of [
    [now - 86_400 - 400, 90],
    [now - 400, 10],
  ] as const) {
    // The days one after the other: a series goes forward.
    const labels = { what: 'yesterday' };
    await stack.import(
      Array.from({ length: from < now - 86_000 ? 800 : 400 }, (_, at) => ({
        ...{ name: 'bench_compared', labels, time: from + at, value },
      })),
    );
  }
  const { page } = await someone.visit(t, to(charts({ query: 'bench_compared', title: 'Compared', display: 'lines' })));
  await signInBy(page);
  const name = /^Compared/;
  await until('it is drawn', async () => (await painted(page, name)) > 0.001);
  /** Whether anything but the grid is drawn in the upper third: the day before was nine times as much. */
  const high = () =>
    page.getByRole('img', { name }).evaluate((canvas: HTMLCanvasElement) => {
      const copy = document.createElement('canvas');
      [copy.width, copy.height] = [canvas.width, canvas.height / 3];
      const context = copy.getContext('2d', { willReadFrequently: true }) as CanvasRenderingContext2D;
      context.drawImage(canvas, 0, 0);
      const left = Math.round((100 / canvas.clientWidth) * canvas.width);
      const { data } = context.getImageData(left, 0, copy.width - left, copy.height);
      let strong = 0;
      for (let at = 3; at < data.length; at += 4) if ((data[at] as number) > 120) strong += 1;
      return strong;
    });
  await page.getByLabel('Compare with').selectOption('week');
  await page.getByText('There is nothing of the week before.').waitFor();
  await page.getByLabel('Compare with').selectOption('day');
  await page
    .getByRole('list', { name: 'Legend of Compared' })
    .getByText(/^Total, the day before/)
    .waitFor();
  await until('the day before is drawn above', async () => (await high()) > 200);
  await lookAt(page, 'analytics-compared');
  // In Explore too, and it is in the address.
  await page.goto(`${stack.url}/analytics/explore?metric=bench_compared`);
  await page.getByLabel('Compare with').selectOption('day');
  const legend = page.getByRole('list', { name: /^Legend of/ }).getByText('Total, the day before');
  await legend.waitFor();
  assert.match(page.url(), /compare=day/);
  await page.reload();
  await legend.waitFor();
  await page.getByLabel('Compare with').selectOption('');
  await legend.waitFor({ state: 'detached' });
});

async function saved(page: Page, what: () => Promise<void>): Promise<{ name: string; content: Buffer }> {
  const [file] = await Promise.all([page.waitForEvent('download') as Promise<Download>, what()]);
  return { name: file.suggestedFilename(), content: readFileSync(await file.path()) };
}

test('a chart is saved as a picture and as a table', async (t) => {
  const { page } = await someone.visit(
    t,
    // At a time that stays, however long the tests before this one took: the gap is in it.
    to(`${charts({ statistic: 'disk.bytes[disk]' }, { statistic: 'vdev.ops[latency]' })}&range=300&end=${began}`),
  );
  await signInBy(page);
  await until('it is drawn', async () => (await painted(page, /^Disk bytes by disk/)) > 0.05);
  const choose = async (chart: string, item: string) => {
    await page.getByRole('button', { name: `Actions of ${chart}` }).click();
    await page.getByRole('menuitem', { name: item }).click();
  };
  const table = await saved(page, () => choose('Disk bytes by disk', 'Save as table (CSV)'));
  assert.equal(table.name, 'disk-bytes-by-disk.csv');
  const [head, ...rows] = table.content.toString().trim().split('\r\n');
  assert.equal(head, 'time,epoch,sda,sdb,sdc,sdd,total');
  assert.ok(rows.length >= 290 && rows.length <= 302, `${rows.length} seconds`);
  const full = rows.map((row) => row.split(',')).filter((row) => row[2] !== '');
  for (const row of full.slice(0, 20)) {
    const [, , ...values] = row.map(Number) as number[];
    const parts = values.slice(0, 4).reduce((sum, value) => sum + value, 0);
    assert.equal(parts, values[4], row.join());
  }
  assert.ok(full.length < rows.length, 'seconds of the gap are there, and empty');
  const picture = await saved(page, () => choose('Disk bytes by disk', 'Save as picture (PNG)'));
  assert.equal(picture.name, 'disk-bytes-by-disk.png');
  assert.equal(picture.content.subarray(1, 4).toString(), 'PNG');
  assert.ok(picture.content.readUInt32BE(16) > 400 && picture.content.length > 5_000);
  const bins = await saved(page, () => choose('ZFS I/O by vdev by latency', 'Save as table (CSV)'));
  assert.match(bins.content.toString(), /^time,epoch,lower,upper,count\r\n\d{4}-/);
});

test('a ready worksheet is changed, copied, noted upon, exported, imported and deleted', async (t) => {
  const { page } = await someone.visit(t, to('/analytics/worksheets/machine'));
  await signInBy(page);
  await page.getByRole('button', { name: 'Add statistic' }).click();
  await page.getByLabel('Find a statistic').fill('http');
  await page.getByLabel('Break HTTP requests down by').selectOption('status');
  await page.getByRole('button', { name: 'Show HTTP requests' }).click();
  await page.getByRole('heading', { name: 'HTTP requests by status' }).waitFor();
  await page.getByText('Not as it came.').waitFor();
  await page.getByRole('button', { name: 'Save as a copy' }).click();
  await page.getByRole('textbox', { name: 'Name' }).fill('Morning round');
  await page.getByRole('button', { name: 'Copy', exact: true }).click();
  await page.getByRole('link', { name: 'Morning round' }).waitFor();
  await page.getByText('Private to admin').waitFor();
  await page.getByRole('heading', { name: 'HTTP requests by status' }).waitFor();
  const act = async (item: string) => {
    await page.getByRole('button', { name: 'Worksheet', exact: true }).click();
    await page.getByRole('menuitem', { name: item }).click();
  };
  await act('Add a note…');
  await page.getByRole('textbox', { name: 'Note' }).fill('the new disk is in');
  await page.getByRole('button', { name: 'Add', exact: true }).click();
  await page.getByText(/events? in this time/).click();
  await page.getByText('the new disk is in').waitFor();

  await page.getByRole('button', { name: 'Actions of HTTP requests by status' }).click();
  await page.getByRole('menuitem', { name: 'Remove from this page' }).click();
  await page.getByText('Not saved yet.').waitFor();
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('Not saved yet.').waitFor({ state: 'detached' });
  await page.reload();
  await page.getByRole('heading', { name: 'CPU utilization by mode' }).waitFor();
  assert.equal(await page.getByRole('heading', { name: 'HTTP requests by status' }).count(), 0);

  const file = await saved(page, () => act('Export as JSON'));
  assert.equal(file.name, 'morning-round.json');
  assert.equal(JSON.parse(file.content.toString()).worksheet.annotations[0].text, 'the new disk is in');
  await act('Delete…');
  await page.getByRole('textbox', { name: /^Type/ }).fill('Morning round');
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  // The page that comes, and not the one that goes, is given the file. The copy has its description too, and behind the
  // open dialog nothing has a role: what distinguishes them is the label of the private one.
  await page.getByText('Private to admin').waitFor({ state: 'detached' });
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await page.getByText('Processor, memory, disks and network at once').waitFor();
  await page.getByRole('link', { name: 'Morning round' }).waitFor({ state: 'detached' });
  await page.getByLabel('Worksheet file').setInputFiles({
    name: 'sheet.json',
    mimeType: 'application/json',
    buffer: file.content,
  });
  await page.getByRole('link', { name: 'Morning round' }).waitFor();
  await page.getByRole('heading', { name: 'CPU utilization by mode' }).waitFor();
});

test('the catalogue explains; what is not available says why; datasets are recorded, suspended and destroyed', async (t) => {
  const { page } = await someone.visit(t, to('/analytics/statistics'));
  await signInBy(page);
  await page.getByText('Not available: DTrace is not there: the module does not fit this kernel.').waitFor();
  await lookAt(page, 'analytics-statistics');
  await page.getByLabel('Break Disk operations down by').selectOption('size');
  await page.getByRole('button', { name: 'Show Disk operations' }).click();
  await page.getByRole('heading', { name: 'How to read it' }).waitFor();
  await page.getByRole('button', { name: 'Actions of Disk operations by size' }).click();
  await page.getByRole('menuitem', { name: 'Record it at all times' }).click();
  await page.getByText('Recorded', { exact: true }).waitFor();
  await page.getByRole('link', { name: 'Recorded datasets' }).click();
  const row = page.getByRole('row', { name: /io\.ops\[size\]/ });
  await row.getByText('Measuring').waitFor();
  await lookAt(page, 'analytics-datasets');
  await row.getByRole('button', { name: /^Suspend/ }).click();
  await row.getByText('Suspended').waitFor();
  await row.getByRole('button', { name: /^Resume/ }).click();
  await row.getByText('Measuring').waitFor();
  await row.getByRole('button', { name: /^Destroy/ }).click();
  await page.getByRole('textbox', { name: /^Type/ }).fill('io.ops[size]');
  await page.getByRole('button', { name: 'Destroy', exact: true }).click();
  await row.waitFor({ state: 'detached' });
});

test('how long measurements are kept is set by granularity; what would go is said before', async (t) => {
  const now = Math.floor(Date.now() / 1000);
  const old = Array.from({ length: 40 }, (_, day) => ({ name: 'old.level', time: now - day * 86_400, value: day }));
  await stack.import(old.map((one) => ({ ...one, labels: {} })));
  assert.equal((await stack.socket('storaged', '/admin/flush', { method: 'POST', body: {} })).status, 200);
  const { page } = await someone.visit(t, to('/analytics/datasets'));
  await signInBy(page);
  const form = page.getByRole('region', { name: 'How long measurements are kept' });
  const [each, minute, save] = [
    form.getByRole('textbox', { name: /^As they came/ }),
    form.getByRole('textbox', { name: /^Of each minute/ }),
    form.getByRole('button', { name: 'Save' }),
  ];
  await each.fill('0');
  await form.getByText('From 1 to 73000 whole days.').waitFor();
  await each.fill('60');
  await minute.fill('30');
  await form.getByText('Not shorter than the one before it.').waitFor();
  await minute.fill('90');
  // Longer than anything that is stored: nothing is lost, so nothing is asked.
  await save.click();
  const kept = async () => (await stack.socket('storaged', '/admin/retention')).json<Record<string, number>>();
  await until('it is set', async () => (await kept()).rawSeconds === 60 * 86_400);
  await each.fill('20');
  await lookAt(page, 'analytics-retention');
  await save.click();
  await page
    .getByRole('dialog')
    .getByText(/^The values of each second from before .* are removed\.$/)
    .waitFor();
  assert.equal((await kept()).rawSeconds, 60 * 86_400);
  await page.getByRole('button', { name: 'Remove them' }).click();
  await until('it is set', async () => (await kept()).rawSeconds === 20 * 86_400);
  assert.equal((await kept()).minuteSeconds, 90 * 86_400);
});

test('a profile is a flame graph: as wide as its share, a click makes a frame the whole', async (t) => {
  const { page } = await someone.visit(t, to(charts({ statistic: 'cpu.profile' })));
  await signInBy(page);
  const frame = page.getByRole('button', { name: 'zfs_read: 55 % of all samples' });
  const all = page.getByRole('button', { name: 'all: 100 % of all samples' });
  const [narrow, wide] = [await frame.boundingBox(), await all.boundingBox()];
  assert.ok(narrow && wide && Math.abs(narrow.width / wide.width - 0.55) < 0.02);
  await lookAt(page, 'analytics-flame');
  await frame.click();
  await until('it is the whole', async () => ((await frame.boundingBox())?.width ?? 0) > wide.width * 0.98);
  await page.getByRole('button', { name: 'Show all' }).click();
  await all.waitFor();
});

test('a heatmap distinguishes what was not measured from what did not happen', async (t) => {
  const { page } = await someone.visit(t, to(charts({ statistic: 'io.ops[size]' })));
  await signInBy(page);
  // From when a page shows it; before, it was not measured.
  await page.getByText('Not measured', { exact: true }).waitFor({ timeout: 20_000 });
  await lookAt(page, 'analytics-not-measured');
});

test('a tracer that starts says so, and draws as soon as it measures', async (t) => {
  const { page } = await someone.visit(t, to(charts({ statistic: 'io.ops[disk]' })));
  if (stack.tracerd) stack.tracerd.startMs = 6_000;
  t.after(() => {
    if (stack.tracerd) stack.tracerd.startMs = 0;
  });
  await signInBy(page);
  await page.getByText('Starting…').waitFor();
  await page.getByText('Starting…').waitFor({ state: 'detached', timeout: 20_000 });
  await page.getByRole('button', { name: 'sda', exact: true }).waitFor();
});

test('what is still being read is not said to be nothing', async (t) => {
  const { page } = await someone.visit(
    t,
    to(charts({ statistic: 'io.ops[type]' }, { query: 'cistern_storaged_query_seconds', display: 'heatmap' })),
  );
  const held = Promise.withResolvers<void>();
  t.after(() => held.resolve());
  await page.route(/\/api\/v1\/(?:columns|histogram)/, async (route) => {
    await held.promise;
    await route.continue();
  });
  await signInBy(page);
  await until('both charts are being read', async () => (await page.getByText('Reading…').count()) === 2);
  await page.getByRole('group', { name: 'Disk operations by type: being read' }).waitFor();
  assert.equal(await page.getByText(/\b0 (?:events|lines)/).count(), 0);
  await lookAt(page, 'analytics-reading');
  held.resolve();
  await page.getByText('Reading…').first().waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'read', exact: true }).waitFor();
});

test('with tracerd down the pages say so, and what was recorded is still there', async (t) => {
  const visit = await someone.visit(t, to(charts({ statistic: 'disk.bytes[disk]' })));
  const { page } = visit;
  visit.expect(/status of 503/);
  await signInBy(page);
  await until('it is drawn', async () => (await painted(page, /^Disk bytes by disk/)) > 0.05);
  await stack.tracerd?.stop();
  t.after(() => stack.tracerd?.start());
  await page.reload();
  await page
    .getByText(/Statistics of this machine are not being measured: tracerd does not answer/)
    .first()
    .waitFor();
  await until('the past is drawn', async () => (await painted(page, /disk\.bytes|Disk bytes/)) > 0.05);
  await lookAt(page, 'analytics-tracerd-down');
  await page.getByRole('link', { name: 'Recorded datasets' }).click();
  await page.getByText(/tracerd does not answer/).waitFor();
  await stack.tracerd?.start();
  await page.getByText(/tracerd does not answer/).waitFor({ state: 'detached' });
});

test('PromQL: names are completed, errors stand at their column, and what is found goes onto a worksheet', async (t) => {
  const visit = await someone.visit(t, to('/analytics/query'));
  const { page } = visit;
  visit.expect(/status of 400/);
  await signInBy(page);
  const field = page.getByRole('textbox', { name: 'PromQL' });
  await field.fill('sum by (mode) (cistern_host_cpu_ra');
  await page.getByRole('button', { name: 'cistern_host_cpu_ratio' }).waitFor();
  await page.keyboard.press('Tab');
  await page.getByText(/^Column \d+: a “\(” is not closed/).waitFor();
  await lookAt(page, 'analytics-promql-error');
  await field.fill('sum by (mode) (cistern_host_cpu_ratio)');
  await page.keyboard.press('Control+Enter');
  await page.getByRole('button', { name: 'idle', exact: true }).waitFor();
  await page.getByRole('button', { name: 'Table' }).click();
  await page.getByRole('row', { name: /idle/ }).waitFor();
  await page.getByRole('button', { name: 'Graph' }).click();
  await page.getByRole('button', { name: /^Actions of/ }).click();
  await page.getByRole('menuitem', { name: 'Add to worksheet…' }).click();
  await page.getByLabel('Its name').fill('Processors');
  await page.getByRole('button', { name: 'Add', exact: true }).click();
  await page.getByRole('link', { name: 'Processors' }).waitFor();
  await page.getByRole('button', { name: 'idle', exact: true }).waitFor();
  await page.getByRole('button', { name: /^Actions of/ }).click();
  await page.getByRole('menuitem', { name: 'Make this a threshold' }).click();
  await until('the rule watches it', () =>
    page
      .locator(':is(input, textarea)')
      .evaluateAll((fields) => fields.some((field) => (field as HTMLInputElement).value.includes('sum by (mode)'))),
  );
  assert.match(page.url(), /expression=sum/);
});

test('on a phone: options open, a finger pans, two zoom, the page still scrolls', async (t) => {
  const { page, context } = await someone.visit(t, to(charts({ statistic: 'disk.bytes[disk]' })));
  await signInBy(page);
  await page.setViewportSize({ width: 390, height: 844 });
  await until('it is drawn', async () => (await painted(page, /^Disk bytes by disk/)) > 0.05);
  await page.getByRole('button', { name: 'Options of Disk bytes by disk' }).click();
  await page.getByLabel('Break down by').selectOption('type');
  await page.getByRole('heading', { name: 'Disk bytes by type' }).waitFor();
  const group = plot(page, /^Disk bytes by type/);
  assert.equal(await group.evaluate((element) => getComputedStyle(element).touchAction), 'pan-y');
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(overflow <= 0, `${overflow} px too wide`);

  const session = await context.newCDPSession(page);
  await session.send('Emulation.setTouchEmulationEnabled', { enabled: true, maxTouchPoints: 2 });
  await group.scrollIntoViewIfNeeded();
  const box = await group.boundingBox();
  assert.ok(box);
  const y = box.y + box.height / 2;
  const middle = box.x + box.width / 2 + 30;
  /** Fingers at these distances from the middle, one place after the other; then they are lifted. */
  const fingers = async (...places: number[][]) => {
    for (const [at, place] of places.entries()) {
      const touchPoints = place.map((distance, id) => ({ x: middle + distance, y, id }));
      await session.send('Input.dispatchTouchEvent', { type: at === 0 ? 'touchStart' : 'touchMove', touchPoints });
    }
    await session.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] });
  };
  const address = (name: string) => Number(new URL(page.url()).searchParams.get(name));
  await fingers([-40], [-20], [20], [60], [80]);
  await until(
    'it stands still, in the past',
    async () => address('end') > 0 && address('end') < Date.now() / 1000 - 20,
  );
  await page.getByRole('button', { name: 'Go live' }).waitFor();
  const before = address('range');
  await fingers([-30, 30], [-45, 45], [-60, 60], [-90, 90]);
  await until('less of it is seen', async () => address('range') < 0.6 * before);
  await fingers([-90, 90], [-60, 60], [-40, 40]);
  await until('more of it is seen', async () => address('range') > 0.6 * before);
});
