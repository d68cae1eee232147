// A person with a browser in front of a virtual appliance, and what is kept of both when a test fails.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Browser, Page } from 'playwright-core';
import { passwordDialog, startBrowser } from '../browser/browser.ts';
import { complaintsOf } from '../browser/complaints.ts';
import { failureFolder } from '../failures.ts';
import type { Machine } from './machine.ts';
import { admin } from './saved.ts';

export interface Person {
  readonly page: Page;
  /** What the browser has complained about so far. */
  readonly complaints: readonly string[];
  /** Keeps a picture of the page in out/screenshots/vm-NAME.png. */
  look(name: string): Promise<void>;
  close(): Promise<void>;
}

/**
 * Whenever the page asks for the password again, which depends on how slow the machine is. Beside what the test does: not each
 * way of waiting would tell a locator handler of it.
 */
async function givePasswordAgain(page: Page): Promise<void> {
  const dialog = passwordDialog(page);
  while (!page.isClosed()) {
    try {
      await dialog.waitFor({ timeout: 0 });
      await dialog.getByLabel('Password').fill(admin.password);
      await dialog.getByRole('button', { name: 'Confirm' }).click();
      await dialog.waitFor({ state: 'hidden' });
    } catch {
      // Another page was gone to meanwhile, or it was closed.
      await sleep(200);
    }
  }
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
  void givePasswordAgain(page);
  return {
    page,
    complaints: complaintsOf(page, machine.url),
    look: async (name) => {
      mkdirSync(resolve('out/screenshots'), { recursive: true });
      await page.screenshot({ path: resolve(`out/screenshots/vm-${name}.png`), animations: 'disabled' });
    },
    close: () => browser.close(),
  };
}

/** What is looked at after a failure: the screen, the browser's complaints, the console, the journal. */
export async function keepEvidence(name: string, machine: Machine, person?: Person): Promise<void> {
  const folder = failureFolder(name);
  if (person) {
    await person.page.screenshot({ path: join(folder, 'screen.png') }).catch(() => {});
    writeFileSync(join(folder, 'browser'), `at ${person.page.url()}\n${person.complaints.join('\n')}\n`);
  }
  writeFileSync(join(folder, 'console'), machine.console());
  const journal = await machine.ssh('journalctl', '--no-pager', '-n', '3000').catch((error: unknown) => String(error));
  writeFileSync(join(folder, 'journal'), journal);
  console.error(
    `--- screen, browser, console, journal and the command that repeats it are in ${folder}\n${journal.split('\n').slice(-40).join('\n')}`,
  );
}
