// The payload for OmniOS, put into a folder that looks like OmniOS and taken out again: by the real installer under the
// real ksh93, from the payload that ./build.sh image --os omnios made. Nothing of it has been run on OmniOS itself.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { after, before, test } from 'node:test';
import { makeRelease, parseManifest, readSources } from '../../image/omnios/packages.ts';
import { copy, Machine } from './machine.ts';

const repository = join(import.meta.dirname, '../..');
const made = process.env.CISTERN_OMNIOS ?? join(repository, 'out/omnios');
const MOST_BYTES = 120 * 1000 * 1000;

const folder = mkdtempSync(join(tmpdir(), 'cistern-payload-'));
let payload = '';
/** The same installer and packages, with small files in the place of large ones: many runs of it take seconds. */
let small = '';

before(() => {
  const archive = readdirSync(made).find((name) => name.endsWith('-payload.tar.zst'));
  assert.ok(archive !== undefined, `no payload in ${made}: ./build.sh image --os omnios makes it`);
  const unpack = spawnSync('tar', ['-C', folder, '--zstd', '-xf', join(made, archive)], { encoding: 'utf8' });
  assert.equal(unpack.status, 0, unpack.stderr);
  payload = join(folder, archive.replace('-payload.tar.zst', ''));
  small = join(folder, 'small');
  pack(small, '9.9.9');
});
after(() => rmSync(folder, { recursive: true, force: true }));

/** Makes a payload of small files that say which version they are of. */
function pack(to: string, version: string, changed: Record<string, string> = {}) {
  for (const line of readFileSync(join(payload, 'files'), 'utf8').trim().split('\n')) {
    const [type, , , , , , , path = ''] = line.split(' ');
    if (type !== 'file' || (path.startsWith('opt/cistern/ui/') && !path.endsWith('index.html'))) continue;
    mkdirSync(dirname(join(to, 'tree', path)), { recursive: true });
    const text = path.endsWith('.xml') ? readFileSync(join(payload, 'tree', path), 'utf8') : `${path} of ${version}\n`;
    writeFileSync(join(to, 'tree', path), changed[path] ?? text);
  }
  const release = makeRelease(version, '151054', readSources(), join(to, 'tree'));
  for (const name of ['files', 'accounts', 'needs', 'services'] as const) {
    writeFileSync(join(to, name), `${release[name].join('\n')}\n`);
  }
  writeFileSync(join(to, 'version'), `${version}\n`);
  copy(join(payload, 'install'), join(to, 'install'));
}

const install = (machine: Machine, from: string, args: string[] = [], env: Record<string, string> = {}) =>
  machine.run(join(from, 'install'), ['--root', machine.root, ...args], env);
const known = (machine: Machine) => {
  let unknown = '';
  try {
    unknown = machine.state('unknown');
  } catch {
    // None, as it should be.
  }
  assert.equal(unknown, '');
};
const without = (lines: string[], pattern: RegExp) => lines.filter((line) => !pattern.test(line));

