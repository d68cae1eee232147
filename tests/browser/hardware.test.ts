// The machine's parts on their page: a server that is well and one that is not, errors that are cleared, a machine that
// tells nothing, a controller that is silent, a large server; and the line that says that nothing is kept.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Page } from 'playwright-core';
import type { ControllerEvent, ControllerSensor, PartErrors } from '../../appliance-kit/src/platform/hardware.ts';
import { hardwareOf, type SimHardwareState } from '../../appliance-kit/src/platform/sim/hardware.ts';
import { setUp } from '../stack/api.ts';
import type { Stack } from '../stack/stack.ts';
import { lookAt, type Person, person, signInBy, withStack } from './browser.ts';

let stack: Stack;
let someone: Person;
/** One that is not set up. */
let fresh: Stack;
let newcomer: Person;
before(async () => {
  stack = await withStack();
  await setUp(stack);
  someone = await person(stack);
  fresh = await withStack();
  newcomer = await person(fresh);
});
after(async () => {
  await someone?.close();
  await stack?.stop();
  await newcomer?.close();
  await fresh?.stop();
});

const DAY = 86_400_000;
const well = () => hardwareOf(Date.now());

/** The parts that are otherwise than on the server that is well; known to the page at once. */
async function machineWith(parts: Partial<SimHardwareState>): Promise<void> {
  await stack.simulate('hardware', { ...well(), ...parts });
  // What was read of the old machine is kept for a minute, and parts for half an hour.
  await stack.stopPart('akd');
  await stack.startPart('akd');
}
const open = async (page: Page) => {
  await page.goto(`${stack.url}/maintenance/hardware`);
  await page.getByRole('heading', { level: 1, name: 'Hardware' }).waitFor();
};
/** The sensors are read soon after the start, and the page reads again every half minute. */
const reloaded = async (page: Page, seen: () => Promise<unknown>) => {
  for (let tries = 1; ; tries++) {
    await page.reload();
    await page.getByRole('heading', { level: 1, name: 'Hardware' }).waitFor();
    try {
      return await seen();
    } catch (error) {
      if (tries === 5) throw error;
    }
  }
};
const change = <T extends { name?: string; part?: string }>(rows: readonly T[], name: string, to: Partial<T>): T[] =>
  rows.map((one) => (one.name === name || one.part === name ? { ...one, ...to } : one));

test('a server that is well: its parts, its sensors with their charts, its log', async (t) => {
  await machineWith({});
  const { page } = await someone.visit(t, '/sign-in?to=%2Fmaintenance');
  await signInBy(page);
  await page.getByRole('navigation', { name: 'Maintenance' }).getByRole('link', { name: 'Hardware' }).click();
  await page.getByText('No part reports a fault or errors.').waitFor();
  await reloaded(page, () => page.getByText('It answers, with 10 sensors.').waitFor({ timeout: 5_000 }));
  const machine = page.getByRole('region', { name: 'The machine' });
  await machine.getByText('S123456').waitFor();
  await machine.getByText('Example 3.4, 05/17/2026, started by UEFI').waitFor();
  await machine.getByText(/^Off: the firmware starts whatever is on the disk/).waitFor();
  const own = page.getByRole('link', { name: '192.0.2.200' });
  assert.equal(await own.getAttribute('href'), 'https://192.0.2.200/');
  assert.equal(await page.getByRole('heading', { name: 'What is wrong' }).count(), 0);
  await page.getByRole('grid', { name: 'Sensors' }).getByText('up to 42 °C').waitFor();
  await page.getByText('No errors of the parts that count them: 2 parts of the memory, 2 network links.').waitFor();
  await page.getByText('32 GiB: 2 × 16 GiB DDR4 at 3200 MT/s. 1 slot is empty.').waitFor();
  await page.getByRole('grid', { name: 'Event log' }).getByText('Timestamp Clock Sync').waitFor();
  await page.getByText('iTCO_wdt restarts the machine after 60 seconds').waitFor();
  await lookAt(page, 'hardware');
  await page.getByRole('link', { name: 'Chart of CPU1 Temp' }).click();
  await page
    .getByRole('heading', { name: /cistern_hardware_temperature_celsius/ })
    .or(page.getByText(/this page waits for it/))
    .first()
    .waitFor();
  assert.equal(new URL(page.url()).searchParams.get('f.sensor'), 'CPU1 Temp');
});

