// What goes wrong in the wizard, on a copy of the machine that was saved before its first pool: a disk that vanishes, parts
// that are killed, and wrong passwords.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Person as ApiPerson } from '../stack/api.ts';
import { brokenDisks, killedServices, refusedRequests } from './clean.ts';
import { byId, type Machine } from './machine.ts';
import { type Person, personAt } from './person.ts';
import { rowOf, wantsVariant } from './row.ts';
import { admin, apiOf, savedMachine } from './saved.ts';
import { until } from './until.ts';

async function signIn(page: Person['page'], machine: Machine): Promise<void> {
  await page.goto(machine.url);
  await page.getByLabel('Name').fill(admin.name);
  await page.getByLabel('Password').fill(admin.password);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

test('what goes wrong in the wizard', async (t) => {
  const { machine: again, watch } = await savedMachine(t, 'at-pool', 'again');
  const user = await personAt(again);
  watch.add(user);
  watch.expect(...brokenDisks, ...killedServices, ...refusedRequests);
  const step = rowOf(t, () => ({ machine: again, person: user }));

  await step('a disk that vanishes while the pool is made: it is named, and no half-made pool stays', async () => {
    await signIn(user.page, again);
    await user.page.getByLabel('Name of the pool').waitFor();
    await user.page.getByRole('checkbox', { name: /DATA2/ }).waitFor();
    const api = await apiOf(again);
    await again.unplug('DATA2');
    // By the API, with the list of disks as it was: the page has taken the disk out of its list by now.
    const made = await api.ask('POST', '/api/pools', {
      name: 'tank',
      layout: 'mirror',
      disks: [0, 1, 2, 3].map((n) => byId(`DATA${n}`)),
      telemetry: true,
    });
    let problem = made.json() as { code: string; detail: string; action: string };
    if (made.status === 202) {
      const { id } = made.json() as { id: string };
      const job = await until('the job ends', 120, async () => {
        const found = await api.get<{ state: string; error: typeof problem }>('GET', `/api/jobs/${id}`);
        return found.state !== 'running' && found;
      });
      assert.equal(job.state, 'failed');
      problem = job.error;
    }
    assert.equal(problem.code, 'disk_missing');
    assert.match(problem.detail, /DATA2/);
    assert.ok(problem.action, 'it does not say what to do');
    for (const [name, code] of [
      ['TINY', 'disk_too_small'],
      ['SYSTEM', 'disk_in_use'],
    ]) {
      const disks = [byId('DATA0'), `scsi-0QEMU_QEMU_HARDDISK_${name}`];
      const refused = await api.ask('POST', '/api/pools', {
        name: 'tank',
        layout: 'mirror',
        disks,
        telemetry: true,
      });
      assert.equal(refused.json<{ code: string }>().code, code, refused.text);
      assert.match(refused.json<{ detail: string }>().detail, new RegExp(name as string));
    }
    assert.equal((await again.ssh('zpool', 'list', '-H', '-o', 'name')).trim(), 'system');
    await until(
      'the page no longer offers the disk',
      60,
      async () => !(await user.page.getByRole('checkbox', { name: /DATA2/ }).isVisible()),
    );
    await user.look('disk-vanished');
  });

  await step('with the disks that are left, the pool is made', async () => {
    await user.page.getByRole('checkbox', { name: /DATA3/ }).uncheck();
    await user.page.getByRole('button', { name: 'Create the pool' }).click();
    await user.page.getByText('Where should alerts be sent').waitFor({ timeout: 180_000 });
  });

  const killed = 'parts that are killed come back';
  await step(killed, async () => {
    const api = await apiOf(again);
    const units = ['cistern-storaged', 'cistern-akd', 'cistern-execd'];
    if (wantsVariant(killed)) {
      units.push('cistern-tracerd', 'cistern-replicd', 'cistern-supportd', 'cistern-gatherd', 'nginx', 'snmpd');
    }
    for (const unit of units) {
      const before = await again.ssh('systemctl', 'show', unit, '-p', 'MainPID', '--value');
      await again.ssh('systemctl', 'kill', '-s', 'KILL', unit);
      await until(`${unit} is back`, 90, async () => {
        const shown = await again.ssh('systemctl', 'show', unit, '-p', 'ActiveState', '-p', 'MainPID');
        const pid = /^MainPID=(\d+)$/m.exec(shown)?.[1];
        return /^ActiveState=active$/m.test(shown) && pid !== '0' && pid !== before.trim();
      });
    }
    await until('the API answers', 120, async () => (await api.ask('GET', '/api/status')).status === 200, 1000);
  });

  await step('after ten wrong passwords the address waits, but not a browser that is known', async () => {
    const stranger = new ApiPerson(again.url);
    const known = await apiOf(again);
    const guess = async (password: string) => {
      const reply = await stranger.ask('POST', '/api/session', { user: admin.name, password });
      return (reply.json() as { code: string }).code;
    };
    const codes: string[] = [];
    // Each minute there is one more, and this machine takes its time.
    while (codes.at(-1) !== 'locked_out' && codes.length < 20) codes.push(await guess(`wrong ${codes.length}`));
    assert.deepEqual(codes.slice(0, 9), Array(9).fill('wrong_credentials'));
    assert.equal(codes.at(-1), 'locked_out');
    assert.equal(await guess(admin.password), 'locked_out');
    const right = { user: admin.name, password: admin.password };
    assert.equal((await known.ask('POST', '/api/session', right)).status, 200, 'from the same address');
  });
});
