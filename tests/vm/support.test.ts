// Support when things are broken: a bundle from a healthy appliance, and from one whose management, store, web server, pool
// or room is gone; the page that is there without the management plane, in a real browser; crashes that become one record
// and one alert.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { brokenDisks, fullSystemPool, killedServices, refusedRequests } from './clean.ts';
import type { Machine } from './machine.ts';
import { keepEvidence, personAt } from './person.ts';
import { fromFat } from './qemu.ts';
import { wantedStep, wantsVariant } from './row.ts';
import { admin, readyMachine, work } from './saved.ts';
import { until } from './until.ts';

interface Step {
  category: string;
  name: string;
  state: string;
  error?: string;
}
interface Bundle {
  id: string;
  name: string;
  state: string;
  place: string;
  bytes: number;
  steps: Step[];
}
interface Crash {
  id: string;
  service: string;
  signal?: string;
  count: number;
  recording?: boolean;
  stacks: string;
  log: string[];
}

/**
 * What failed. Not how long each unit took to start: asking systemd for each of three hundred takes more than its deadline
 * when the emulated machine is busy, and while an enabled service is kept dead it says that booting has not ended.
 */
const bad = (steps: readonly Step[]) =>
  steps
    .filter(({ state, name }) => state !== 'done' && name !== 'boot-times.txt')
    .map(({ category, name, error }) => `${category}/${name}: ${error}`);

/** A bundle by the command line, and what is in it, unpacked on this machine. */
async function bundleBySsh(machine: Machine, name: string): Promise<{ dir: string; steps: Step[]; said: string }> {
  const said = await machine.sh(`cistern bundle make --to /run/${name}.tar.zst 2>&1`);
  return { ...(await fetched(machine, `/run/${name}.tar.zst`, name)), said };
}

async function fetched(machine: Machine, path: string, name: string): Promise<{ dir: string; steps: Step[] }> {
  const dir = join(work, `support-${name}`);
  rmSync(dir, { recursive: true, force: true });
  mkdirSync(dir, { recursive: true });
  const base64 = await machine.sh(`base64 -w0 ${path}; rm -f ${path}`);
  execFileSync('tar', ['--zstd', '-xf', '-', '-C', dir, '--strip-components=1'], {
    input: Buffer.from(base64, 'base64'),
  });
  const { steps } = JSON.parse(readFileSync(join(dir, 'manifest.json'), 'utf8')) as { steps: Step[] };
  return { dir, steps };
}

