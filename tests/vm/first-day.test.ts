// The appliance's first day, as a new user lives it: the built image boots under QEMU, a real browser goes through the
// wizard, clients that no one here wrote send metrics, a limit is passed, mail and trap arrive, a support bundle is
// made, and a disk is pulled.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import tls from 'node:tls';
import { StatsD } from 'hot-shots';
import { smtp } from '../../appliance-kit/tests/smtp.ts';
import { snmptrapd } from '../../appliance-kit/tests/snmptrapd.ts';
import { exactly } from '../browser/browser.ts';
import { Person as ApiPerson } from '../stack/api.ts';
import { Canaries } from './canary.ts';
import { brokenDisks, endsClean, refusedRequests } from './clean.ts';
import { Machine, usual } from './machine.ts';
import { personAt } from './person.ts';
import { prometheus } from './prometheus.ts';
import { rowOf, wantsVariant } from './row.ts';
import { admin, apiOf, emptyFolder, firstDisks, image, work } from './saved.ts';
import { until } from './until.ts';

/** What docs/SECURITY.md says is open on a machine that was just set up. */
function portsOfTheManual(): string {
  const text = readFileSync(new URL('../../docs/SECURITY.md', import.meta.url), 'utf8');
  const ports = [...text.matchAll(/^\| ([\d/a-z, ]+) \|.*\| (?:always|unless switched off) \|$/gm)].flatMap(([, all]) =>
    (all as string).split(', ').map((one) => one.replace(/^(\d+)\/(\w+)$/, '$2 $1')),
  );
  return ports.sort().join(' ');
}

/** Where the guest finds this machine. */
const HOST = '10.0.2.2';
const mailUser = { user: 'cistern', password: 'c4nary-Mail-Pw' };
const community = 'c4nary-Community';

interface Sample {
  value: [number, string];
  metric: Record<string, string>;
}

async function query(api: ApiPerson, expression: string): Promise<Sample[]> {
  const reply = await api.get<{ data: { result: Sample[] } }>(
    'GET',
    `/api/v1/query?query=${encodeURIComponent(expression)}`,
  );
  return reply.data.result;
}