test('the payload goes into a fake OmniOS and comes out again', () => {
  using machine = new Machine();
  const untouched = machine.everything();
  const checked = install(machine, payload, ['--check']);
  assert.deepEqual([checked.status, checked.err], [0, '']);
  assert.deepEqual(machine.everything(), untouched, 'looking changes nothing');

  const done = install(machine, payload);
  assert.deepEqual([done.status, done.err], [0, '']);
  const installed = machine.everything();
  // Each file as its package says, with the right hash.
  for (const line of readFileSync(join(payload, 'files'), 'utf8').trim().split('\n')) {
    const [type, mode = '', , , hash = '', , target, path] = line.split(' ');
    const found = installed.find((one) => one.startsWith(type === 'dir' ? `${path}/ ` : `${path} `)) ?? '';
    if (type === 'link') assert.equal(found, `${path} -> ${target}`);
    else assert.equal(found.split(' ')[1], mode.replace(/^0/, ''), `${path}: ${found}`);
    if (type === 'file') assert.ok(found.endsWith(hash.slice(0, 12)), `${path}: ${found}`);
  }
  assert.match(machine.read('etc/passwd'), /^cistern-store:x:511:511:/m);
  assert.match(machine.read('etc/group'), /^cistern-web::520:/m);
  assert.match(machine.state('datasets'), /^rpool\/cistern \/var\/lib\/cistern yes$/m);
  assert.match(machine.state('packages'), /^ooce\/server\/nginx-130$/m);
  const services = machine.state('services');
  for (const name of [
    'system/cistern/identity',
    'system/cistern/pools',
    'application/cistern/akd',
    'network/cistern/nginx',
  ]) {
    assert.ok(services.includes(`svc:/${name}:default online`), `${name} in\n${services}`);
  }
  assert.match(services, /net-snmp:default disabled/);
  assert.equal(machine.state('coreadm'), '/var/cores/core.%f.%p\nenabled\n');

  const again = install(machine, payload);
  assert.deepEqual([again.status, again.err], [0, '']);
  assert.deepEqual(machine.everything(), installed, 'a second time changes nothing');

  // Taken out by what it left on the machine, not by the payload.
  const out = machine.run(join(machine.root, 'var/cistern-install/install'), [
    '--root',
    machine.root,
    '--uninstall',
    '--delete-data',
  ]);
  assert.deepEqual([out.status, out.err], [0, '']);
  assert.deepEqual(machine.everything(), untouched);
  known(machine);
});

test('a library that DTrace does not take is taken out again, and only then', () => {
  using machine = new Machine();
  writeFileSync(join(machine.folder, 'dtrace-refuses'), 'http.d\n');
  const refused = install(machine, small);
  assert.equal(refused.status, 0, refused.err);
  assert.match(
    refused.err,
    /DTrace here does not take \/usr\/lib\/dtrace\/http\.d, so it was taken out again: dtrace: .*line 12/,
  );
  assert.ok(!machine.everything().some((line) => line.startsWith('usr/lib/dtrace/http.d ')));
  // It is not the library's fault: it stays.
  writeFileSync(join(machine.folder, 'dtrace-refuses'), 'all\n');
  const none = install(machine, small);
  assert.equal(none.status, 0, none.err);
  assert.match(none.err, /DTrace does not run here: dtrace: /);
  assert.ok(machine.everything().some((line) => line.startsWith('usr/lib/dtrace/http.d ')));
  known(machine);
});

test('what was changed and what was stored stay, and are taken up again', () => {
  using machine = new Machine();
  const untouched = machine.everything();
  assert.equal(install(machine, small).status, 0);
  machine.write('etc/opt/cistern/nginx.conf', 'changed by hand\n');
  machine.write('var/lib/cistern/state', 'kept');

  // A newer version: configuration that was changed is kept, that which was not is replaced, what is gone is removed.
  const next = join(folder, 'next');
  pack(next, '10.0.0');
  const upgraded = install(machine, next);
  assert.equal(upgraded.status, 0, upgraded.err);
  assert.equal(machine.read('etc/opt/cistern/nginx.conf'), 'changed by hand\n');
  assert.match(machine.read('etc/opt/cistern/nginx.conf.new'), /of 10\.0\.0/);
  assert.match(machine.read('etc/opt/cistern/snmpd.conf'), /of 10\.0\.0/);
  assert.match(machine.read('opt/cistern/bin/storaged'), /of 10\.0\.0/);

  const out = install(machine, next, ['--uninstall']);
  assert.equal(out.status, 0, out.err);
  assert.match(out.out, /kept, because it was changed here: \/etc\/opt\/cistern\/nginx\.conf/);
  assert.match(out.out, /kept: the dataset rpool\/cistern/);
  assert.equal(machine.read('var/lib/cistern/state'), 'kept');
  const kept = /^(etc\/opt|var\/lib)|^datasets: rpool\/cistern /;
  assert.deepEqual(without(machine.everything(), kept), without(untouched, kept));

  const back = install(machine, small);
  assert.equal(back.status, 0, back.err);
  assert.equal(machine.read('var/lib/cistern/state'), 'kept');
  known(machine);
});

