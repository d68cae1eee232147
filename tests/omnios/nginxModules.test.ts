// What builds nginx' modules on OmniOS, under the real ksh93: nginx' sources and the tools are scripts that write down
// what they were asked for.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Machine } from './machine.ts';

const repository = join(import.meta.dirname, '../..');
const PLACE = 'opt/cistern/lib/nginx-dtrace';
/** As omnios-extra's recipe has them, with a flag that has blanks in it. */
const CONFIGURED = `--with-threads --user=nginx --prefix=/opt/ooce/nginx-1.30 --with-cc=clang-20 --with-cc-opt='-O2 -m64 -DX="a b"' --add-dynamic-module=../ngx_brotli-1.0.0rc --add-dynamic-module=../nginx-acme-0.3.1`;

interface Prepared {
  readonly machine: Machine;
  readonly source: string;
  readonly configure: string;
  readonly run: (args?: string[], env?: Record<string, string>) => ReturnType<Machine['run']>;
  readonly modules: () => string[];
}

function prepare(configured = CONFIGURED): Prepared {
  const machine = new Machine();
  const script = (path: string, text: string) => {
    writeFileSync(path, `#!/bin/sh\n${text}`);
    chmodSync(path, 0o755);
  };
  const bin = join(machine.folder, 'bin');
  for (const folder of [PLACE, 'usr/lib/dtrace', 'opt/ooce/nginx-1.30/sbin']) {
    mkdirSync(join(machine.root, folder), { recursive: true });
  }
  for (const name of ['config', 'conninfo.d', 'httpproto.h', 'ngx_http_dtrace_module.c', 'probes.d']) {
    copyFileSync(join(repository, 'services/nginx-dtrace', name), join(machine.root, PLACE, name));
  }
  copyFileSync(join(repository, 'services/nginx-dtrace/http.d'), join(machine.root, 'usr/lib/dtrace/http.d'));
  script(
    join(machine.root, 'opt/ooce/nginx-1.30/sbin/nginx'),
    `case $1 in
-V) printf '%s\\n' 'nginx version: nginx/1.30.5' "configure arguments: $(cat "$FAKE/configured")" >&2 ;;
-t) [ -z "\${FAKE_REFUSES:-}" ] || { echo 'module is not binary compatible' >&2; exit 1; }
  for last; do :; done; cat "$last" >"$FAKE/tried" ;;
esac`,
  );
  writeFileSync(join(machine.folder, 'configured'), configured);
  const output = 'while [ $# -gt 0 ]; do [ "$1" != -o ] || { echo made >"$2"; break; }; shift; done\n';
  script(join(bin, 'gcc'), output);
  script(join(bin, 'dtrace'), `echo "$*" >>"$FAKE/dtrace"\n${output}`);
  script(
    join(bin, 'gmake'),
    `[ -z "\${FAKE_MAKE:-}" ] || { echo 'error: no such header'; exit 2; }
for one in $(cat objs/addons); do echo module >"objs/$one.so"; done`,
  );
  const tree = join(machine.folder, 'nginx-1.30.5');
  mkdirSync(join(tree, 'src/core'), { recursive: true });
  writeFileSync(join(tree, 'src/core/nginx.h'), '');
  const configure = join(machine.folder, 'arguments');
  script(
    join(tree, 'configure'),
    `printf '%s\\n' "$@" >"$FAKE/arguments"; mkdir -p objs
for one; do case $one in --add-dynamic-module=/*) (. /dev/null; sed -n 's/^ngx_module_name=//p' "\${one#*=}/config") >>objs/addons ;; esac; done`,
  );
  const source = join(machine.folder, 'nginx-1.30.5.tar.gz');
  const packed = spawnSync('tar', ['-C', machine.folder, '-czf', source, 'nginx-1.30.5'], { encoding: 'utf8' });
  assert.equal(packed.status, 0, packed.stderr);
  const build = join(repository, 'image/omnios/nginx-modules');
  return {
    machine,
    source,
    configure,
    run: (args = [source], env = {}) => machine.run(build, args, env),
    modules: () => {
      const folder = join(machine.root, PLACE, 'modules');
      return existsSync(folder) ? readdirSync(folder).sort() : [];
    },
  };
}