test('a power supply that failed and memory with errors are at the top; the errors are cleared', async (t) => {
  const now = Date.now();
  const events: ControllerEvent[] = [
    ...well().events,
    {
      ...{ number: 2, at: now - DAY, sensor: 'PS2 Status', text: 'Power Supply AC lost' },
      ...{ over: false, state: 'critical' },
    },
    { number: 3, at: null, sensor: 'Memory #0x53', text: 'Correctable ECC', over: false, state: 'warning' },
  ];
  await machineWith({
    sensors: change(
      change(well().sensors, 'PS2 Status', {
        state: 'critical',
        reports: ['Presence detected', 'Power Supply AC lost'],
      }),
      'FAN2',
      { state: 'critical', value: 0, reports: ['Lower Critical'] },
    ),
    errors: change(well().errors, 'mc0/dimm1', { corrected: 214, detail: 'read error at 0x12a3f' }),
    events,
  });
  const { page } = await someone.visit(t, '/sign-in?to=%2Fmaintenance%2Fhardware');
  await signInBy(page);
  const wrong = page.getByRole('region', { name: 'What is wrong' });
  await page.getByRole('heading', { level: 1, name: 'Hardware' }).waitFor();
  await reloaded(page, () =>
    wrong.getByText(/PS2 Status: Presence detected, Power Supply AC lost/).waitFor({ timeout: 5_000 }),
  );
  await page.getByText('There are 2 sensors out of range and 1 part with errors.').waitFor();
  await wrong.getByText(/Otherwise replace the power supply/).waitFor();
  await wrong.getByText(/FAN2 reads 0 rpm: Lower Critical; it is well from 500 rpm\./).waitFor();
  await wrong.getByText(/DIMM_B1: 214 corrected errors\. The last: read error at 0x12a3f\./).waitFor();
  await wrong.getByText(/Replace the module\./).waitFor();
  // Errors are an alert at once; a sensor only after a minute.
  await wrong
    .getByRole('link', { name: /^Alert since/ })
    .first()
    .waitFor({ timeout: 60_000 });
  const log = page.getByRole('grid', { name: 'Event log' });
  await log.getByText('its clock was not set').waitFor();
  assert.match((await log.getByRole('row').nth(1).textContent()) ?? '', /Correctable ECC/, 'the newest is first');
  await lookAt(page, 'hardware-failed');
  const errors = page.getByRole('grid', { name: 'Errors' });
  await errors.getByRole('button', { name: 'Clear the errors of DIMM_B1' }).click();
  await errors.waitFor({ state: 'detached' });
  await page.getByText('No errors of the parts that count them: 2 parts of the memory, 2 network links.').waitFor();
  await page.getByText('There are 2 sensors out of range.').waitFor();
});

test('a viewer may look, and reads why the errors cannot be cleared', async (t) => {
  await machineWith({ errors: change(well().errors, 'mc0/dimm0', { corrected: 3 }) });
  const { page } = await someone.visit(t, '/sign-in?to=%2Fmaintenance%2Fhardware');
  await page.route('**/api/session', async (route) => {
    const response = await route.fetch();
    const session = await response.json().catch(() => null);
    if (session?.user) session.user.role = 'viewer';
    await route.fulfill({ response, json: session });
  });
  await signInBy(page);
  const clear = page.getByRole('grid', { name: 'Errors' }).getByRole('button', { name: 'Clear the errors of DIMM_A1' });
  await page.getByText('too few to matter').waitFor();
  await clear.hover();
  await page.getByText(/You are signed in as viewer; this needs an operator\./).waitFor();
  assert.equal(await clear.getAttribute('aria-disabled'), 'true');
});