test('support', async (t) => {
  const { machine, api, watch } = await readyMachine(t, 'support');
  const person = await personAt(machine);
  watch.add(person);
  watch.expect(...brokenDisks, ...killedServices, ...fullSystemPool, ...refusedRequests);
  const { page, look } = person;
  /** Each for itself: what one breaks it mends again. */
  const step = async (name: string, run: () => Promise<void>) => {
    if (wantedStep && !wantedStep.test(name) && !wantedStep.test(t.name)) return;
    await t.test(name, async () => {
      try {
        await run();
      } catch (error) {
        console.error(`--- ${name}: ${error instanceof Error ? error.stack : error}`);
        await keepEvidence(`support ${name}`, machine, person);
        throw error;
      }
    });
  };
  /** What something else stands for in the ordinary run. */
  const variant = async (name: string, run: () => Promise<void>) => {
    if (wantsVariant(name)) await step(name, run);
  };
  const answers = () =>
    until('management answers', 240, async () => (await api.ask('GET', '/api/status')).status === 200, 1000);
  /** Killed, and not started again. */
  const dead = (unit: string) => machine.sh(`systemctl kill -s KILL ${unit}; systemctl stop ${unit}`);
  const alive = (unit: string) => machine.sh(`systemctl reset-failed ${unit}; systemctl start ${unit}`);

  await step('a bundle from a healthy appliance is whole, soon, and small in memory', async () => {
    // The saved machine was measured for no more than a moment.
    await until('it has statistics', 60, async () => {
      const measured = await api.ask('GET', '/api/v1/query?query=cistern_memory_bytes');
      return measured.status === 200 && measured.text.includes('"dataset"');
    });
    const begun = Date.now();
    const made = await api.get<Bundle>('POST', '/api/bundles', {});
    const bundle = await until(
      'the bundle is done',
      240,
      async () => {
        const now = await api.get<Bundle>('GET', `/api/bundles/${made.id}`);
        return now.state !== 'building' && now;
      },
      500,
    );
    const seconds = (Date.now() - begun) / 1000;
    const peak = await machine.sh("awk '/^VmHWM:/ {print $2}' /proc/$(pidof supportd)/status");
    t.diagnostic(
      `a bundle of ${bundle.steps.length} steps, ${bundle.bytes} bytes, in ${seconds} s; supportd used at most ${Math.round(Number(peak) / 1024)} MiB`,
    );
    assert.equal(bundle.state, 'done');
    assert.deepEqual(bad(bundle.steps), []);
    assert.ok(Number(peak) > 1024 && Number(peak) < 100 * 1024, `${peak} kB`);
    assert.ok(seconds <= 120, `${seconds} s`);
    const { dir } = await fetched(
      machine,
      await machine.sh(`cp /var/lib/cistern/support/${made.id}.tar.zst /run/healthy; printf /run/healthy`),
      'healthy',
    );
    assert.match(readFileSync(join(dir, 'identity/image.txt'), 'utf8'), /SHA-256 [0-9a-f]{64}\n/);
    for (const name of ['storaged', 'tracerd', 'execd', 'replicd', 'supportd', 'gatherd']) {
      assert.match(readFileSync(join(dir, `stacks/${name}.txt`), 'utf8'), /^goroutine \d+ \[running\]/, name);
    }
    assert.match(readFileSync(join(dir, 'stacks/akd.json'), 'utf8'), /"javascriptStack"/);
    assert.ok(
      (JSON.parse(readFileSync(join(dir, 'statistics/last-day.json'), 'utf8')) as { charts: unknown[] }).charts.length >
        0,
    );
    // Its viewer, opened from the file in a browser that has no network to go to.
    const viewer = await page.context().newPage();
    await viewer.goto(`file://${join(dir, 'viewer.html')}`);
    await viewer.getByRole('heading', { level: 1, name: /^cistern-first-/ }).waitFor();
    await viewer.locator('figure').first().waitFor();
    await viewer.getByRole('button', { name: /^zfs\/pool-status\.txt/ }).click();
    await viewer.frameLocator('iframe').getByText('pool: tank').waitFor();
    await viewer.screenshot({ path: join(work, '../screenshots/vm-support-viewer.png'), fullPage: true });
    await viewer.close();
    // Through nginx, in parts.
    const whole = statSync(join(dir, 'manifest.json')).size;
    assert.ok(whole > 1000);
    const part = await api.ask('GET', `/api/bundles/${made.id}/content`);
    assert.equal(part.status, 200);
    assert.equal(part.headers['accept-ranges'], 'bytes');
  });

  const crash = 'a crash is one record and one alert; many of the same are one record with a count';
  await step(crash, async () => {
    const all = wantsVariant(crash);
    const crashes = async (service: string) =>
      (await api.get<{ items: Crash[] }>('GET', '/api/crashes')).items.filter((one) => one.service === service);
    const alerts = async () =>
      (
        await api.get<{ items: { class: string; state: string; labels: Record<string, string> }[] }>(
          'GET',
          '/api/alerts?state=active&limit=100',
        )
      ).items.filter((one) => one.class === 'process.crashed');
    await machine.sh('kill -ABRT $(pidof storaged)');
    const begun = Date.now();
    await until(
      'it is an alert',
      60,
      async () => (await alerts()).some((one) => one.labels.service === 'storaged'),
      200,
    );
    t.diagnostic(`a crash of storaged was an alert after ${(Date.now() - begun) / 1000} s`);
    const [record] = await until('storaged has a record', 300, async () => {
      const found = (await crashes('storaged')).filter((one) => !one.recording);
      return found.length > 0 && found;
    });
    t.diagnostic(`a crash of storaged was a record after ${(Date.now() - begun) / 1000} s`);
    assert.match(record?.stacks ?? '', /goroutine \d+/);
    assert.equal((await alerts()).filter((one) => one.labels.service === 'storaged').length, 1);
    // akd for every other process, and at last the one that keeps the records.
    for (const names of [all ? ['tracerd', 'execd', 'replicd', 'gatherd', 'akd'] : ['akd'], ['supportd']]) {
      for (const name of names) await machine.sh(`systemctl kill -s ABRT --kill-whom=main cistern-${name}`);
      await answers();
      for (const name of names) {
        await until(`${name} has a record`, 300, async () =>
          (await crashes(name)).some((one) => !one.recording && one.signal === 'SIGABRT' && one.count === 1),
        );
        await until(`${name} is an alert`, 20, async () => (await alerts()).some((one) => one.labels.service === name));
        assert.equal((await alerts()).filter((one) => one.labels.service === name).length, 1, name);
      }
    }
    await machine.sh('kill -SEGV $(pgrep -P $(pgrep -o -x nginx) | head -n 1)');
    await until('nginx has a record', 300, async () => (await crashes('nginx')).some((one) => !one.recording));
    // Each core takes its time under emulation; a hundred are counted by the unit test of the records.
    for (let n = 2; n <= (all ? 8 : 3); n++) {
      await machine.sh('kill -SEGV $(pgrep -P $(pgrep -o -x nginx) | head -n 1)');
      await until(`${n} are counted`, 300, async () => ((await crashes('nginx'))[0]?.count ?? 0) >= n, 1000);
    }
    const nginx = await crashes('nginx');
    t.diagnostic(`nginx: ${nginx.map(({ count }) => count)} crashes in ${nginx.length} record`);
    assert.equal(nginx.length, 1);
    assert.equal((await alerts()).filter((one) => one.labels.service === 'nginx').length, 1);
    assert.equal((await api.ask('POST', `/api/crashes/${nginx[0]?.id}/dismiss`)).status, 204);
    await until('its alert ends', 20, async () => (await alerts()).every((one) => one.labels.service !== 'nginx'));
    const kept = Number(await machine.sh('du -sm /var/lib/systemd/coredump | cut -f1'));
    assert.ok(kept <= 520, `${kept} MB of cores`);
  });

  await step('a log is followed from where a page of it was read: nothing between is missed', async () => {
    const url = `http://127.0.0.1:${await machine.forward('/run/cistern/supportd/http.sock')}`;
    // With an entry to go on behind, and with none: the time of the reading.
    for (const service of ['akd', 'notehere']) {
      const reply = await fetch(`${url}/logs?service=${service}&limit=1`);
      const { newest } = (await reply.json()) as { newest: string };
      assert.match(newest, service === 'akd' ? /^s=/ : /^since=\d+$/);
      await machine.sh(
        `systemd-run --quiet --wait --unit=cistern-${service === 'akd' ? 'akd-note' : service} echo a note that came between`,
      );
      const followed = service === 'akd' ? '' : `service=${service}&`;
      const live = await fetch(`${url}/logs/live?${followed}text=came+between&after=${encodeURIComponent(newest)}`, {
        signal: AbortSignal.timeout(30_000),
      });
      let came = '';
      for await (const chunk of live.body as unknown as AsyncIterable<Uint8Array>) {
        came += Buffer.from(chunk).toString();
        if (came.includes('a note that came between')) break;
      }
      assert.match(came, /^id: s=\S+$/m, service);
    }
  });

  await step('akd is dead: the page of supportd, in a browser', async () => {
    await dead('cistern-akd.service');
    await page.goto(`${machine.url}/support/`);
    await page.getByRole('textbox', { name: 'Name' }).fill(admin.name);
    await page.getByLabel('Password').fill('a wrong one');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page
      .getByRole('alert')
      .getByText(/is wrong/)
      .waitFor();
    await page.getByLabel('Password').fill(admin.password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('button', { name: 'Make a support bundle' }).click();
    const bundle = page.getByRole('article').first();
    await bundle.getByRole('progressbar').waitFor();
    await look('support-making');
    const link = bundle.getByRole('link', { name: /^Download/ });
    await link.waitFor({ timeout: 240_000 });
    await look('support-without-akd');
    const [download] = await Promise.all([page.waitForEvent('download'), link.click()]);
    const names = execFileSync('tar', ['--zstd', '-tf', await download.path()], { encoding: 'utf8' });
    assert.match(names, /configuration\/akd\.json/);
    await bundle.getByText('What is missing, and why').click();
    await bundle.getByText(/stacks\/akd\.json: akd\.js does not run/).waitFor();
    await alive('cistern-akd.service');
    await answers();
  });

  await variant('storaged is dead', async () => {
    await dead('cistern-storaged.service');
    const { dir, steps } = await bundleBySsh(machine, 'storaged').finally(() => alive('cistern-storaged.service'));
    assert.deepEqual(
      bad(steps)
        .map((one) => one.split(':')[0])
        .sort(),
      ['stacks/storaged-memory.json', 'stacks/storaged.txt', 'statistics/last-day.json', 'storage/storaged.json'],
    );
    assert.match(readFileSync(join(dir, 'zfs/pool-status.txt'), 'utf8'), /pool: tank/);
  });

  await step('gatherd is dead: a bundle has what supportd may read, and says what is missing', async () => {
    await dead('cistern-gatherd.service');
    const { dir, steps } = await bundleBySsh(machine, 'gatherd').finally(() => alive('cistern-gatherd.service'));
    const missing = bad(steps);
    const away = /^[a-z]+\/\S+: gatherd, which alone may collect this, does not answer: /;
    assert.deepEqual(
      missing.filter((one) => !away.test(one)),
      [],
    );
    const readme = readFileSync(join(dir, 'README'), 'utf8');
    for (const name of [
      'zfs/pool-status.txt',
      'kernel/messages.txt',
      'configuration/akd.json',
      'stacks/storaged.txt',
    ]) {
      assert.ok(
        missing.some((one) => one.startsWith(`${name}: `)),
        name,
      );
      assert.match(readme, new RegExp(`failed +${name.replaceAll('.', '\\.')}: gatherd`));
    }
    assert.match(readFileSync(join(dir, 'logs/this-boot.txt'), 'utf8'), /cistern-supportd/);
    assert.match(readFileSync(join(dir, 'services/units.txt'), 'utf8'), /cistern-akd\.service/);
  });

  await step('what an older release left is handed over to supportd, and only that', async () => {
    const owners = await machine.sh(
      `cd /var/lib/cistern && touch support/old.json && chown root:root support support/old.json && chown cistern:cistern akd/secrets.key && chmod 600 akd/secrets.key &&
      systemd-tmpfiles --create cistern.conf && stat -c '%U:%G %a' support support/old.json akd akd/secrets.key akd/administrators.json akd/state.db && rm support/old.json`,
    );
    assert.deepEqual(owners.trim().split('\n'), [
      'cistern-support:cistern-web 710',
      'cistern-support:root 644',
      'cistern:cistern-support 2750',
      'cistern:cistern-support 640',
      'cistern:cistern-support 640',
      'cistern:cistern-support 600',
    ]);
  });

  await variant('nginx is dead', async () => {
    await dead('nginx.service');
    const { steps } = await bundleBySsh(machine, 'nginx').finally(() => alive('nginx.service'));
    await answers();
    assert.deepEqual(bad(steps), []);
  });

  await step('the network is down: from the console to a disk that is plugged in, which is then opened', async () => {
    await machine.plug('STICK', '256M', { removable: true });
    await machine.sh('mkfs.vfat /dev/disk/by-id/*DISK_STICK >/dev/null');
    assert.match(await machine.sh('cistern bundle disks'), /QEMU HARDDISK/);
    await machine.link(false);
    try {
      const before = machine.console().length;
      const shown = () => machine.console().slice(before);
      await machine.type('b\r');
      await until('the console asks for a disk', 60, () => /Plug in a USB disk/.test(shown()));
      await machine.type('\r');
      await until('the bundle is on the disk', 240, () => /\.tar\.zst is on the disk/.test(shown()), 1000);
      await machine.type('\r');
      await until('the console shows its page again', 60, () => /b and Enter: a support bundle/.test(shown()));
    } finally {
      await machine.link(true);
    }
    await answers();
    await machine.takeOut('STICK', join(work, 'stick.raw'));
    const dir = join(work, 'support-stick');
    rmSync(dir, { recursive: true, force: true });
    mkdirSync(dir, { recursive: true });
    fromFat(join(work, 'stick.raw'), 'cistern-*.tar.zst', dir);
    const [file] = readdirSync(dir);
    execFileSync('tar', ['--zstd', '-xf', join(dir, file ?? ''), '-C', dir, '--strip-components=1']);
    const { steps } = JSON.parse(readFileSync(join(dir, 'manifest.json'), 'utf8')) as { steps: Step[] };
    assert.deepEqual(bad(steps), []);
    assert.match(readFileSync(join(dir, 'network/addresses.txt'), 'utf8'), /NO-CARRIER/);
  });

  // services/support/bundle has one that hangs in any case.
  await variant('a collector that hangs is cut, and the rest is there', async () => {
    await machine.sh(
      'mkdir -p /opt/slow && printf "#!/bin/sh\\ntrap \\"\\" TERM\\nsleep 600\\n" >/opt/slow/lspci && chmod +x /opt/slow/lspci && mount --bind /opt/slow/lspci /usr/bin/lspci && systemctl restart cistern-supportd',
    );
    const { steps } = await bundleBySsh(machine, 'hanging');
    assert.equal(bad(steps).length, 1, bad(steps).join('\n'));
    assert.match(
      bad(steps)[0] ?? '',
      /^hardware\/pci.txt: did not finish in \d+s; what it had given until then was kept$/,
    );
    await machine.sh('umount /usr/bin/lspci; systemctl restart cistern-supportd');
  });

  await step('the system pool is full: the bundle is made in memory', async () => {
    // The room there is is taken away, and what is left is filled: writing gigabytes takes too long under emulation.
    await machine.sh(
      'used=$(zfs get -Hpo value used system/state); zfs set quota=$((used + 4000000)) system/state && dd if=/dev/urandom of=/var/lib/cistern/fill bs=64k 2>/dev/null; sync; true',
    );
    const { said, steps } = await bundleBySsh(machine, 'full').finally(() =>
      machine.sh('zfs set quota=none system/state; rm -f /var/lib/cistern/fill'),
    );
    assert.match(said, /in the appliance's memory/);
    assert.match(said, /The system pool has only 0 MB free/);
    t.diagnostic(`a full system pool: ${bad(steps).join('; ') || 'every step succeeded'}`);
    assert.ok(bad(steps).length <= 3, bad(steps).join('\n'));
    await answers();
  });

  await step('the data pool is suspended: all its disks are pulled', async () => {
    for (const n of [0, 1, 2, 3]) await machine.unplug(`DATA${n}`);
    // Whoever writes to it hangs from now on: not this connection.
    await machine.sh('setsid sh -c "echo x >/srv/telemetry/touch" </dev/null >/dev/null 2>&1 & sleep 8');
    const { dir, steps } = await bundleBySsh(machine, 'suspended');
    t.diagnostic(`a suspended pool: ${bad(steps).join('; ') || 'every step succeeded'}`);
    const kernel = steps.find(({ name, category }) => category === 'kernel' && name === 'messages.txt');
    assert.equal(kernel?.state, 'done');
    assert.match(readFileSync(join(dir, 'kernel/messages.txt'), 'utf8'), /tank|scsi|sd/);
    const pools = steps.filter(({ category }) => category === 'zfs');
    assert.ok(
      pools.some(({ state }) => state === 'done') || pools.every(({ error }) => error),
      'nothing is said of ZFS',
    );
  });
});
