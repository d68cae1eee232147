// The first day: the wizard from the set-up code to a page where data is moving; then signing out and in.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, test } from 'node:test';
import { SMTPServer } from 'smtp-server';
import { failureFolder } from '../failures.ts';
import { administrator } from '../stack/api.ts';
import type { Stack } from '../stack/stack.ts';
import { exactly, lookAt, type Person, person, signInBy, withStack } from './browser.ts';

let stack: Stack;
let someone: Person;
let mails: string[];
let mail: SMTPServer;
let mailPort = 0;
before(async () => {
  mails = [];
  mail = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onData: (stream, _session, done) => {
      let text = '';
      stream.on('data', (part) => {
        text += part;
      });
      stream.on('end', () => {
        mails.push(text);
        done();
      });
    },
  });
  mailPort = await new Promise((resolve) => {
    const server = mail.listen(0, '127.0.0.1', () => resolve((server.address() as { port: number }).port));
  });
  stack = await withStack();
  someone = await person(stack);
});
after(async () => {
  await someone?.close();
  await stack?.stop();
  await new Promise<void>((done) => mail.close(done));
});

test('the wizard, from the code to moving data', async (t) => {
  const { page, expect } = await someone.visit(t, '/storage');
  const form = page.getByRole('form');
  /** A step that fails leaves nothing for the next to begin with. */
  let failed = false;
  const part = (name: string, act: () => Promise<void>) =>
    t.test(name, { skip: failed }, async () => {
      failed = true;
      await act().catch(async (error: unknown) => {
        await page.screenshot({ path: `${failureFolder(name)}/screen.png`, fullPage: true }).catch(() => {});
        throw error;
      });
      failed = false;
    });
  const step = (name: string) => page.getByRole('heading', { name, level: 2 }).waitFor();

  await part('any page leads to the wizard, and a wrong code is refused with the reason', async () => {
    expect(/status of 401/);
    await step('Set-up code');
    assert.equal(new URL(page.url()).pathname, '/setup');
    await lookAt(page, 'setup-1-code');
    await form.getByLabel('Set-up code').fill('AAAA-BBBB-CCCC');
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('alert').getByText('The set-up code is wrong').waitFor();
    assert.equal(await form.getByLabel('Set-up code').inputValue(), 'AAAA-BBBB-CCCC', 'what was typed is not lost');
  });

  await part('the code in the address, as a QR code has it, is in the field and no longer in the address', async () => {
    await page.goto(`${stack.url}/setup#code=aaaa-bbbb-dddd`);
    await page.waitForURL(`${stack.url}/setup`);
    assert.equal(await form.getByLabel('Set-up code').inputValue(), 'AAAA-BBBB-DDDD');
    // In a tab that was just opened, too.
    await page.goto('about:blank');
    await page.goto(`${stack.url}/setup#code=AAAA-BBBB-EEEE`);
    await step('Set-up code');
    await page.waitForURL(`${stack.url}/setup`);
    assert.equal(await form.getByLabel('Set-up code').inputValue(), 'AAAA-BBBB-EEEE');
  });

  await part('the right code, typed in lower case', async () => {
    await form.getByLabel('Set-up code').fill(stack.setupCode.toLowerCase());
    await page.getByRole('button', { name: 'Continue' }).click();
    await step('Administrator');
  });

  await part('another browser is still asked for the code, and nothing in its console complains', async () => {
    const other = await person(stack);
    const visit = await other.visit(t, '/');
    await visit.page.getByRole('heading', { name: 'Set-up code', level: 2 }).waitFor();
    // As long as it takes until the page asks again whether the appliance is there.
    await visit.page.waitForResponse((reply) => reply.url().endsWith('/api/session'));
    await other.close();
  });

  await part('a code that was given too long ago is asked for again, and what was typed is kept', async () => {
    expect(/status of 401/);
    await form.getByLabel('Name').fill('grace');
    await form.getByLabel(exactly('Password')).fill(administrator.password);
    await form.getByLabel('Password again').fill(administrator.password);
    const cookies = await page.context().cookies();
    await page.context().clearCookies({ name: /setup/ });
    await page.getByRole('button', { name: 'Create the administrator' }).click();
    await step('Set-up code');
    await form.getByLabel('Set-up code').fill(stack.setupCode);
    await page.getByRole('button', { name: 'Continue' }).click();
    await step('Administrator');
    assert.ok(cookies.some(({ name }) => /setup/.test(name)));
    assert.equal(await form.getByLabel('Name').inputValue(), 'grace');
    assert.equal(await form.getByLabel(exactly('Password')).inputValue(), administrator.password);
  });

  await part('the administrator: two passwords that differ and a short one are reported beside the field', async () => {
    expect(/status of 400/);
    await form.getByLabel('Name').fill(administrator.name);
    await form.getByLabel(exactly('Password')).fill('short');
    await form.getByLabel('Password again').fill('shorter');
    await page.getByRole('button', { name: 'Create the administrator' }).click();
    await page.getByText('This is not the same as above.').waitFor();
    await form.getByLabel('Password again').fill('short');
    await page.getByRole('button', { name: 'Create the administrator' }).click();
    const field = form.getByLabel(exactly('Password'));
    await page.locator('[aria-invalid="true"]').first().waitFor();
    assert.equal(await field.getAttribute('aria-invalid'), 'true');
    await lookAt(page, 'setup-2-administrator');
    await field.fill(administrator.password);
    await form.getByLabel('Password again').fill(administrator.password);
    await page.getByRole('button', { name: 'Create the administrator' }).click();
    await step('Name and time zone');
  });

  await part('name and time zone: this browser’s zone is chosen already', async () => {
    assert.equal(await form.getByLabel('Time zone').inputValue(), 'Europe/Berlin');
    await form.getByLabel('Host name').fill('metrics1');
    await lookAt(page, 'setup-3-identity');
    // Somebody has added one already, under the name that it has so far.
    const db = new DatabaseSync(path.join(stack.dir, 'akd/state.db'));
    db.exec(`PRAGMA busy_timeout = 5000;
      INSERT INTO passkeys (id, user, name, host, credential_id, public_key, counter, transports_json, created_at)
      VALUES ('old', '${administrator.name}', 'laptop', 'cistern.local', 'old', '', 0, '[]', 1)`);
    expect(/status of 409/);
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByText('“laptop” of admin (cistern.local)', { exact: false }).waitFor();
    await lookAt(page, 'setup-3-passkeys-end');
    await page.getByRole('checkbox', { name: 'Passkeys for the present name may stop working' }).check();
    await page.getByRole('button', { name: 'Continue' }).click();
    await step('Storage');
    db.exec("DELETE FROM passkeys WHERE id = 'old'");
    db.close();
  });

  await part('left and resumed in the middle', async () => {
    await page.goto(`${stack.url}/alerts`);
    await step('Storage');
  });

  await part('a disk that vanishes is named, and nothing stays behind', async () => {
    expect(/status of 409/);
    await page
      .getByRole('radio', { name: /Mirror/i })
      .first()
      .waitFor();
    assert.ok(await page.getByRole('radio', { name: /recommended/ }).isChecked(), 'the recommended layout is chosen');
    assert.equal(await page.getByRole('checkbox', { name: /^data/ }).count(), 4);
    await lookAt(page, 'setup-4-pool');
    await stack.simulate('vanish-during-creation', { disk: 'data3' });
    await page.getByRole('button', { name: 'Create the pool' }).click();
    await page
      .getByRole('alert')
      .getByText(/data3 disappeared/)
      .waitFor();
    await lookAt(page, 'setup-4-pool-vanished');
    const pools = (await stack.socket('akd', '/api/pools')).status;
    assert.equal(pools, 401, 'the API stays closed meanwhile');
    await stack.simulate('disk-return', { disk: 'data3' });
  });

  await part('a pool of two mirrors out of four disks', async () => {
    const create = page.getByRole('button', { name: 'Create the pool' });
    await page.getByRole('checkbox', { name: /^data3/, disabled: false }).waitFor({ timeout: 20_000 });
    await page
      .getByText(/3\.\d+ GiB usable/)
      .first()
      .waitFor();
    // Where the wizard stood before is answered late: that must not lead back a step.
    const goneOn = page.waitForResponse((response) => response.url().endsWith('/api/setup/go-to-step'));
    await page.route('**/api/setup', async (route) => {
      const response = await route.fetch();
      await goneOn;
      await route.fulfill({ response }).catch(() => undefined); // nothing waits for it any more
    });
    await create.click();
    await step('Alerts');
    await page.unroute('**/api/setup');
  });

  await part('a destination: the test shows the exchange, and the mail arrives', async () => {
    await form.getByLabel('Mail server').fill('127.0.0.1');
    await form.getByLabel('Port').fill(String(mailPort));
    await form.getByLabel('Encryption').selectOption('none');
    await form.getByLabel('From').fill('cistern@example.com');
    await form.getByLabel('To', { exact: false }).first().fill('oncall@example.com');
    await page.getByRole('button', { name: 'Send a test' }).click();
    await page.getByText('The test message was accepted.').waitFor();
    await page.getByLabel('What was exchanged').getByText('RCPT TO').waitFor();
    assert.equal(mails.length, 1);
    assert.match(mails[0] as string, /oncall@example\.com/);
    await lookAt(page, 'setup-5-destinations');
    await page.getByRole('button', { name: 'Add the destination' }).click();
    await page.getByText('Alerts are sent to:').waitFor();
    await page.getByRole('button', { name: 'Continue' }).click();
    await step('Done');
  });

  await part('it ends where data is already moving', async () => {
    await page.getByRole('img', { name: /^Measurements taken in.*internal \d/ }).waitFor();
    await lookAt(page, 'setup-6-done');
    const began = performance.now();
    await page.getByRole('button', { name: 'Finish, and send a first sample' }).click();
    const lines = page.getByRole('region', { name: 'Lines for statsd, from a shell' });
    const [line] = /^echo .*$/m.exec((await lines.textContent()) ?? '') ?? [];
    execFileSync('bash', ['-c', line as string]);
    await page.getByRole('region', { name: 'The first sample: shop.checkout' }).getByText(/ms/).first().waitFor();
    t.diagnostic(`from the last page to the first sample of one's own: ${Math.round(performance.now() - began)} ms`);
    await lookAt(page, 'setup-7-first-sample');
    await page.getByRole('link', { name: 'Status' }).click();
    await page.getByRole('heading', { name: 'Status', level: 1 }).waitFor();
    await page.getByRole('link', { name: 'metrics1' }).waitFor();
  });

  await part('signing out closes every page; a wrong password is refused; signing in leads back', async () => {
    await page.getByRole('button', { name: /user menu/ }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
    await page.goto(`${stack.url}/alerts/thresholds`);
    await page.getByLabel('Name').fill(administrator.name);
    await page.getByLabel('Password').fill('not this one');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').getByText('The name or the password is wrong.').waitFor();
    assert.equal(await page.getByLabel('Name').inputValue(), administrator.name);
    await lookAt(page, 'sign-in-refused');
    await signInBy(page);
    await page.getByRole('heading', { name: 'Alerts' }).waitFor();
    assert.equal(new URL(page.url()).pathname, '/alerts/thresholds');
  });

  await part('the keyboard: g and a letter goes, / searches', async () => {
    await page.keyboard.press('g');
    await page.keyboard.press('t');
    await page.getByRole('heading', { name: 'Storage' }).waitFor();
    await page.keyboard.press('/');
    await page.getByRole('combobox', { name: /^Search/ }).fill('host_cpu');
    await page.getByRole('option', { name: /cistern_host_cpu_ratio/ }).waitFor();
    await lookAt(page, 'search');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: /cistern_host_cpu_ratio/ }).waitFor();
  });
});
