// A person with a browser in front of a virtual appliance. What the browser complained about, where it was and what
// was on the screen are kept when a test fails.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { startBrowser } from '../browser/browser.ts';
import type { Machine } from './machine.ts';

const failures = resolve('out/failures');

export interface Person {
  readonly page: Page;
  /** Keeps a picture of the page in out/screenshots/vm-NAME.png. */
  look(name: string): Promise<void>;
  close(): Promise<void>;
}

export async function personAt(machine: Machine): Promise<Person> {
  const browser: Browser = await startBrowser();
  const context = await browser.newContext({
    ignoreHTTPSErrors: true,
    viewport: { width: 1440, height: 900 },
    locale: 'en-GB',
    timezoneId: 'Europe/Berlin',
    acceptDownloads: true,
  });
  const page = await context.newPage();
  // Everything is slow under emulation; nothing waits longer than it must.
  page.setDefaultTimeout(60_000);
  page.setDefaultNavigationTimeout(120_000);
  page.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith(machine.url) && !/^(?:blob|data|about):/.test(url))
      throw new Error(`the page asked for ${url}`);
  });
  return {
    page,
    look: async (name) => {
      mkdirSync(resolve('out/screenshots'), { recursive: true });
      await page.screenshot({ path: resolve(`out/screenshots/vm-${name}.png`), animations: 'disabled' });
    },
    close: () => browser.close(),
  };
}

/** What is looked at after a failure: the screen, the console, the journal. */
export async function keepEvidence(name: string, machine: Machine, person?: Person): Promise<void> {
  mkdirSync(failures, { recursive: true });
  const base = join(failures, name.replace(/[^a-z0-9]+/gi, '-'));
  await person?.page.screenshot({ path: `${base}.png` }).catch(() => {});
  writeFileSync(`${base}.console`, machine.console());
  const journal = await machine
    .ssh('journalctl', '-b', '--no-pager', '-n', '400')
    .catch((error: unknown) => String(error));
  writeFileSync(`${base}.journal`, journal);
  console.error(
    `--- at ${person?.page.url() ?? '(no page)'}; picture, console and journal are in ${base}.*\n${journal.split('\n').slice(-40).join('\n')}`,
  );
}
