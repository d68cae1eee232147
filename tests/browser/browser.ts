// A person with a browser in front of a stack. The test that uses it fails on whatever the browser complained about and
// on any request to anything but the appliance; screen, complaints and the stack's log of a failure are kept.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { AxeBuilder } from '@axe-core/playwright';
import { type BrowserContext, chromium, type Page } from 'playwright-core';
import { failureFolder } from '../failures.ts';
import { administrator } from '../stack/api.ts';
import { root } from '../stack/build.ts';
import { Stack, type StackOptions } from '../stack/stack.ts';
import { complaintsOf } from './complaints.ts';

export const screenshots = path.join(root, 'out/screenshots');

/** The headless shell: no tabs, no toolbar, and half of the processor's time of the whole browser. */
export function startBrowser() {
  return chromium.launch({
    executablePath: process.env.CISTERN_CHROMIUM ?? '/usr/bin/chromium-headless-shell',
    args: [
      ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'],
      ...['--disable-component-update', '--disable-sync'],
    ],
  });
}

/** A stack for a test file: started before its tests, stopped after them. */
export async function withStack(options: StackOptions = {}): Promise<Stack> {
  const stack = new Stack(options);
  try {
    await stack.start();
  } catch (error) {
    console.error(readFileSync(stack.logFile, 'utf8'));
    await stack.stop();
    throw error;
  }
  return stack;
}

export interface Visit {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Complaints of the browser that this test provokes: `/status of 401/`. */
  expect(complaint: RegExp): void;
}

export interface Person {
  visit(test: TestContext, path?: string): Promise<Visit>;
  close(): Promise<void>;
}

/** One browser; each visit is a new profile. */
export async function person(stack: Stack): Promise<Person> {
  const browser = await startBrowser();
  return {
    close: () => browser.close(),
    visit: async (test, start = '/') => {
      const context = await browser.newContext({
        ignoreHTTPSErrors: true,
        viewport: { width: 1440, height: 900 },
        locale: 'en-GB',
        timezoneId: 'Europe/Berlin',
        colorScheme: 'light',
        acceptDownloads: true,
      });
      const page = await context.newPage();
      page.setDefaultTimeout(30_000);
      const complaints = complaintsOf(page, stack.url);
      const expected: RegExp[] = [];
      test.after(async () => {
        const unexpected = complaints.filter((complaint) => !expected.some((one) => one.test(complaint)));
        if (unexpected.length > 0 || !(test as { passed?: boolean }).passed) {
          const folder = failureFolder(test.name);
          await page.screenshot({ path: path.join(folder, 'screen.png'), fullPage: true }).catch(() => {});
          writeFileSync(path.join(folder, 'browser'), `at ${page.url()}\n${complaints.join('\n')}\n`);
          // The run's summary shows it: of a run elsewhere nothing else may be left.
          const said = await page.evaluate(saidByPage).catch(() => []);
          writeFileSync(
            path.join(folder, 'said'),
            [`the page ${page.url()} said:`, ...said, ...unexpected.map((one) => `the browser: ${one}`)].join('\n'),
          );
          const log = readFileSync(stack.logFile, 'utf8');
          writeFileSync(path.join(folder, 'stack'), log);
          console.error(`--- the browser, in “${test.name}” at ${page.url()}:\n${unexpected.join('\n')}`);
          console.error(`--- the stack:\n${log.split('\n').slice(-12).join('\n').slice(-3000)}`);
          console.error(`--- screen, browser, stack and the command that repeats it are in ${folder}`);
        }
        await context.close();
        if (unexpected.length > 0) throw new Error(`the browser complained:\n${unexpected.join('\n')}`);
      });
      await givePasswordAgain(page, administrator.password);
      await page.goto(stack.url + start);
      return { page, context, expect: (complaint) => expected.push(complaint) };
    },
  };
}

export const passwordDialog = (page: Page) => page.getByRole('dialog', { name: 'Give your password again' });

/** Whenever the page asks for the password again: how long a test takes is not what it is about. */
export async function givePasswordAgain(page: Page, password: string): Promise<void> {
  const dialog = passwordDialog(page);
  await page.addLocatorHandler(dialog, async () => {
    await dialog.getByLabel('Password').fill(password);
    await dialog.getByRole('button', { name: 'Confirm' }).click();
  });
}

/** What stands out on the page: its heading with the sentence, what is open, and whatever it reports. */
function saidByPage(): string[] {
  const parts = document.querySelectorAll(
    'h1, h1 ~ *, header h1 ~ *, [role=alert], [role=status], [role=dialog], .pf-v6-c-alert',
  );
  const texts = Array.from(parts, (part) => (part.textContent ?? '').replace(/\s+/g, ' ').slice(0, 400));
  return [...new Set(texts.filter((text) => text !== ''))].slice(0, 12);
}

