// The recipe of the bootable image for OmniOS, under the real ksh93, with commands that hold to the order that the real ones
// demand. Nothing of it has been run on OmniOS itself.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { copy, Machine } from './machine.ts';

const recipe = join(import.meta.dirname, '../../image/omnios');
const COMMANDS = [
  ...[
    'beadm',
    'bootadm',
    'chown',
    'coreadm',
    'devfsadm',
    'df',
    'dladm',
    'dumpadm',
    'id',
    'ipadm',
    'lofiadm',
    'mkfile',
    'mount',
  ],
  ...['pkg', 'pkgrecv', 'pkgrepo', 'pkgsend', 'prtconf', 'qemu-img', 'svccfg', 'swap', 'umount', 'uname', 'uuidgen'],
  ...['zfs', 'zonename', 'zpool', 'zstd'],
];
const IMAGES = ['manifest', 'p5p', 'qcow2', 'raw.zst', 'vmdk'].map((kind) => `cistern-9.9.9-omnios-amd64.${kind}`);

class Host extends Machine {
  readonly out = join(this.folder, 'out');
  readonly work = join(this.folder, 'work');
  readonly payload = join(this.folder, 'payload');
  constructor() {
    super('fake-native.sh', COMMANDS);
    for (const one of ['tree', 'packages']) mkdirSync(join(this.payload, one), { recursive: true });
    for (const one of ['web', 'storage']) writeFileSync(join(this.payload, 'packages', `${one}.p5m`), '');
    writeFileSync(join(this.payload, 'version'), '9.9.9\n');
    writeFileSync(join(this.payload, 'needs'), 'ooce/runtime/node-24\nsystem/library\n');
    for (const name of ['native', 'initialboot']) copy(join(recipe, name), join(this.payload, name));
    for (const name of ['lofi', 'pools', 'mounts', 'datasets']) writeFileSync(join(this.folder, name), '');
  }
  make(env: Record<string, string> = {}, args: string[] = []) {
    const options = ['--out', this.out, '--work', this.work, '--root', this.root, ...args];
    const ran = this.run(join(this.payload, 'native'), options, env);
    assert.ok(!existsSync(join(this.folder, 'unknown')), ran.err);
    return ran;
  }
  /** What is in use, or left over. */
  left(): string[] {
    const inUse = ['lofi', 'pools', 'mounts'].flatMap((name) => this.state(name).split('\n').filter(Boolean));
    return [...inUse, ...(existsSync(this.work) ? readdirSync(this.work) : [])];
  }
  images(): string[] {
    return existsSync(this.out) ? readdirSync(this.out).sort() : [];
  }
  image(path: string): string {
    return readFileSync(join(this.folder, 'be', path), 'utf8');
  }
}

test('a bootable image is made, and nothing is left in use', () => {
  using host = new Host();
  const made = host.make();
  assert.deepEqual([made.status, made.err], [0, ''], made.out);
  assert.deepEqual(host.images(), IMAGES);
  assert.deepEqual(host.left(), []);
  assert.match(made.out, /root cannot sign in/);

  const be = join(host.folder, 'be');
  // Not *LK*: pam_unix_account lets cron run nothing for an account that is locked (usr/src/lib/pam_modules/unix_account/unix_acct.c).
  assert.equal(host.image('etc/shadow'), 'root:NP:6445::::::\nnobody:NP:6445::::::\nsshd:*LK*:::::::\n');
  assert.equal(statSync(join(be, 'etc/shadow')).mode & 0o777, 0o400);
  assert.equal(host.image('etc/svc/repository.db'), 'the seed\nand all manifests\n');
  assert.equal(statSync(join(be, 'etc/svc/repository.db')).mode & 0o777, 0o600);
  assert.equal(statSync(join(be, '.initialboot')).mode & 0o777, 0o755);
  assert.equal(host.image('etc/opt/cistern/image'), '9.9.9\n');
  assert.match(
    host.image('boot/conf.d/serial'),
    /^console="text,ttya"\nos_console="text"\nttya-mode="115200,8,n,1,-"\n$/,
  );
  assert.equal(readlinkSync(join(be, 'etc/svc/profile/generic.xml')), 'generic_limited_net.xml');
  assert.deepEqual(readdirSync(join(be, 'dev/dsk')), [], 'no device of the machine that made it');
  assert.ok(existsSync(join(be, 'reconfigure')) && !existsSync(join(be, 'var/pkg/cache')));
  assert.equal(
    host.image('var/pkg/pkg5.image'),
    '[property]\nversion = 4\n\n[publisher_omnios]\nprefix = omnios\n',
    'each machine tells its own uuid to the publisher',
  );
  const properties = host.state('properties');
  assert.match(properties, /libbe:uuid=9f4c2f0e-\S+ cistern-native\/ROOT\/cistern-9\.9\.9/);
  assert.match(
    host.state('datasets'),
    /cistern:appliance=yes .*mountpoint=\/var\/lib\/cistern cistern-native\/cistern/,
  );
  const manifest = readFileSync(join(host.out, IMAGES[0] as string), 'utf8');
  for (const name of IMAGES.slice(1)) assert.match(manifest, new RegExp(`^[0-9a-f]{64}  ${name}$`, 'm'));
  assert.match(manifest, /^entire 11-151054\.0/m);

  const again = host.make();
  assert.equal(again.status, 1);
  assert.match(again.err, /raw\.zst is there already/);
});

