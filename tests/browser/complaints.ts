// What a browser complains about while a page is used: errors and warnings of its console, uncaught errors, requests that
// failed or went elsewhere, and violations of the page's content security policy, which it writes to the console.
import type { Page } from 'playwright-core';

/** Complaints that any page may cause, each with the reason. */
export const allowed: readonly (readonly [complaint: RegExp, reason: string])[] = [
  [/^request failed: .*net::ERR_ABORTED/, 'the page was left while it was still being answered, or a download began'],
];

/** A list that grows with what the browser complains about; `origin` is all that the page may ask. */
export function complaintsOf(page: Page, origin: string): readonly string[] {
  const complaints: string[] = [];
  const add = (complaint: string) => {
    if (!allowed.some(([pattern]) => pattern.test(complaint))) complaints.push(complaint);
  };
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning')
      add(`${message.type()}: ${message.text()} (${message.location().url})`);
  });
  page.on('pageerror', (error) => add(`page error: ${error.stack ?? error.message}`));
  page.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith(origin) && !/^(?:blob|data|about):/.test(url)) add(`request to ${url}`);
  });
  page.on('requestfailed', (request) =>
    add(`request failed: ${request.method()} ${request.url()} ${request.failure()?.errorText ?? ''}`),
  );
  return complaints;
}