/** A label that is this and no more; PatternFly adds a star to that of a required field. */
export function exactly(label: string): RegExp {
  return new RegExp(`^${label}\\s*\\*?$`);
}

export async function signInBy(page: Page): Promise<void> {
  await page.getByLabel('Name').fill(administrator.name);
  await page.getByLabel('Password').fill(administrator.password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('navigation', { name: 'Pages' }).waitFor({ state: 'attached' });
}

/** Each theme and each width once, with the rules; by night every pair of them. */
const looks = [
  { theme: 'light' as const, width: 1440, height: 900, rules: true, nightly: false },
  { theme: 'dark' as const, width: 1440, height: 900, rules: false, nightly: true },
  { theme: 'light' as const, width: 390, height: 844, rules: false, nightly: true },
  { theme: 'dark' as const, width: 390, height: 844, rules: true, nightly: false },
].filter(({ nightly }) => !nightly || process.env.CISTERN_VARIANTS === '1');

/** How many pixels the page is wider than its window, and the element that reaches furthest. Runs in the page. */
function widthOfPage(): { overflow: number; widest: string } {
  const overflow = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  if (overflow <= 0) return { overflow, widest: '' };
  let [reach, widest] = [0, ''];
  for (const element of Array.from(document.querySelectorAll('body *'))) {
    const { right } = element.getBoundingClientRect();
    // Later in the document is further inside: the innermost says most.
    if (right >= reach) [reach, widest] = [right, element.outerHTML.slice(0, 160)];
  }
  return { overflow, widest };
}

/**
 * Waits until the frame has followed a change of the window's width. PatternFly closes and opens the navigation up to
 * 250 ms later, which moves everything else: a click meanwhile goes beside its button. 1200 px is its limit.
 */
async function followed(page: Page, width: number): Promise<void> {
  await page.waitForFunction((hidden) => {
    const sidebar = document.getElementById('page-sidebar');
    return sidebar === null || sidebar.getAttribute('aria-hidden') === String(hidden);
  }, width < 1200);
  // Two frames: one to lay out at the new width, one for the canvases that follow it.
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
}

/** Pictures of the page in both themes and widths, each looked over by axe. Throws what it found. */
export async function lookAt(page: Page, name: string): Promise<void> {
  mkdirSync(screenshots, { recursive: true });
  const found: string[] = [];
  for (const { theme, width, height, rules } of looks) {
    await page.setViewportSize({ width, height });
    await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' });
    // Our own pages follow by a class; a mail and supportd's page have none.
    await page.waitForFunction(
      (dark) =>
        document.getElementById('root') === null ||
        document.documentElement.classList.contains('pf-v6-theme-dark') === dark,
      theme === 'dark',
    );
    await followed(page, width);
    // What does not scroll inside but as a page is shown whole: the height of everything, up to a limit.
    const content = await page.evaluate(() => {
      const main = document.getElementById('main');
      return main ? main.scrollHeight + (main.getBoundingClientRect().top | 0) : document.documentElement.scrollHeight;
    });
    await page.setViewportSize({ width, height: Math.min(Math.max(content + 16, height), 2400) });
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    await page.screenshot({ path: path.join(screenshots, `${name}-${theme}-${width}.png`), animations: 'disabled' });
    // Fonts and figures that arrive late move things; what stays too wide is wrong.
    let { overflow, widest } = await page.evaluate(widthOfPage);
    for (const until = Date.now() + 3_000; overflow > 0 && Date.now() < until; await setTimeout(100))
      ({ overflow, widest } = await page.evaluate(widthOfPage));
    if (overflow > 0) found.push(`${name}, ${theme} ${width}: the page is ${overflow} px too wide: ${widest}`);
    const charts = await page.evaluate(() =>
      Array.from(document.querySelectorAll('canvas'), (canvas) => Math.round(canvas.getBoundingClientRect().width)),
    );
    for (const drawn of charts)
      if (drawn < 200) found.push(`${name}, ${theme} ${width}: a chart is ${drawn} px wide, too narrow to be read`);
    const cut = await page.evaluate(() =>
      Array.from(document.querySelectorAll('[role=alert], [role=status]'))
        .filter((said) => said.clientWidth > 50 && said.scrollWidth > said.clientWidth + 1)
        .map((said) => said.textContent?.slice(0, 60)),
    );
    for (const said of cut) found.push(`${name}, ${theme} ${width}: what is said is cut off: ${said}`);
    if (!rules) continue;
    const { violations } = await new AxeBuilder({ page }).analyze();
    for (const { id, help, nodes } of violations) {
      for (const node of nodes.slice(0, 3))
        found.push(
          `${name}, ${theme} ${width}: ${id}: ${help}\n    ${node.html.slice(0, 200)}\n    ${node.any[0]?.message ?? ''}`,
        );
    }
  }
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.emulateMedia({ colorScheme: 'light' });
  await followed(page, 1440);
  if (found.length > 0) throw new Error(found.join('\n'));
}