test('what hinders is said before anything is changed', () => {
  const cases: [string, RegExp, Record<string, string>, ((machine: Machine) => void)?][] = [
    ['Linux', /this is Linux, not OmniOS/, { FAKE_UNAME: 'Linux' }],
    ['another illumos', /this is openindiana, not OmniOS/, {}, (m) => m.write('etc/os-release', 'ID=openindiana\n')],
    ['no release', /not OmniOS/, {}, (m) => m.write('etc/os-release', '')],
    [
      'too old',
      /OmniOS r151046; r151054 \(LTS\) or later/,
      {},
      (m) => m.write('etc/os-release', 'ID=omnios\nVERSION_ID=r151046am\n'),
    ],
    ['a zone', /this is the zone build/, { FAKE_ZONE: 'build' }],
    ['not root', /needs root/, { FAKE_UID: '101' }],
    ['no publisher', /publisher extra\.omnios is not set/, { FAKE_PUBLISHERS: 'omnios' }],
    [
      'a pool of that name',
      /there is a pool named system/,
      {},
      (m) => writeFileSync(join(m.folder, 'pools'), 'rpool\nsystem\n'),
    ],
    ['no rpool', /no pool rpool/, {}, (m) => writeFileSync(join(m.folder, 'pools'), 'tank\n')],
    [
      'a foreign dataset',
      /dataset rpool\/cistern that Cistern did not make/,
      {},
      (m) => writeFileSync(join(m.folder, 'datasets'), 'rpool/cistern /x -\n'),
    ],
    [
      'an account',
      /there is a user cistern already, with the id 700/,
      {},
      (m) => m.write('etc/passwd', 'root:x:0:0::/:\ncistern:x:700:1::/:\n'),
    ],
    [
      'an account of the same id',
      /was not made by this installer/,
      {},
      (m) => m.write('etc/passwd', 'root:x:0:0::/:\ncistern:x:510:510::/:\n'),
    ],
    [
      'an id',
      /the user id 511 belongs to alice/,
      {},
      (m) => m.write('etc/passwd', 'root:x:0:0::/:\nalice:x:511:1::/:\n'),
    ],
    ['no space', /there are 9 MiB free on \//, { FAKE_FREE: '10000' }],
    [
      'a web server',
      /http:apache24 is running/,
      {},
      (m) => writeFileSync(join(m.folder, 'services'), 'svc:/network/http:apache24 online\n'),
    ],
    [
      'a file',
      /\/opt\/cistern\/bin\/storaged is there already/,
      {},
      (m) => {
        mkdirSync(join(m.root, 'opt/cistern/bin'), { recursive: true });
        m.write('opt/cistern/bin/storaged', 'x');
      },
    ],
  ];
  for (const [name, says, env, prepare] of cases) {
    using machine = new Machine();
    prepare?.(machine);
    const before = machine.everything();
    const ran = install(machine, small, [], env);
    assert.equal(ran.status, 1, name);
    assert.match(ran.err, says, name);
    assert.match(ran.err, /nothing was changed/);
    assert.deepEqual(machine.everything(), before, name);
    known(machine);
  }
});

test('cores that go somewhere already stay there', () => {
  using machine = new Machine();
  writeFileSync(join(machine.folder, 'coreadm'), '/cores/core.%z.%f\nenabled\n');
  const untouched = machine.everything();
  const done = install(machine, small);
  assert.equal(done.status, 0, done.err);
  assert.match(done.out, /cores go to \/cores\/core\.%z\.%f already/);
  assert.equal(machine.state('coreadm'), '/cores/core.%z.%f\nenabled\n');
  assert.equal(install(machine, small, ['--uninstall', '--delete-data']).status, 0);
  assert.deepEqual(machine.everything(), untouched);
  known(machine);
});

test('a damaged payload, an unknown option, an nginx that cannot', () => {
  using machine = new Machine();
  const before = machine.everything();
  const damaged = join(folder, 'damaged');
  pack(damaged, '9.9.9');
  writeFileSync(join(damaged, 'tree/opt/cistern/bin/execd'), 'cut');
  const ran = install(machine, damaged);
  assert.deepEqual([ran.status, /opt\/cistern\/bin\/execd is missing or damaged/.test(ran.err)], [1, true]);
  assert.equal(install(machine, small, ['--nothing']).status, 2);
  assert.equal(install(machine, small, ['--delete-data']).status, 2);
  assert.equal(install(machine, small, ['--uninstall']).status, 1);
  assert.deepEqual(machine.everything(), before);
  const lacking = install(machine, small, [], { FAKE_NGINX: '--with-http_ssl_module' });
  assert.equal(lacking.status, 3);
  assert.match(lacking.err, /lacks http_auth_request_module/);
});

test('modules of nginx are built with the installation if asked, which does not depend on them', () => {
  using machine = new Machine();
  const source = join(machine.folder, 'nginx-1.30.5.tar.gz');
  assert.deepEqual(
    [install(machine, small, ['--nginx-source', source]).status, existsSync(join(machine.root, 'opt/cistern'))],
    [2, false],
  );
  writeFileSync(source, '');
  const build = 'opt/cistern/lib/nginx-dtrace/build';
  const modules = '"$CISTERN_ROOT/opt/cistern/lib/nginx-dtrace/modules"';
  const lacking = { FAKE_NGINX: '--with-http_ssl_module' };
  for (const [text, status] of [
    ['exit 1', 3],
    [`mkdir -p ${modules}; for m in dtrace auth_request; do : >${modules}/ngx_http_\${m}_module.so; done`, 0],
  ] as [string, number][]) {
    const from = join(folder, `building-${status}-${text.length}`);
    pack(from, '9.9.9', { [build]: `#!/bin/sh\n[ "$1" = '${source}' ] || exit 9\n${text}\n` });
    const ran = install(machine, from, ['--nginx-source', source], lacking);
    assert.equal(ran.status, status, `${text}: ${ran.err}`);
    assert.match(ran.out, /version 9\.9\.9 is installed/);
  }
  // What was built goes with the rest.
  const out = install(machine, small, ['--uninstall', '--delete-data']);
  assert.deepEqual([out.status, existsSync(join(machine.root, 'opt/cistern'))], [0, false], out.err);
});

test('the web server is given every value that its configuration needs', () => {
  const lines = readFileSync(join(payload, 'tree/etc/opt/cistern/nginx.conf'), 'utf8').split('\n');
  const text = lines.filter((line) => !/^ *#/.test(line)).join('\n');
  assert.doesNotMatch(text, /@[A-Z_0-9]+@/);
  assert.match(text, /^include \/opt\/cistern\/lib\/nginx-dtrace\/modules\/\*\.conf;$/m);
  assert.match(text, /alias \/var\/lib\/cistern\/support\/;/);
});

test('killed anywhere and run again, it ends the same', () => {
  const tally = (args: string[]) => {
    using machine = new Machine();
    if (args.length > 0) install(machine, small);
    assert.equal(install(machine, small, args).status, 0);
    return [machine.calls(), without(machine.everything(), /var\/cistern-install\/record/)] as const;
  };
  const out = ['--uninstall', '--delete-data'];
  for (const [args, points] of [
    [[], 14],
    [out, 6],
  ] as [string[], number][]) {
    const [calls, wanted] = tally(args);
    assert.ok(calls > points, `${calls} calls`);
    for (let point = 0; point < points; point++) {
      using machine = new Machine();
      if (args.length > 0) assert.equal(install(machine, small).status, 0);
      const at = 1 + Math.floor((point * (calls - 1)) / (points - 1));
      const env: Record<string, string> = { FAKE_KILL_AT: String(at) };
      if (point % 2 === 1) env.FAKE_KILL_AFTER = '1';
      const cut = install(machine, small, args, env);
      assert.ok(cut.killed, `at call ${at}: status ${cut.status}\n${cut.err}`);
      const again = install(machine, small, args);
      // A kill in the very last step of an uninstallation leaves nothing to take out.
      const over = args.length > 0 && /there is no installation here/.test(again.err);
      assert.ok(over || again.status === 0, `after call ${at} (${machine.state('calls')}): ${again.err}`);
      assert.deepEqual(without(machine.everything(), /var\/cistern-install\/record/), wanted, `after call ${at}`);
      if (args.length === 0 && point % 5 === 0) {
        assert.equal(install(machine, small, out).status, 0);
        using fresh = new Machine();
        assert.deepEqual(machine.everything(), fresh.everything(), `taken out after call ${at}`);
      }
      known(machine);
    }
  }
});

test('an uninstallation that was cut is ended before another installation', () => {
  using machine = new Machine();
  assert.equal(install(machine, small).status, 0);
  const cut = install(machine, small, ['--uninstall'], { FAKE_KILL_AT: '6' });
  assert.ok(cut.killed);
  const refused = install(machine, small);
  assert.deepEqual([refused.status, /uninstallation was begun/.test(refused.err)], [1, true]);
  assert.equal(install(machine, small, ['--uninstall']).status, 0);
  assert.equal(install(machine, small).status, 0);
});

test('the packages hold what they say, and agree with docs/ARCHITECTURE.md', () => {
  const sizes = readdirSync(made).filter((name) => name.endsWith('.zst'));
  assert.ok(readFileSync(join(made, sizes[0] ?? '')).length <= MOST_BYTES);
  const page = readFileSync(join(repository, 'docs/ARCHITECTURE.md'), 'utf8');
  const documented = new Map([...page.matchAll(/`(cistern[a-z-]*)` (5\d\d)/g)].map(([, name, id]) => [name, id]));
  const users: string[] = [];
  for (const name of readdirSync(join(made, 'packages'))) {
    const actions = parseManifest(readFileSync(join(made, 'packages', name), 'utf8'));
    const fmri = actions.find(({ attributes }) => attributes.name === 'pkg.fmri')?.attributes.value ?? '';
    assert.match(fmri, /^pkg:\/\/cistern\/cistern(\/[a-z-]+)?@\d+(\.\d+)+-151054\.0$/);
    for (const { kind, attributes } of actions) {
      if (kind === 'user') {
        users.push(attributes.username ?? '');
        assert.equal(attributes.uid, documented.get(attributes.username), `${attributes.username}`);
      }
      if (kind === 'group') assert.equal(attributes.gid, documented.get(attributes.groupname) ?? attributes.gid);
      if (kind === 'file') assert.match(attributes['cistern.sha256'] ?? '', /^[0-9a-f]{64}$/);
    }
  }
  assert.deepEqual(users.sort(), ['cistern', 'cistern-replicate', 'cistern-store', 'cistern-support', 'cistern-trace']);
});

test('mistakes in a package are reported, all at once', () => {
  const tree = join(payload, 'tree');
  const sources = readSources();
  const wrong = (name: string, line: string) =>
    assert.throws(
      () => makeRelease('1', '151054', new Map([...sources, [name, `${sources.get(name)}${line}\n`]]), tree),
      (problem: Error) => {
        assert.match(problem.message, new RegExp(`^${name}: `, 'm'));
        messages.push(problem.message);
        return true;
      },
    );
  const messages: string[] = [];
  wrong('web', 'file path=opt/cistern/bin/execd mode=0555');
  wrong('web', 'file path=opt/cistern/nothing mode=0555');
  wrong('web', 'file path=opt/cistern/nothing');
  wrong('web', 'fiel path=x');
  wrong('web', 'depend type=require fmri=pkg:/cistern/nothing');
  wrong('web', 'user username=x uid=99 group=cistern home-dir=/ login-shell=/x password=NP');
  wrong('web', 'group groupname=x gid=510');
  wrong('web', 'user username=x uid=600 group=nobody home-dir=/ login-shell=/x password=NP');
  wrong('web', 'dir path=opt/x owner=alice');
  wrong('web', 'set name=a value="open');
  assert.match(messages.join('\n'), /is in management too|is in web too/);
  assert.throws(
    () => makeRelease('1', '151054', new Map([...sources].filter(([name]) => name !== 'storage')), tree),
    /is in no package|no package of ours/,
  );
});