test('both modules are built as this nginx was, tried, and put in place; again too', () => {
  const { machine, source, configure, run, modules } = prepare();
  using _ = machine;
  const check = run(['--check']);
  assert.deepEqual([check.status, check.err, modules()], [0, '', []]);
  assert.match(check.out, /nginx-1\.30\.5\.tar\.gz/);
  for (let time = 0; time < 2; time++) {
    const ran = run([source]);
    assert.deepEqual([ran.status, ran.err], [0, '']);
    const names = ['ngx_http_auth_request_module', 'ngx_http_dtrace_module'];
    assert.deepEqual(
      modules(),
      names.flatMap((name) => [`${name}.conf`, `${name}.so`]),
    );
    for (const name of names) {
      assert.equal(machine.read(`${PLACE}/modules/${name}.conf`), `load_module /${PLACE}/modules/${name}.so;\n`);
      assert.match(
        readFileSync(join(machine.folder, 'tried'), 'utf8'),
        new RegExp(`^load_module .*/${name}\\.so;$`, 'm'),
      );
    }
  }
  const given = readFileSync(configure, 'utf8').trim().split('\n');
  assert.deepEqual(given.slice(0, 4), [
    '--with-threads',
    '--user=nginx',
    '--prefix=/opt/ooce/nginx-1.30',
    '--with-cc-opt=-O2 -m64 -DX="a b"',
  ]);
  assert.deepEqual(
    given.slice(4).map((one) => one.replace(/=.*\//, '=')),
    ['--with-cc=gcc', '--add-dynamic-module=dtrace', '--add-dynamic-module=auth'],
  );
  assert.match(readFileSync(join(machine.folder, 'dtrace'), 'utf8'), /^-h -xnolibs [^\n]*\n-G -64 -xnolibs /);
});

test('an nginx that has auth_request keeps its own', () => {
  const { machine, run, modules } = prepare(`${CONFIGURED} --with-http_auth_request_module`);
  using _ = machine;
  mkdirSync(join(machine.root, PLACE, 'modules'));
  machine.write(`${PLACE}/modules/ngx_http_auth_request_module.conf`, 'of a version before');
  assert.equal(run().status, 0);
  assert.deepEqual(modules(), ['ngx_http_dtrace_module.conf', 'ngx_http_dtrace_module.so']);
});

test('what does not fit is said, and nothing is changed', () => {
  const { machine, source, run, modules } = prepare();
  using _ = machine;
  const before = machine.everything();
  writeFileSync(join(machine.folder, 'cut.tar.gz'), readFileSync(source).subarray(0, 60));
  for (const [name, says, args, env] of [
    ['another version', /is not the source of nginx 1\.30\.5/, [join(machine.folder, 'cut.tar.gz')], {}],
    ['no such file', /cannot be read/, ['/nowhere.tar.gz'], {}],
    ['Linux', /this is Linux/, [source], { FAKE_UNAME: 'Linux' }],
    ['not root', /needs root/, [source], { FAKE_UID: '101' }],
    [
      'a compiler that fails',
      /no such header[\s\S]*compiling: 'gmake' failed \(status 2\)/,
      [source],
      { FAKE_MAKE: '1' },
    ],
    ['an nginx that refuses it', /not binary compatible[\s\S]*does nginx load them/, [source], { FAKE_REFUSES: '1' }],
  ] as [string, RegExp, string[], Record<string, string>][]) {
    const ran = run(args, env);
    assert.equal(ran.status, 1, name);
    assert.match(ran.err, says, name);
    assert.match(ran.err, /nothing was changed/i, name);
    assert.deepEqual(machine.everything(), before, name);
  }
  assert.equal(run([]).status, 2);
  assert.deepEqual(modules(), []);
});
