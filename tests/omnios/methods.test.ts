// The SMF methods and the self-test under the real ksh93, in a folder that looks like OmniOS.
import assert from 'node:assert/strict';
import { chmodSync, lstatSync, mkdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { test } from 'node:test';
import { copy, Machine } from './machine.ts';

const methods = join(import.meta.dirname, '../../smf/method');
const STORE = 'svc:/application/cistern/storaged:default';

test('identity makes what is missing, once', () => {
  using machine = new Machine();
  const run = () => machine.run(join(methods, 'cistern-identity'));
  const early = run();
  assert.deepEqual([early.status, /\/var\/lib\/cistern is not there/.test(early.err)], [96, true]);
  mkdirSync(join(machine.root, 'var/lib/cistern'), { recursive: true });
  const first = run();
  assert.equal(first.status, 0, first.err);
  assert.match(machine.read('var/lib/cistern/setup/code'), /^[A-HJ-NP-Z2-9]{4}-[A-HJ-NP-Z2-9]{4}-[A-HJ-NP-Z2-9]{4}\n$/);
  assert.match(machine.read('var/lib/cistern/identity/places.conf'), /^default [0-9a-f]{64};\n$/);
  assert.match(machine.read('var/lib/cistern/tls/cert.pem'), /BEGIN CERTIFICATE/);
  assert.match(machine.read('var/run/cistern/fingerprint'), /^([0-9A-F]{2}:){31}[0-9A-F]{2}\n$/);
  const mode = (path: string) => (statSync(join(machine.root, path)).mode & 0o777).toString(8);
  assert.deepEqual(
    [
      'var/lib/cistern/tls/key.pem',
      'var/lib/cistern/tls',
      'var/lib/cistern/setup/code',
      'var/run/cistern/execd',
      'var/lib/cistern/console',
      'var/lib/cistern/storaged',
      'var/lib/cistern/identity/places.conf',
    ].map(mode),
    ['640', '750', '640', '750', '750', '700', '640'],
  );
  if (process.getuid?.() === 0) {
    const { uid, gid } = statSync(join(machine.root, 'var/run/cistern/storaged'));
    assert.deepEqual([uid, gid], [511, 520]);
    // Only root leaves there what akd takes for asked at the console.
    const asked = statSync(join(machine.root, 'var/lib/cistern/console'));
    assert.deepEqual([asked.uid, asked.gid], [0, 510]);
    // nginx, of the group 520, reads bundles by their names.
    const support = statSync(join(machine.root, 'var/lib/cistern/support'));
    assert.deepEqual([support.uid, support.gid, support.mode & 0o777], [515, 520, 0o710]);
    assert.equal(statSync(join(machine.root, 'var/lib/cistern/tls/key.pem')).gid, 81);
    assert.equal(statSync(join(machine.root, 'var/lib/cistern/identity/places.conf')).gid, 520);
  }
  const all = machine.everything();
  assert.equal(run().status, 0);
  assert.deepEqual(machine.everything(), all, 'a second time changes nothing');
  for (const damaged of ['', 'default ;\n', 'default 0123']) {
    machine.write('var/lib/cistern/identity/places.conf', damaged);
    assert.equal(run().status, 0);
    assert.match(machine.read('var/lib/cistern/identity/places.conf'), /^default [0-9a-f]{64};\n$/, damaged);
  }

  // What a release left in which supportd was root is supportd's; of akd's files its group gets two, and what is made from now on.
  machine.write('var/lib/cistern/support/guesses.json', '{}');
  machine.write('var/lib/cistern/akd/secrets.key', 'key');
  machine.write('var/lib/cistern/akd/state.db', 'all');
  for (const name of ['secrets.key', 'state.db']) chmodSync(join(machine.root, 'var/lib/cistern/akd', name), 0o600);
  symlinkSync('/etc/passwd', join(machine.root, 'var/lib/cistern/support/link'));
  assert.equal(run().status, 0);
  assert.deepEqual(
    ['akd/secrets.key', 'akd/state.db'].map((path) => mode(`var/lib/cistern/${path}`)),
    ['640', '600'],
  );
  assert.equal(statSync(join(machine.root, 'var/lib/cistern/akd')).mode & 0o7777, 0o2750);
  if (process.getuid?.() === 0) {
    const owner = (path: string) => {
      const { uid, gid } = lstatSync(join(machine.root, 'var/lib/cistern', path));
      return [uid, gid];
    };
    assert.deepEqual(owner('akd'), [510, 515]);
    assert.deepEqual(owner('akd/secrets.key'), [510, 515]);
    assert.equal(owner('akd/state.db')[1], 515, 'by the folder');
    assert.equal(owner('support/guesses.json')[0], 515);
    assert.equal(owner('support/link')[0], 515);
    assert.equal(statSync('/etc/passwd').uid, 0, 'what a link names stays whose it is');
  }

  // After a reboot the folders of sockets are gone; after set-up there is no code.
  rmSync(join(machine.root, 'var/run/cistern'), { recursive: true });
  rmSync(join(machine.root, 'var/lib/cistern/setup/code'));
  machine.write('var/lib/cistern/setup/done', '');
  assert.equal(run().status, 0);
  assert.equal(mode('var/run/cistern/akd'), '750');
  assert.throws(() => machine.read('var/lib/cistern/setup/code'), { code: 'ENOENT' });
});

test('an image says at its console how to go on, until it is set up', () => {
  using machine = new Machine();
  for (const one of ['var/lib/cistern', 'etc/opt/cistern', 'dev'])
    mkdirSync(join(machine.root, one), { recursive: true });
  const run = () => machine.run(join(methods, 'cistern-identity'));
  assert.equal(run().status, 0);
  assert.throws(() => machine.read('dev/msglog'), { code: 'ENOENT' }, 'not on any other machine');
  machine.write('etc/opt/cistern/image', '9.9.9\n');
  assert.equal(run().status, 0);
  const said = machine.read('dev/msglog');
  assert.match(said, /^Cistern 9\.9\.9: open https:\/\/omnios\.local\//);
  assert.ok(said.includes(machine.read('var/lib/cistern/setup/code')), said);
  machine.write('dev/msglog', '');
  machine.write('var/lib/cistern/setup/done', '');
  assert.equal(run().status, 0);
  assert.equal(machine.read('dev/msglog'), '');
});

test('identity takes the name and the time zone that were chosen', () => {
  using machine = new Machine();
  mkdirSync(join(machine.root, 'var/lib/cistern/identity'), { recursive: true });
  mkdirSync(join(machine.root, 'usr/share/lib/zoneinfo/Europe'), { recursive: true });
  machine.write('usr/share/lib/zoneinfo/Europe/Zurich', '');
  machine.write('var/lib/cistern/identity/hostname', 'tank1\n');
  machine.write('var/lib/cistern/identity/timezone', 'Europe/Zurich\n');
  assert.equal(machine.run(join(methods, 'cistern-identity')).status, 0);
  assert.deepEqual([machine.state('hostname'), machine.read('etc/nodename')], ['tank1\n', 'tank1\n']);
  assert.equal(machine.read('etc/default/init'), 'CMASK=022\nTZ=Europe/Zurich\n');
  // A zone that is not there is not taken.
  machine.write('var/lib/cistern/identity/timezone', 'Mars/Base\n');
  assert.equal(machine.run(join(methods, 'cistern-identity')).status, 0);
  assert.equal(machine.read('etc/default/init'), 'CMASK=022\nTZ=Europe/Zurich\n');
});

test('pools lets the store run where its dataset is mounted, and nowhere else', () => {
  using machine = new Machine();
  const services = `${STORE} online\n`;
  writeFileSync(join(machine.folder, 'services'), services);
  const run = () => {
    const ran = machine.run(join(methods, 'cistern-pools'));
    assert.equal(ran.status, 0, ran.err);
    return ran.err;
  };
  assert.match(run(), /no dataset is mounted at \/srv\/telemetry/);
  assert.equal(machine.state('services'), `${STORE} disabled\n`);
  // A folder of that name is not the dataset.
  mkdirSync(join(machine.root, 'srv/telemetry'), { recursive: true });
  assert.match(run(), /no dataset is mounted/);
  writeFileSync(join(machine.folder, 'datasets'), 'tank/telemetry /srv/telemetry -\n');
  writeFileSync(join(machine.folder, 'pools'), 'rpool\ntank\n');
  assert.equal(run(), '');
  assert.equal(machine.state('services'), services);
  assert.equal((statSync(join(machine.root, 'srv/telemetry')).mode & 0o777).toString(8), '750');
  // svcadm itself failing is a failure of the method.
  writeFileSync(join(machine.folder, 'services'), '');
  assert.equal(machine.run(join(methods, 'cistern-pools')).status, 95);
});

test('pools imports after a reboot what execd remembers, and says which it could not and why', () => {
  using machine = new Machine();
  writeFileSync(join(machine.folder, 'services'), `${STORE} online\n`);
  mkdirSync(join(machine.root, 'var/lib/cistern/execd'), { recursive: true });
  mkdirSync(join(machine.root, 'srv/telemetry'), { recursive: true });
  writeFileSync(join(machine.folder, 'datasets'), 'tank/telemetry /srv/telemetry -\n');
  writeFileSync(join(machine.folder, 'labels'), 'rpool cache\ntank none\n');
  writeFileSync(join(machine.folder, 'pools'), 'rpool\ntank\n');
  const run = () => {
    const ran = machine.run(join(methods, 'cistern-pools'));
    assert.equal(ran.status, 0, ran.err);
    return ran.err;
  };
  const imports = () =>
    machine
      .state('calls')
      .split('\n')
      .filter((call) => call.startsWith('zpool import'));

  // Before a pool was made there is no list; what is imported is left alone.
  assert.equal(run(), '');
  machine.write('var/lib/cistern/execd/pools', 'tank\n');
  assert.equal(run(), '');
  assert.deepEqual(imports(), []);

  machine.reboot();
  assert.equal(machine.state('pools'), 'rpool\n', 'what no cache file lists is gone');
  assert.equal(run(), '');
  assert.deepEqual(imports(), ['zpool import -N -o cachefile=none tank']);
  assert.equal(machine.state('services'), `${STORE} online\n`, 'its dataset is mounted, the store runs');
  const calls = machine.state('calls');
  assert.ok(calls.indexOf('zpool import') < calls.indexOf('zfs load-key'), calls);
  assert.ok(calls.indexOf('zfs load-key') < calls.indexOf('zfs mount -a'), calls);

  // One that cannot be imported stops neither the others nor the boot.
  machine.write('var/lib/cistern/execd/pools', 'gone\nforeign\n\ntank\n');
  writeFileSync(
    join(machine.folder, 'labels'),
    'rpool cache\ntank none\nforeign none pool may be in use from other system\n',
  );
  machine.reboot();
  const said = run();
  assert.match(said, /the pool gone is not imported: cannot import 'gone': no such pool available/);
  assert.match(said, /the pool foreign is not imported: cannot import 'foreign': pool may be in use from other system/);
  assert.equal(machine.state('services'), `${STORE} online\n`);
  // Looked for again as soon as somebody asks.
  writeFileSync(join(machine.folder, 'labels'), 'rpool cache\ntank none\nforeign none\n');
  assert.doesNotMatch(run(), /foreign/);
  assert.equal(machine.state('pools'), 'rpool\ntank\nforeign\n');
});

test('the self-test reports each failure and counts them', () => {
  using machine = new Machine();
  machine.write('etc/release', '  OmniOS v11 r151054\n');
  const selftest = join(import.meta.dirname, '../../image/omnios/selftest');
  const ran = machine.run(selftest);
  const failures = ran.out.match(/^FAIL /gm)?.length ?? 0;
  assert.ok(failures > 20, ran.out);
  assert.equal(ran.status, failures);
  assert.match(ran.out, /^skip {2}service storaged: no dataset is mounted/m);
  assert.match(ran.out, /^skip {2}SNMP trap: no --trap HOST/m);
  assert.match(ran.out, new RegExp(`^${failures} failed$`, 'm'));
  assert.equal(machine.run(selftest, ['--nothing']).status, 64);

  // Disks as akd sees them: root sees more, so root's listing proves nothing. node, which changes the user, is a fake.
  const node = join(machine.root, 'opt/ooce/node-24/bin/node');
  mkdirSync(dirname(node), { recursive: true });
  const checked = (answer: string) => {
    const script = `#!/bin/sh\n[ "$1 $3 $4" = '-e -- curl' ] && echo '${answer}'\n`;
    writeFileSync(node, script, { mode: 0o755 });
    return machine
      .run(selftest)
      .out.split('\n')
      .find((one) => one.includes("akd's user is shown the disks"));
  };
  assert.match(checked('{"disks":[]}') ?? '', /^FAIL/);
  assert.match(checked('{"disks":[{"name":"c1t0d0","type":"SCSI","bytes":1024,"location":""}]}') ?? '', /^ok/);
});

test('the self-test runs what each process runs, as that process', () => {
  using machine = new Machine();
  for (const folder of ['smf/manifest', 'smf/illumos'])
    copy(join(import.meta.dirname, '../..', folder), join(machine.root, 'lib/svc/manifest/application/cistern'));
  // It notes the privileges and the command behind them, whoever the user is by then.
  machine.program('bin/ppriv', `echo "ppriv $*" | tr '\\n' ' ' >>"$FAKE/privileges"\necho >>"$FAKE/privileges"`);
  const { out } = machine.run(join(import.meta.dirname, '../../image/omnios/selftest'));
  const ran = machine.state('privileges');
  assert.match(ran, /^ppriv -e -s A=basic,file_chown,\S*sys_admin diskinfo -Hp $/m);
  assert.match(ran, /^ppriv -e -s I=basic,!file_link_any \S*node -e .* -- cistern cistern-web zpool status $/m);
  assert.match(ran, /^ppriv -e -s I=basic,dtrace_user,\S+ \S*node .* -- cistern-trace cistern-web dtrace -ln BEGIN $/m);
  assert.match(ran, /svcprop -f -p restarter svc:\/application\/cistern\/\* $/m, 'a pattern is for the command');
  assert.doesNotMatch(ran, /zpool (create|destroy|import|export)|beadm activate|init 6/, 'it changes nothing');
  assert.match(out, /^ok {4}akd may not itself: reads faults$/m);
});

// zpool status -x and zfs get end with 0 whatever they find (status_callback of zpool_main.c, zfs_do_get of zfs_main.c).
test('the self-test reads what zpool and zfs say of their state', () => {
  using machine = new Machine();
  machine.write('etc/release', '  OmniOS v11 r151054\n');
  const checked = (pools: string, mounted: string) => {
    for (const [name, asked, said] of [
      ['zpool', 'status -x', pools],
      ['zfs', 'get -H -o value mounted rpool/cistern', mounted],
    ] as const) {
      machine.program(`root/usr/sbin/${name}`, `[ "$*" != '${asked}' ] || echo '${said}'`);
    }
    const { out } = machine.run(join(import.meta.dirname, '../../image/omnios/selftest'));
    return ['pools are well', "the appliance's dataset is mounted"].map((what) =>
      out
        .split('\n')
        .find((line) => line.includes(what))
        ?.slice(0, 4),
    );
  };
  assert.deepEqual(checked('all pools are healthy', 'yes'), ['ok  ', 'ok  ']);
  assert.deepEqual(checked('  pool: tank\n state: DEGRADED', 'no'), ['FAIL', 'FAIL']);
});