test('the first day of an appliance', async (t) => {
  const machine = await Machine.create(emptyFolder('first'), image(), {
    disks: firstDisks,
    // Most other tests have one.
    hardware: { ...usual, processors: 2 },
  });
  const watch = endsClean(t, machine, 0);
  await machine.start();
  const person = await personAt(machine);
  watch.add(person);
  // A wrong code is refused, the machine is reset, and a disk is pulled.
  watch.expect(...brokenDisks, ...refusedRequests);
  const { page } = person;
  const form = page.getByRole('form');
  const step = rowOf(t, () => ({ machine, person }));
  const mail = await smtp(t, mailUser);
  const traps = await snmptrapd(t, `authCommunity log "${community}"`);
  let code = '';
  let fingerprint = '';

  await step('the console shows the address, the certificate and the set-up code', async () => {
    const shown = await until('the console shows the set-up code', 300, () =>
      /Web page {5}https:\/\/10\.0\.2\.15\/[\s\S]*Certificate {2}SHA-256 (\S+)\s+Set-up code {2}(\S+)/.exec(
        machine.console(),
      ),
    );
    fingerprint = shown[1] as string;
    code = shown[2] as string;
    assert.match(code, /^[A-Z2-9]{4}-[A-Z2-9]{4}-[A-Z2-9]{4}$/);
  });

  await step('the web page has the certificate that the console shows', async () => {
    const seen = await until(
      'TLS answers',
      60,
      () =>
        new Promise<string>((done, failed) => {
          const socket = tls.connect(
            { port: machine.ports.https, host: '127.0.0.1', rejectUnauthorized: false },
            () => {
              done(socket.getPeerCertificate().fingerprint256);
              socket.destroy();
            },
          );
          socket.on('error', failed);
        }),
    );
    assert.equal(seen, fingerprint);
  });

  await step('a wrong set-up code is refused, the right one is taken', async () => {
    const stranger = new ApiPerson(machine.url);
    await until('management answers', 180, async () => (await stranger.ask('GET', '/api/setup')).status === 200, 1000);
    await page.goto(machine.url);
    await form.getByLabel('Set-up code').waitFor({ timeout: 120_000 });
    await form.getByLabel('Set-up code').fill('AAAA-BBBB-CCCC');
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('alert').getByText('The set-up code is wrong').waitFor();
    await form.getByLabel('Set-up code').fill(code);
    await page.getByRole('button', { name: 'Continue' }).click();
    await form.getByLabel('Password again').waitFor();
  });

  await step('the administrator, the name and the time zone', async () => {
    await form.getByLabel(exactly('Password')).fill(admin.password);
    await form.getByLabel('Password again').fill(admin.password);
    await page.getByRole('button', { name: 'Create the administrator' }).click();
    await form.getByLabel('Host name').fill('first');
    await form.getByLabel('Time zone').selectOption('Europe/Berlin');
    await page.getByRole('button', { name: 'Continue' }).click();
    await form.getByLabel('Name of the pool').waitFor();
    assert.equal((await machine.ssh('hostname')).trim(), 'first');
    assert.match(await machine.ssh('date', '+%Z'), /CES?T/);
  });

  await step('a pool of two mirrors out of four disks', async () => {
    for (const n of [0, 1, 2, 3])
      assert.ok(
        await page.getByRole('checkbox', { name: new RegExp(`DATA${n}`) }).isChecked(),
        `DATA${n} is not proposed`,
      );
    assert.ok(await page.getByRole('radio', { name: /^Mirrors/ }).isChecked(), 'mirrors are not proposed');
    assert.ok(await page.getByRole('checkbox', { name: /SYSTEM/ }).isDisabled(), 'the disk it runs from is offered');
    assert.ok(await page.getByRole('checkbox', { name: /TINY/ }).isDisabled(), 'a disk that is too small is offered');
    assert.equal(await page.getByRole('alert').count(), 0, 'something is called wrong before the first pool is there');
    await person.look('wizard-pool');
    await page.getByRole('button', { name: 'Create the pool' }).click();
    await page.getByText('Where should alerts be sent').waitFor({ timeout: 180_000 });
    const status = await machine.ssh('zpool', 'status', 'tank');
    assert.match(status, /mirror-0[\s\S]*DATA[\s\S]*DATA[\s\S]*mirror-1[\s\S]*DATA[\s\S]*DATA/);
    assert.equal((await machine.ssh('zpool', 'get', '-H', '-o', 'value', 'ashift', 'tank')).trim(), '12');
    assert.equal((await machine.ssh('zfs', 'get', '-H', '-o', 'value', 'compression', 'tank/telemetry')).trim(), 'lz4');
  });

  await step('mail is tested before it is saved, with the whole exchange', async () => {
    await form.getByLabel('Mail server').fill(HOST);
    await form.getByLabel(exactly('Port')).fill(String(mail.port));
    await form.getByLabel("Verify the server's certificate").uncheck();
    await form.getByLabel(exactly('From')).fill('cistern@example.com');
    await form.getByLabel(exactly('To')).fill('oncall@example.com');
    await form.getByLabel(exactly('User')).fill(mailUser.user);
    await form.getByLabel(exactly('Password')).fill('not it');
    await page.getByRole('button', { name: 'Send a test' }).click();
    await page.getByText('The test message was not accepted.').waitFor();
    await form.getByLabel(exactly('Password')).fill(mailUser.password);
    await page.getByRole('button', { name: 'Send a test' }).click();
    await page.getByText('The test message was accepted.').waitFor();
    const exchange = (await page.getByRole('log').textContent()) ?? '';
    assert.match(exchange, /STARTTLS/);
    assert.ok(
      !exchange.includes(mailUser.password) &&
        !exchange.includes(Buffer.from(`\0${mailUser.user}\0${mailUser.password}`).toString('base64')),
      'the exchange shows the password',
    );
    await person.look('wizard-mail');
    assert.ok(
      mail.letters.length >= 1 && mail.letters.every((letter) => letter.secure && letter.user === mailUser.user),
    );
    await page.getByRole('button', { name: 'Add the destination' }).click();
    await page.getByRole('button', { name: 'Add another' }).click();
  });

  await step('a trap receiver is added, and the wizard ends where data moves', async () => {
    await form.getByLabel('SNMP trap').check();
    await form.getByLabel('Receiver').fill(HOST);
    await form.getByLabel(exactly('Port')).fill(String(traps.port));
    await form.getByLabel('Community').fill(community);
    await page.getByRole('button', { name: 'Send a test' }).click();
    await page.getByText('The test message was accepted.').waitFor();
    await until('the test trap arrives', 30, () => traps.traps().length > 0);
    await page.getByRole('button', { name: 'Add the destination' }).click();
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByText('already measures itself').waitFor();
    await page.getByRole('img', { name: /^Measurements taken in.*internal \d/ }).waitFor();
    await person.look('wizard-done');
    await page.getByRole('button', { name: 'Finish', exact: true }).click();
    await page.getByRole('navigation', { name: 'Pages' }).waitFor({ state: 'attached' });
    assert.equal((await machine.sh('ls /var/lib/cistern/setup')).trim(), 'done');
    await until(
      'the console no longer shows the code',
      30,
      () => !machine.console().slice(machine.console().lastIndexOf('Certificate')).includes('Set-up code'),
    );
  });

  const api = await apiOf(machine).catch(() => undefined);

  await step('every part runs as its own user, in its sandbox', async () => {
    const expected: Record<string, string> = {
      'cistern-storaged': 'cistern-store',
      'cistern-tracerd': 'cistern-trace',
      'cistern-akd': 'cistern',
      'cistern-execd': 'root',
      'cistern-replicd': 'cistern-replicate',
      'cistern-supportd': 'cistern-support',
      'cistern-gatherd': 'root',
      nginx: 'www-data',
      snmpd: 'Debian-snmp',
    };
    for (const [unit, user] of Object.entries(expected)) {
      const shown = await machine.ssh(
        'systemctl',
        'show',
        unit,
        '-p',
        'ActiveState,MainPID,NoNewPrivileges,ProtectSystem,CapabilityBoundingSet',
      );
      assert.match(shown, /ActiveState=active/, unit);
      assert.match(shown, /NoNewPrivileges=yes/, unit);
      assert.match(shown, /ProtectSystem=strict/, unit);
      // DTrace for Linux wants to be root with nine; tracerd, which is not, starts it.
      const most = unit === 'cistern-tracerd' ? 9 : 6;
      assert.ok(
        (/CapabilityBoundingSet=(.*)/.exec(shown)?.[1] ?? '').split(' ').length <= most,
        `${unit} may do too much: ${shown}`,
      );
      const pid = /MainPID=(\d+)/.exec(shown)?.[1] ?? '';
      assert.equal((await machine.ssh('ps', '-o', 'user:20=', '-p', pid)).trim(), user, unit);
    }
    assert.equal((await machine.ssh('systemctl', '--failed', '--no-legend', '--plain')).trim(), '');
    assert.equal(
      (
        await machine.sh(
          'ss -Htlnu | awk \'{print $1" "$5}\' | grep -vE "127\\.|\\[::1\\]|:22$|%" | sed "s/ .*:/ /" | sort -u | tr "\\n" " "',
        )
      ).trim(),
      portsOfTheManual(),
      'something else listens on the network',
    );
  });

  await step('metrics arrive from a statsd client that no one here wrote', async () => {
    assert.ok(api);
    const client = new StatsD({
      host: '127.0.0.1',
      port: machine.ports.statsd,
      globalTags: { shop: 'berlin' },
      maxBufferSize: 0,
    });
    t.after(() => new Promise<void>((done) => client.close(() => done())));
    await until(
      'the appliance has them',
      90,
      async () => {
        client.gauge('queue.depth', 42);
        client.increment('orders.placed', 3);
        for (let n = 1; n <= 20; n++) client.timing('checkout.time', n * 10);
        const [gauge, counter, timer] = await Promise.all([
          query(api, '{"queue.depth",shop="berlin"}'),
          query(api, 'sum({"orders.placed"})'),
          query(api, 'histogram_count(sum({"checkout.time"}))'),
        ]);
        return gauge[0]?.value[1] === '42' && Number(counter[0]?.value[1]) > 0 && Number(timer[0]?.value[1]) > 0;
      },
      1000,
    );
  });

  let token = '';
  await step('metrics arrive from Prometheus by remote write', async () => {
    assert.ok(api);
    await page.goto(`${machine.url}/settings/tokens`);
    await page.getByRole('button', { name: 'New API token' }).click();
    await form.getByLabel('Name of the token').fill('prometheus');
    await page.getByRole('button', { name: 'Create the token' }).click();
    token = (await page.getByRole('textbox', { name: 'Token', exact: true }).inputValue()).trim();
    assert.ok(token.length >= 20);
    const writer = await prometheus(join(work, 'prometheus'), machine.url, token);
    t.after(() => writer.stop());
    await until(
      "Prometheus' own series are there",
      90,
      async () => {
        const found = await query(api, 'prometheus_tsdb_head_samples_appended_total{job="itself"}');
        return Number(found[0]?.value[1]) > 0;
      },
      2000,
    );
  });

  await step('the chart shows a number, the heatmap a timer', async () => {
    await page.goto(`${machine.url}/analytics/explore`);
    await page.getByRole('textbox', { name: 'Find a metric' }).fill('queue');
    await page.getByRole('link', { name: 'queue.depth' }).click();
    await page.getByRole('img', { name: /queue\.depth/ }).waitFor();
    await page.getByText('42', { exact: false }).first().waitFor();
    await person.look('chart');
    await page.goto(`${machine.url}/analytics/explore?metric=checkout.time`);
    await page.getByRole('img', { name: /checkout\.time/ }).waitFor();
    await person.look('heatmap');
  });

  await step(
    'a limit is passed: mail and trap arrive with the right values, and the all-clear after them',
    async () => {
      assert.ok(api);
      await page.goto(`${machine.url}/alerts/thresholds/new`);
      await form.getByLabel('When').fill('{"queue.depth"}');
      await page.getByRole('textbox', { name: 'Limit', exact: true }).fill('100');
      await form.getByLabel('For how long', { exact: true }).selectOption('0');
      await form.getByLabel('Limit for the all-clear').fill('80');
      await form.getByLabel('Clear for how long').selectOption('0');
      await form.getByLabel('Name of the rule').fill('Queue is too long');
      await person.look('threshold');
      await page.getByRole('button', { name: 'Create the rule' }).click();
      await page.getByText('Queue is too long').first().waitFor();
      const mails = mail.letters.length;
      const heard = traps.traps().length;
      const client = new StatsD({
        host: '127.0.0.1',
        port: machine.ports.statsd,
        globalTags: { shop: 'berlin' },
        maxBufferSize: 0,
      });
      try {
        const raised = await until(
          'the mail arrives',
          120,
          () => {
            client.gauge('queue.depth', 137); // again and again: a datagram may be lost
            return mail.letters.slice(mails).find((letter) => letter.content.includes('Queue is too long'));
          },
          1000,
        );
        assert.deepEqual(raised.to, ['oncall@example.com']);
        const text = raised.content.replaceAll('=\r\n', '').replaceAll('=3D', '=');
        assert.match(text, /137/);
        assert.match(text, /100/);
        assert.match(text, /first/, 'the mail does not name the appliance');
        const trap = await until('the trap arrives', 60, () =>
          traps
            .traps()
            .slice(heard)
            .find((line) => line.includes('Queue is too long')),
        );
        assert.match(trap, /\.1\.3\.6\.1\.4\.1\.8072\.9999\.9999\.7710\.0\.1/);
        assert.match(trap, /"137"/);
        assert.match(trap, /"100"/);
        await page.goto(`${machine.url}/alerts`);
        await page.getByText('Queue is too long').first().waitFor();
        await person.look('alert');
        await until(
          'the all-clear is mailed',
          120,
          () => {
            client.gauge('queue.depth', 12);
            return mail.letters.length >= mails + 2;
          },
          1000,
        );
        await until('the all-clear is trapped', 60, () =>
          traps
            .traps()
            .slice(heard)
            .find((line) => line.includes('7710.0.2')),
        );
      } finally {
        await new Promise<void>((done) => client.close(() => done()));
      }
    },
  );

  await step('a support bundle is made, downloaded, opened, and holds no secret', async () => {
    await page.goto(`${machine.url}/maintenance`);
    await page
      .getByRole('button', { name: /support bundle/i })
      .first()
      .click();
    const download = page
      .getByRole('link', { name: /^Download cistern-first/ })
      .or(page.getByRole('button', { name: /^Download cistern-first/ }));
    await download.first().waitFor({ timeout: 300_000 });
    await person.look('bundle');
    const [file] = await Promise.all([page.waitForEvent('download'), download.first().click()]);
    const path = join(work, 'bundle.tar.zst');
    await file.saveAs(path);
    const open = emptyFolder('bundle');
    execFileSync('tar', ['--zstd', '-xf', path, '-C', open, '--strip-components=1']);
    const manifest = JSON.parse(readFileSync(join(open, 'manifest.json'), 'utf8')) as {
      steps: { name: string; category: string; state: string; sha256?: string; error?: string }[];
    };
    const failed = manifest.steps
      .filter(({ state }) => state !== 'done')
      .map(({ category, name, error }) => `${category}/${name}: ${error}`);
    assert.deepEqual(failed, [], 'steps failed');
    for (const { category, name, sha256 } of manifest.steps)
      assert.equal(
        createHash('sha256')
          .update(readFileSync(join(open, category, name)))
          .digest('hex'),
        sha256,
        name,
      );
    assert.match(readFileSync(join(open, 'zfs/pool-status.txt'), 'utf8'), /mirror-1/);
    const configuration = readFileSync(join(open, 'configuration/akd.json'), 'utf8');
    assert.match(configuration, /Queue is too long/);
    for (const secret of [mailUser.password, community, admin.password, token, code]) {
      const found = spawnGrep(secret, open);
      assert.equal(found, '', `the bundle holds a secret: ${found}`);
    }
  });

  await step('memory in use is counted', async () => {
    const kilobytes = (
      await machine.sh(
        'for s in /proc/[0-9]*/smaps_rollup; do sed -n "s/^Pss: *\\([0-9]*\\) kB/\\1/p" $s; done 2>/dev/null; true',
      )
    )
      .trim()
      .split('\n')
      .reduce((sum, line) => sum + Number(line), 0);
    mkdirSync(resolve('out/figures'), { recursive: true });
    writeFileSync(
      resolve('out/figures/vm.json'),
      JSON.stringify({ residentBytes: kilobytes * 1024, accelerated: machine.accelerated }),
    );
    t.diagnostic(`all processes of the appliance: ${Math.round(kilobytes / 1024)} MiB resident (proportional)`);
  });

  // tests/vm/alerts.test.ts resets a machine in any case.
  const reset = 'the machine is reset without warning: nothing acknowledged is lost, nobody signs in again';
  const wasReset = async () => {
    assert.ok(api);
    const canaries = new Canaries(api);
    await canaries.some();
    await machine.reset();
    await canaries.end();
    await machine.waitForSsh(300);
    const after = await until('the appliance answers again', 180, () => apiOf(machine), 2000);
    await until('the store answers', 120, async () => (await query(after, 'vector(1)')).length === 1, 2000);
    await canaries.mustBeThere(after);
    t.diagnostic(`${canaries.acknowledged.length} acknowledged samples were there after the reset`);
    const rules = await after.get<{ items: { name: string }[] }>('GET', '/api/thresholds');
    assert.ok(rules.items.some(({ name }) => name === 'Queue is too long'));
    const pools = await after.get<{ items: { name: string; state: string }[] }>('GET', '/api/pools');
    assert.deepEqual(pools.items.map(({ name, state }) => `${name} ${state}`).sort(), ['system ONLINE', 'tank ONLINE']);
    assert.ok((await query(after, 'count_over_time({"queue.depth"}[1h])')).length > 0, 'the earlier metrics are gone');
    assert.equal((await machine.ssh('hostname')).trim(), 'first');
    // The session is kept as well: no one has to sign in again.
    await page.goto(`${machine.url}/status`);
    await page.getByRole('navigation', { name: 'Pages' }).waitFor({ state: 'attached' });
    await page.getByRole('heading', { level: 1 }).first().waitFor();
    await person.look('after-reset');
  };
  if (wantsVariant(reset)) await step(reset, wasReset);

  await step('a disk is pulled: the data stays, the page says what to do, and it is alerted', async () => {
    const after = await apiOf(machine);
    const mails = mail.letters.length;
    await machine.unplug('DATA3');
    await until(
      'the pool is degraded',
      90,
      async () =>
        (await after.get<{ items: { name: string; state: string }[] }>('GET', '/api/pools')).items.some(
          ({ name, state }) => name === 'tank' && state === 'DEGRADED',
        ),
      1000,
    );
    await until(
      'the alert is mailed',
      120,
      () => mail.letters.slice(mails).some(({ content }) => /tank/.test(content)),
      1000,
    );
    await page.goto(`${machine.url}/storage`);
    await page
      .getByText(/degraded/i)
      .first()
      .waitFor();
    await person.look('degraded');
    const reply = await after.get<{ accepted: number }>('POST', '/api/v1/import', {
      samples: [{ name: 'canary', value: -1 }],
    });
    assert.equal(reply.accepted, 1);
  });
});

/** The first file below `dir` that holds `text`, or nothing. */
function spawnGrep(text: string, dir: string): string {
  try {
    return execFileSync('grep', ['-rlF', '--', text, dir], { encoding: 'utf8' });
  } catch {
    return '';
  }
}