test('a password for root is a hash, or nothing is made', () => {
  using host = new Host();
  const file = join(host.folder, 'password');
  writeFileSync(file, 'correct horse battery\n');
  const refused = host.make({}, ['--root-password', file]);
  assert.deepEqual([refused.status, host.images(), host.left()], [1, [], []]);
  assert.match(refused.err, /is no hash as 'openssl passwd -5'/);
  assert.ok(!refused.err.includes('horse'));
  for (const locked of ['*LK*', 'NP', '']) {
    writeFileSync(file, `${locked}\n`);
    assert.match(host.make({}, ['--root-password', file]).err, /is no hash as/, locked);
  }
  writeFileSync(file, '$5$salt$8dTkX0/abc.\n');
  const made = host.make({}, ['--root-password', file]);
  assert.deepEqual([made.status, made.err], [0, '']);
  assert.match(host.image('etc/shadow'), /^root:\$5\$salt\$8dTkX0\/abc\.:6445/);
});

test('manifests that cannot be read make no image, although svccfg ends well', () => {
  using host = new Host();
  const failed = host.make({ FAKE_BAD_MANIFESTS: '2' });
  assert.deepEqual([failed.status, host.images(), host.left()], [1, [], []], failed.err);
  assert.match(failed.err, /svccfg: 2 smf\(7\) service descriptions failed to load/);
  assert.match(failed.err, /svccfg: couldn't parse document/);
  assert.match(failed.err, /so not all services would be in the image/);
});

test('whichever command fails: it is said, nothing is left in use, and the next run makes it', () => {
  using whole = new Host();
  assert.equal(whole.make().status, 0);
  const calls = whole.state('calls').trim().split('\n');
  const refused: string[] = [];
  for (let at = 1; at <= calls.length; at++) {
    using host = new Host();
    const failed = host.make({ FAKE_FAIL_AT: String(at) });
    const call = calls[at - 1] as string;
    // Looking whether something is there: its failing is the answer "no". The last ones release what is not in use any more.
    if (failed.status === 0) {
      assert.match(call, /^(zpool list|umount -f|lofiadm ?$|beadm list|df )/, `call ${at}`);
      continue;
    }
    assert.equal(failed.status, 1, `call ${at}, ${call}: ${failed.err}`);
    assert.match(failed.err, /failed|^no: |cannot|is not/m, `call ${at}, ${call}`);
    assert.deepEqual(host.images(), [], call);
    assert.deepEqual(host.left(), [], `call ${at}, ${call}: ${failed.err}`);
    refused.push(call.split(' ')[0] as string);
    if (at % 8 !== 0) continue; // a second each
    const next = host.make();
    assert.equal(next.status, 0, `after ${call}: ${next.err}`);
  }
  for (const name of [
    'pkgsend',
    'mkfile',
    'lofiadm',
    'zpool',
    'zfs',
    'mount',
    'pkg',
    'devfsadm',
    'svccfg',
    'bootadm',
  ]) {
    assert.ok(refused.includes(name), `${name} never failed it`);
  }
});

test('killed anywhere, the next run releases what is in use and makes it', () => {
  using whole = new Host();
  whole.make();
  const calls = whole.state('calls').trim().split('\n').length;
  let busy = 0;
  // The last three release what is not in use any more.
  for (let at = 12; at <= calls - 3; at += 7) {
    using host = new Host();
    const killed = host.make({ FAKE_KILL_AT: String(at) });
    assert.ok(killed.killed, `call ${at}`);
    if (host.state('pools') !== '') busy++;
    const next = host.make();
    assert.equal(next.status, 0, `killed at call ${at}: ${next.err}`);
    assert.deepEqual([host.images(), host.left()], [IMAGES, []]);
  }
  assert.ok(busy > 3, `${busy} kills while the pool was there`);
});

test('what it cannot be made on is said, all of it, before anything is changed', () => {
  for (const [env, words] of [
    [{ FAKE_UNAME: 'Linux' }, /this is Linux: a bootable pool of illumos can only be made on OmniOS/],
    [{ FAKE_ZONE: 'web' }, /this is the zone web/],
    [{ FAKE_UID: '100' }, /this needs root/],
    [{ FAKE_FREE: '1000000' }, /976 MiB free .* 8192 are needed/],
    [{ FAKE_BE: 'cistern-9.9.9' }, /has a boot environment cistern-9\.9\.9/],
    [
      { FAKE_PUBLISHERS: 'omnios\\ttrue\\tfalse\\ttrue\\torigin\\tonline\\tfile:///core\\t-\\n' },
      /the publisher extra\.omnios is not set/,
    ],
  ] as const) {
    using host = new Host();
    const refused = host.make(env);
    assert.deepEqual([refused.status, host.images(), host.left()], [1, [], []], refused.err);
    assert.match(refused.err, words);
    assert.match(refused.err, /nothing was changed/);
  }
  using host = new Host();
  host.write('etc/os-release', 'ID=omnios\nVERSION_ID=r151048\n');
  assert.match(host.make().err, /OmniOS r151048; r151054 \(LTS\) or later/);
  assert.equal(host.make({}, ['--size', '4']).status, 2);
  host.write('etc/os-release', 'ID=omnios\nVERSION_ID=r151058\n');
  const checked = host.make({}, ['--check']);
  assert.deepEqual([checked.status, checked.err, host.images()], [0, '', []]);
});

test('the first boot: the pool grows, swap and dump are made, addresses come by DHCP, and it ends well whatever fails', () => {
  using host = new Host();
  mkdirSync(join(host.root, 'dev'));
  const script = join(recipe, 'initialboot');
  const boot = (env: Record<string, string> = {}) => host.run(script, [], env);
  assert.equal(boot().status, 0);
  const calls = host.state('calls');
  for (const call of [
    'zpool reguid rpool',
    'zpool online -e rpool c1t0d0',
    'zfs create -V 4096m -b 4k rpool/swap',
    'zfs create -V 2048m rpool/dump',
    'dumpadm -y -c kernel -d /dev/zvol/dsk/rpool/dump',
    'coreadm -g /var/cores/core.%f.%p -e global -d process',
    'ipadm create-addr -T dhcp -w 0 e1000g0/dhcp',
    'ipadm create-addr -T dhcp -w 0 igb1/dhcp',
    'ipadm create-addr -T dhcp -w 0 igb2/dhcp',
  ]) {
    assert.ok(calls.includes(`${call}\n`), call);
  }
  assert.equal(host.read('etc/vfstab'), '/dev/zvol/dsk/rpool/swap - - swap - no -\n');
  for (let at = 1; at <= calls.trim().split('\n').length; at++) {
    assert.equal(boot({ FAKE_FAIL_AT: String(at), FAKE_MEMORY: '1024' }).status, 0, `call ${at}`);
  }
  assert.match(host.read('dev/msglog'), /'.*' failed; the machine goes on without/);
});

// svc:/system/initial-boot is stopped after 300 s (illumos-omnios, usr/src/cmd/svc/milestone/initial-boot.xml), and is then in maintenance.
test('the first boot waits for no lease, and for nothing that hangs', () => {
  using host = new Host();
  mkdirSync(join(host.root, 'dev'));
  const script = join(recipe, 'initialboot');
  assert.equal(host.run(script, [], {}).status, 0);
  const waited = existsSync(join(host.folder, 'waited')) ? host.state('waited').split('\n').map(Number) : [0];
  assert.equal(
    waited.reduce((sum, one) => sum + one, 0),
    0,
    'seconds waited for three cables without a lease',
  );
  const late = host.run(script, [], { FAKE_HANGS: 'create-if', CISTERN_PATIENCE: '1' });
  assert.equal(late.status, 0, late.err);
  assert.match(host.read('dev/msglog'), /not all of it is done after 1 s; it goes on beside/);
});