test('a virtual machine that tells nothing is said to tell nothing', async (t) => {
  const nothing = { maker: null, product: null, serial: null };
  await machineWith({
    inventory: {
      ...{ ...nothing, maker: 'QEMU', product: 'Standard PC (Q35 + ICH9, 2009)', assetTag: null, board: nothing },
      firmware: { kind: 'bios', maker: null, version: null, date: null },
      ...{ processors: [], microcode: null, memory: [], secureBoot: 'none', lockdown: null, cards: [] },
    },
    ...{ ports: [], errors: [], slots: [], watchdogs: [], controller: null, sensors: [], events: [] },
  });
  const { page } = await someone.visit(t, '/sign-in?to=%2Fmaintenance%2Fhardware');
  await signInBy(page);
  await page.getByText('No part reports a fault or errors.').waitFor();
  await page.getByText('Not there: the system was started by BIOS.').waitFor();
  const unseen = page.getByRole('region', { name: 'What cannot be seen here' });
  await reloaded(page, () => unseen.getByText(/^There is no management controller/).waitFor({ timeout: 5_000 }));
  await unseen.getByText(/^There is no watchdog/).waitFor();
  for (const absent of ['Sensors', 'Errors', 'Management controller'])
    assert.equal(await page.getByRole('heading', { name: absent, exact: true }).count(), 0, absent);
  await lookAt(page, 'hardware-vm');
});

