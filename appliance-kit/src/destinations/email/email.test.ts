import assert from 'node:assert/strict';
import { test } from 'node:test';
import { message } from '../../../tests/messages.ts';
import { type SmtpOptions, smtp } from '../../../tests/smtp.ts';
import { ProblemError } from '../../problems/problem.ts';
import type { EmailInput } from '../schema.ts';
import { compose } from './message.ts';
import { sendEmail } from './send.ts';

const PASSWORD = 'the secret of the mailbox';

const settings = (port: number, change: Partial<EmailInput> = {}): EmailInput => ({
  host: '127.0.0.1',
  port,
  security: 'none',
  verifyCertificate: false,
  from: 'Cistern <cistern@example.org>',
  to: ['ops@example.org', 'Night Shift <night@example.org>'],
  ...change,
});

async function send(email: EmailInput, what = message()): Promise<string[]> {
  const lines: string[] = [];
  await sendEmail(email, what, (direction, text) => lines.push(`${direction} ${text}`));
  return lines;
}

async function refused(email: EmailInput): Promise<{ error: ProblemError; lines: string[] }> {
  const lines: string[] = [];
  try {
    await sendEmail(email, message(), (direction, text) => lines.push(`${direction} ${text}`));
  } catch (error) {
    assert.ok(error instanceof ProblemError);
    return { error, lines };
  }
  return assert.fail('it was accepted');
}

/** Headers without folding. */
const headers = (content: string) => (content.split('\r\n\r\n', 1)[0] as string).replace(/\r\n[ \t]+/g, ' ');

test('without encryption: the mail arrives, and the whole exchange is shown', async (t) => {
  const mailbox = await smtp(t);
  const lines = await send(settings(mailbox.port));
  const [letter] = mailbox.letters;
  assert.deepEqual(
    [letter?.from, letter?.to, letter?.secure],
    ['cistern@example.org', ['ops@example.org', 'night@example.org'], false],
  );
  const shown = lines.join('\n');
  for (const part of [
    '< 220 mail.test',
    '> EHLO',
    '> MAIL FROM:<cistern@example.org>',
    '> RCPT TO:<night@example.org>',
    '> DATA',
    '< 250',
  ]) {
    assert.ok(shown.includes(part), `${part} in:\n${shown}`);
  }
});

test('STARTTLS and implicit TLS, with a user', async (t) => {
  const login: SmtpOptions = { user: 'alerts', password: PASSWORD };
  const both = [
    [await smtp(t, login), 'starttls'],
    [await smtp(t, { ...login, secure: true }), 'tls'],
  ] as const;
  for (const [mailbox, security] of both) {
    const lines = await send(settings(mailbox.port, { security, user: 'alerts', password: PASSWORD }));
    assert.deepEqual([mailbox.letters[0]?.secure, mailbox.letters[0]?.user], [true, 'alerts'], security);
    const shown = lines.join('\n');
    assert.match(shown, /> AUTH PLAIN \*{8}/);
    for (const secret of [
      PASSWORD,
      Buffer.from(PASSWORD).toString('base64'),
      Buffer.from(`\0alerts\0${PASSWORD}`).toString('base64'),
    ]) {
      assert.ok(!shown.includes(secret), shown);
    }
  }
});

test('every step of a login in several steps is masked', async (t) => {
  const mailbox = await smtp(t, { user: 'alerts', password: PASSWORD, authMethods: ['LOGIN'] });
  const lines = await send(settings(mailbox.port, { security: 'starttls', user: 'alerts', password: PASSWORD }));
  assert.equal(mailbox.letters.length, 1);
  const shown = lines.join('\n');
  assert.match(shown, /> AUTH LOGIN/);
  assert.ok(!shown.includes(Buffer.from(PASSWORD).toString('base64')), shown);
  assert.ok(!shown.includes(Buffer.from('alerts').toString('base64')), shown);
  assert.match(shown, /> MAIL FROM/, 'what comes after the login is shown again');
});

