import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { inflateSync } from 'node:zlib';
import { message } from '../../../../tests/messages.ts';
import { type SmtpOptions, smtp } from '../../../../tests/smtp.ts';
import { ProblemError } from '../../../base/problems/problem.ts';
import { merged } from '../../outbox/grouping.ts';
import type { EmailInput } from '../schema.ts';
import { draw } from './chart.ts';
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

test('CRAM-MD5: the password does not cross the wire, and no step of it is shown', async (t) => {
  const mailbox = await smtp(t, { user: 'alerts', password: PASSWORD, authMethods: ['CRAM-MD5', 'PLAIN'] });
  const email = settings(mailbox.port, {
    ...{ security: 'starttls', user: 'alerts', password: PASSWORD, login: 'cram-md5' },
  });
  const shown = (await send(email)).join('\n');
  assert.equal(mailbox.letters[0]?.user, 'alerts');
  assert.match(shown, /> AUTH CRAM-MD5/);
  assert.ok(!/> [A-Za-z0-9+/=]{30,}/.test(shown), shown);
  assert.match((await refused({ ...email, password: 'not it' })).error.problem.detail, /535/);
});

test('XOAUTH2: an access token is asked for, used again, and asked for anew when it is refused', async (t) => {
  const asked: string[] = [];
  let token = 'first-token';
  const server = http.createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => {
      body += chunk;
    });
    request.on('end', () => {
      asked.push(body);
      const good = new URLSearchParams(body).get('refresh_token') === 'refresh me';
      response.writeHead(good ? 200 : 400, { 'content-type': 'application/json' });
      response.end(
        JSON.stringify(
          good
            ? { access_token: token, expires_in: 3600, token_type: 'Bearer' }
            : { error: 'invalid_grant', error_description: 'The refresh token was withdrawn.' },
        ),
      );
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const tokenUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/token`;
  const login = { user: 'alerts', authMethods: ['XOAUTH2'] };
  const mailbox = await smtp(t, { ...login, accessToken: 'first-token' });
  const email = (port: number) =>
    settings(port, {
      ...{ security: 'starttls', user: 'alerts', login: 'xoauth2' },
      ...{ tokenUrl, clientId: 'cistern', clientSecret: 'between us', refreshToken: 'refresh me' },
    });
  const lines = [...(await send(email(mailbox.port))), ...(await send(email(mailbox.port)))].join('\n');
  assert.equal(mailbox.letters.length, 2);
  assert.equal(asked.length, 1, 'the token is used again');
  assert.match(
    asked[0] as string,
    /grant_type=refresh_token&refresh_token=refresh\+me&client_id=cistern&client_secret=/,
  );
  assert.ok(!lines.includes('first-token') && !lines.includes(Buffer.from('first-token').toString('base64')), lines);

  token = 'second-token';
  const other = await smtp(t, { ...login, accessToken: 'second-token' });
  await refused(email(other.port));
  await send(email(other.port));
  assert.equal(other.letters.length, 1, 'the next try has asked for another');

  const withdrawn = await refused({ ...email(other.port), refreshToken: 'old' });
  assert.match(
    withdrawn.error.problem.detail,
    /127\.0\.0\.1:\d+ gave no access token: 400 The refresh token was withdrawn/,
  );
});

test('the last hour is a picture in the mail, with what it shows in words; List-Id sorts', async (t) => {
  const points = Array.from({ length: 121 }, (_, n) => [n * 30, n < 60 ? 4 + Math.sin(n / 4) : 16] as const);
  const chart = draw({
    start: 0,
    end: 3600,
    points: points.filter((_, n) => n < 30 || n > 40),
    limit: 6,
    unit: 'bytes/s',
  });
  assert.ok(chart);
  assert.match(
    chart.words,
    /^From 00:00 to 01:00 UTC: lowest 3(?:\.\d+)? bytes\/s, highest 16 bytes\/s; the red line is the limit, 6 bytes\/s\.$/,
  );
  if (process.env.CISTERN_KEEP) writeFileSync(process.env.CISTERN_KEEP, chart.png);
  // As the standard lays it out: 1120 × 280, 8 bits, indexed; rows with a filter byte each.
  assert.deepEqual([...chart.png.subarray(0, 8)], [0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10]);
  assert.deepEqual(
    [chart.png.readUInt32BE(16), chart.png.readUInt32BE(20), chart.png[24], chart.png[25]],
    [1120, 280, 8, 3],
  );
  const at = chart.png.indexOf('IDAT');
  const rows = inflateSync(chart.png.subarray(at + 4, at + 4 + chart.png.readUInt32BE(at - 4)));
  assert.equal(rows.length, 1121 * 280);
  const colours = new Set(rows);
  assert.deepEqual([...colours].sort(), [0, 1, 2, 3, 4], 'background, grid, area, line and limit');
  assert.equal(draw({ start: 0, end: 3600, points: [], limit: 6, unit: '' }), null);

  const mailbox = await smtp(t);
  await sendEmail(settings(mailbox.port), message(), () => {}, chart);
  const content = mailbox.letters[0]?.content ?? '';
  assert.match(headers(content), /List-Id: "Cistern alerts" <alerts\.metrics1>/i);
  assert.match(content, /Content-Id: <chart@cistern>/i);
  assert.match(content, /Content-Disposition: inline/i);
  assert.match(content.replace(/=\r\n/g, ''), /src=3D"cid:chart@cistern"/);
  assert.ok(content.replace(/\r\n/g, '').includes(chart.png.toString('base64').slice(0, 200)));
});

test('a message of many names them, and is where their conversation begins', () => {
  const many = Array.from({ length: 60 }, (_, n) => message('raise', { id: `al-${n}`, title: `Disk ${n} <hot>` }));
  const apart = [{ label: 'host', value: 'web1', members: 60, others: 0 }];
  const about = {
    sharedBy: () => ({ common: { host: 'web1' }, apart, series: 60, of: 90 }),
    titleOf: () => 'Egress: 60 of 90 series',
  };
  const mail = compose(merged('gr-1', 'burst', many, Date.UTC(2026, 0, 1), 'gr-1', about));
  assert.match(mail.subject, /Egress: 60 of 90 series/);
  assert.equal(mail.messageId, '<gr-1@metrics1>');
  assert.match(mail.text, /raised: Disk 9 <hot>\n {2}and 50 more/);
  assert.match(mail.text, /In common:\n {2}All have host=web1; none of the 30 other series does\./);
  assert.match(mail.text, /Open: https:\/\/metrics1\/alerts\/bu-/);
  assert.ok(mail.html.includes('Disk 7 &#60;hot&#62;') && !mail.html.includes('<hot>'));
  const clear = compose({ ...message('clear'), thread: 'gr-1', others: 3 });
  assert.deepEqual(clear.references, ['<gr-1@metrics1>']);
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