test('a large server: what is wrong is seen at once, the rest is folded and can be searched', async (t) => {
  const of = <T>(count: number, make: (number: number) => T) => Array.from({ length: count }, (_, at) => make(at + 1));
  const some = (name: string, kind: ControllerSensor['kind'], value: number, unit: string): ControllerSensor => ({
    ...{ name, kind, state: 'ok', value, unit, reports: [], lowest: null, highest: unit === '°C' ? 95 : null },
  });
  const sensors = [
    ...of(60, (at) => some(`CPU${1 + (at % 2)} Core ${at} Temp`, 'temperature', 40 + (at % 20), '°C')),
    ...of(24, (at) => some(`P${1 + (at % 2)}-DIMM${at} Temp`, 'memory', 34, '°C')),
    ...of(16, (at) => some(`FAN${at}`, 'fan', 9000 + 10 * at, 'rpm')),
    ...of(40, (at) => some(`VR ${at}`, 'voltage', 1.2, 'V')),
    ...of(10, (at) => some(`Drive ${at}`, 'disk', 31, '°C')),
  ];
  const slot = (at: number) => `DIMM_${'ABCDEFGHIJKL'[at % 12]}${1 + Math.floor(at / 12)} of processor ${1 + (at % 2)}`;
  const module = (at: number) => ({
    ...{ slot: slot(at - 1), bytes: 32 * 2 ** 30, kind: 'DDR5', megatransfers: 4800, maker: 'Samsung' },
    ...{ part: 'M321R4GA3BB6-CQK', serial: `80CE01${at}` },
  });
  const errors = of(24, (at): PartErrors => {
    const title = slot(at - 1);
    return { kind: 'memory', part: `mc0/dimm${at}`, title, corrected: 0, uncorrected: at === 7 ? 2 : 0, detail: '' };
  });
  await machineWith({
    sensors: change(sensors, 'FAN7', { state: 'critical', value: 0, reports: ['Lower Critical'] }),
    errors,
    inventory: {
      ...well().inventory,
      processors: of(2, (at) => ({ socket: `CPU${at}`, model: 'Example 32-Core', cores: 32, threads: 64 })),
      memory: of(24, module),
      cards: of(60, (at) => ({
        ...{ place: `0000:${(16 + at).toString(16)}:00.0`, slot: at % 5 === 0 ? String(at / 5) : null },
        ...{ kind: 'Non-Volatile memory controller', title: `Example NVMe SSD Controller of a long name PM9A3 ${at}` },
        driver: at === 60 ? null : 'nvme',
      })),
    },
    slots: of(24, (at) => ({
      ...{ enclosure: 'Example SAS expander 0:0:24:0', slot: `Slot ${String(at).padStart(2, '0')}` },
      disk: at <= 4 ? `/dev/sd${'abcd'[at - 1]}` : null,
      ...{ state: at <= 4 ? ('ok' as const) : ('absent' as const), lit: at === 2 },
    })),
    events: of(64, (at): ControllerEvent => {
      const what = { sensor: `FAN${1 + (at % 16)}`, text: 'Lower Critical going low', over: at % 2 === 0 };
      return { number: at, at: Date.now() - (64 - at) * 3_600_000, ...what, state: 'critical' };
    }),
  });
  const { page } = await someone.visit(t, '/sign-in?to=%2Fmaintenance%2Fhardware');
  await signInBy(page);
  const wrong = page.getByRole('region', { name: 'What is wrong' });
  await page.getByRole('heading', { level: 1, name: 'Hardware' }).waitFor();
  await reloaded(page, () => wrong.getByText(/FAN7 reads 0 rpm/).waitFor({ timeout: 5_000 }));
  await wrong.getByText(/: 2 errors that could not be corrected\.$/).waitFor();
  const fans = page.getByRole('grid', { name: 'Fans' });
  await fans.getByText('FAN7').waitFor();
  assert.equal(await fans.getByRole('row').count(), 2, 'of the others only when they are asked for');
  assert.equal(await page.getByRole('grid', { name: 'Temperatures' }).count(), 0, 'what is well is folded');
  assert.equal(await page.getByRole('grid', { name: 'Cards' }).count(), 0);
  await page.getByText('20 slots are empty.').waitFor();
  await lookAt(page, 'hardware-large');
  await page.getByRole('button', { name: 'Show all 16 fans' }).click();
  await fans.getByText('FAN16').waitFor();
  await page.getByRole('button', { name: /Temperatures: 60, all well, 40 to 59 °C/ }).click();
  await page.getByRole('grid', { name: 'Temperatures' }).waitFor();
  await page.getByRole('button', { name: '60 cards, 1 without a driver' }).press('Enter');
  await page.getByRole('grid', { name: 'Cards' }).getByText('none: the system cannot use it').waitFor();
  await page
    .getByRole('textbox', { name: 'Search sensors' })
    .or(page.getByLabel('Search sensors'))
    .first()
    .fill('vr 7');
  await page.getByRole('grid', { name: 'Sensors that were found' }).getByText('VR 7', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Show all 64 events' }).click();
  await page.getByRole('button', { name: 'Show all 64 events' }).waitFor({ state: 'detached' });
});

test('the management controller is silent: what it answered last, and what to do', async (t) => {
  await machineWith({});
  const { page } = await someone.visit(t, '/sign-in?to=%2Fmaintenance%2Fhardware');
  await signInBy(page);
  await page.getByRole('heading', { level: 1, name: 'Hardware' }).waitFor();
  await reloaded(page, () => page.getByText('It answers, with 10 sensors.').waitFor({ timeout: 5_000 }));
  await stack.simulate('hardware', { silent: true });
  await page
    .getByText('The management controller does not answer; no part reports errors.')
    .waitFor({ timeout: 45_000 });
  const wrong = page.getByRole('region', { name: 'What is wrong' });
  await wrong.getByText(/The management controller \(BMC\) did not answer within 90 seconds\./).waitFor();
  await wrong.getByText(/Open the controller’s own web page and restart it there/).waitFor();
  await page.getByText('What is shown of its sensors is what it answered last.').waitFor();
  await page.getByRole('grid', { name: 'Sensors' }).getByText('FAN1').waitFor();
  await lookAt(page, 'hardware-silent');
  await stack.simulate('hardware', { silent: false });
  await page.getByRole('button', { name: 'Ask it now' }).click();
  await page.getByText('It answers, with 10 sensors.').waitFor({ timeout: 45_000 });
});

test('started from a CD: every page says that nothing is kept', async (t) => {
  await stack.simulate('live', { medium: 'sr0' });
  const { page } = await someone.visit(t, '/sign-in?to=%2Fstatus');
  const line = page.getByRole('region', { name: 'Live' });
  await line.getByText(/^Live: started from sr0\. Nothing is kept: .* install at the console \(type i\)\.$/).waitFor();
  await lookAt(page, 'live-sign-in');
  await signInBy(page);
  await page.getByRole('heading', { name: 'Data safety' }).waitFor();
  await line.waitFor();
  await page.goto(`${stack.url}/nothing/here`);
  await line.waitFor();
  await open(page);
  await line.waitFor();
  await lookAt(page, 'live');
  await stack.simulate('live', { medium: null });
  await page.reload();
  await page.getByRole('heading', { level: 1, name: 'Hardware' }).waitFor();
  assert.equal(await line.count(), 0);
});

test('the wizard of one that was started from a CD says it too', async (t) => {
  await fresh.simulate('live', { medium: 'sdb' });
  const { page, expect } = await newcomer.visit(t, '/');
  expect(/status of 401/);
  await page
    .getByRole('region', { name: 'Live' })
    .getByText(/^Live: started from sdb\./)
    .waitFor();
  await page.getByRole('textbox', { name: 'Set-up code' }).waitFor();
  await lookAt(page, 'live-setup');
});