test('STARTTLS chosen and not offered: nothing is sent in the clear', async (t) => {
  const mailbox = await smtp(t, { withoutSTARTTLS: true });
  const { error } = await refused(settings(mailbox.port, { security: 'starttls' }));
  assert.match(error.problem.action ?? '', /encryption/);
  assert.equal(mailbox.letters.length, 0);
});

test('a certificate that does not verify is refused, when it is to be verified', async (t) => {
  const mailbox = await smtp(t, { secure: true });
  const { error } = await refused(settings(mailbox.port, { security: 'tls', verifyCertificate: true }));
  assert.match(error.problem.detail, /certificate/i);
  assert.equal(mailbox.letters.length, 0);
  await send(settings(mailbox.port, { security: 'tls' }));
  assert.equal(mailbox.letters.length, 1);
});

test("a refused login, a refused message, nobody there: the server's own words", async (t) => {
  const login = await smtp(t, { user: 'alerts', password: PASSWORD });
  const wrong = await refused(settings(login.port, { security: 'starttls', user: 'alerts', password: 'not it' }));
  assert.match(wrong.error.problem.detail, /535 5\.7\.8 Those credentials are not known here/);
  assert.match(wrong.error.problem.action ?? '', /password/);
  assert.ok(
    wrong.lines.some((line) => line.startsWith('< 535')),
    wrong.lines.join('\n'),
  );

  const full = await smtp(t, { refuse: () => 'mailbox full' });
  assert.match((await refused(settings(full.port))).error.problem.detail, /451 mailbox full/);

  const gone = await smtp(t);
  await gone.close();
  assert.match((await refused(settings(gone.port))).error.problem.detail, /ECONNREFUSED/);
});

test('what the mail says, as text and as HTML', () => {
  const mail = compose(message());
  assert.equal(mail.subject, '[metrics1] Critical: Egress (host="web1")');
  for (const body of [mail.text, mail.html]) {
    for (const part of [
      'threshold.exceeded',
      'Critical',
      'metrics1',
      'above the limit of 6',
      'Somebody is waiting.',
      'Measuring goes on.',
      'Look at the chart.',
      '2026-01-01T00:00:00.000Z',
      'ev-000000001-raise',
      'https://metrics1/alerts/al-000000001-aaaaaaaaaa',
      '16.25',
    ]) {
      assert.ok(body.includes(part), part);
    }
  }
  assert.match(compose(message('clear')).subject, /^\[metrics1\] Cleared: /);
  assert.match(compose(message('repost')).subject, /^\[metrics1\] Still critical: /);
});

test('raise, repeat and clear are one conversation', async (t) => {
  const mailbox = await smtp(t);
  for (const event of ['raise', 'repost', 'clear'] as const) await send(settings(mailbox.port), message(event));
  const [raise, repost, clear] = mailbox.letters.map(({ content }) => headers(content));
  const id = /^Message-ID: (<.*>)$/im.exec(raise ?? '')?.[1] as string;
  assert.equal(id, '<al-000000001-aaaaaaaaaa@metrics1>');
  for (const later of [repost, clear]) {
    assert.ok(later?.includes(`In-Reply-To: ${id}`), later);
    assert.ok(later?.includes(`References: ${id}`), later);
    assert.ok(!later?.includes(`Message-ID: ${id}`), later);
  }
  assert.ok(!raise?.includes('In-Reply-To'));
});

test('labels from the network forge neither headers nor HTML', async (t) => {
  const mailbox = await smtp(t);
  const evil = 'x\r\nBcc: victim@example.org\r\n\r\n<script>alert(1)</script>';
  const forged = message('raise', { title: evil, text: evil, labels: { host: evil }, ruleName: evil });
  await send(settings(mailbox.port), { ...forged, hostName: 'a\r\nX-Evil: 1' });
  const [letter] = mailbox.letters;
  assert.deepEqual(letter?.to, ['ops@example.org', 'night@example.org']);
  const lines = headers(letter?.content ?? '').split('\r\n');
  assert.ok(!lines.some((line) => /^(Bcc|X-Evil):/i.test(line)), lines.join('\n'));
  assert.ok(!compose(forged).html.includes('<script>'));
});
