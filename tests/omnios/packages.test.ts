// The IPS manifests: what each of them says of its package, and the form that pkgfmt gives them.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { makeRelease, parseManifest, readSources } from '../../image/omnios/packages.ts';
import { type Action, formatAction, formatManifest } from '../../image/omnios/pkgfmt.ts';

const repository = join(import.meta.dirname, '../..');

test('pkglint’s attributes are in every manifest: consolidation, classification, services, architecture', (t) => {
  // A tree of what the sources list; of the files only the manifests of services are read.
  const tree = mkdtempSync(join(tmpdir(), 'cistern-tree-'));
  t.after(() => rmSync(tree, { recursive: true, force: true }));
  const sources = readSources();
  for (const text of sources.values()) {
    for (const { kind, attributes } of parseManifest(text)) {
      const path = join(tree, attributes.path ?? '');
      if (kind === 'dir' || kind === 'tree') mkdirSync(path, { recursive: true });
      if (kind !== 'file') continue;
      mkdirSync(dirname(path), { recursive: true });
      const [, name = ''] = /\/manifest\/.*\/([a-z]+\.xml)$/.exec(path) ?? [];
      const folder = ['firewall.xml', 'identity.xml', 'pools.xml'].includes(name) ? 'smf/illumos' : 'smf/manifest';
      const content = path.includes('/opt/cistern/bin/') ? '\x7fELF' : 'x';
      writeFileSync(path, name === '' ? content : readFileSync(join(repository, folder, name)));
    }
  }
  const { manifests } = makeRelease('1.2.3', '151054', sources, tree);
  const services: string[] = [];
  for (const [name, text] of manifests) {
    const settings = new Map(
      parseManifest(text)
        .filter(({ kind }) => kind === 'set')
        .map(({ attributes }) => [attributes.name, attributes.value ?? '']),
    );
    assert.equal(settings.get('org.opensolaris.consolidation'), 'cistern', name);
    assert.match(
      settings.get('info.classification') ?? '',
      /^org\.opensolaris\.category\.2008:[A-Z][^/]+\/[A-Z]/,
      name,
    );
    const programs = text.includes(' path=opt/cistern/bin/');
    assert.equal(settings.get('variant.arch'), programs ? 'i386' : undefined, name);
    services.push(...(settings.get('org.opensolaris.smf.fmri') ?? '').split(' ').filter((one) => one !== ''));
  }
  assert.deepEqual(
    services.filter((one) => one.endsWith(':default')).sort(),
    [
      ...['akd', 'execd', 'gatherd', 'replicd', 'snmpd', 'storaged', 'supportd', 'tracerd'].map(
        (one) => `application/cistern/${one}`,
      ),
      ...['network/cistern/nginx', 'system/cistern/firewall', 'system/cistern/identity', 'system/cistern/pools'],
    ].map((one) => `svc:/${one}:default`),
  );
  // Each service beside its instance, as pkgdepend finds them.
  assert.equal(services.length, 24);

  const without = new Map([...sources].map(([name, text]) => [name, text.replace(/^set name=info.*\\\n.*\n/m, '')]));
  assert.throws(() => makeRelease('1', '151054', without, tree), /ui: it has no info\.classification$/m);
  const twice = new Map([...sources, ['web', `${sources.get('web')}set name=a value=b value=c\n`]]);
  assert.throws(() => makeRelease('1', '151054', twice, tree), /web: set has value twice$/m);
});

/** What pkgfmt of pkg5 (August 2026) made of the same actions. */
test('actions have the form that pkgfmt gives them', () => {
  const action = (kind: string, attributes: Action['attributes'], payload: string | null = null) =>
    formatAction({ kind, payload, attributes });
  assert.equal(
    action('dir', { mode: '0755', path: 'opt/x', group: 'bin', owner: 'root' }),
    'dir  path=opt/x owner=root group=bin mode=0755',
  );
  assert.equal(action('link', { target: 'b', path: 'a' }), 'link path=a target=b');
  assert.equal(action('depend', { fmri: 'pkg:/a', type: 'require' }), 'depend type=require fmri=pkg:/a');
  assert.equal(
    action(
      'file',
      { path: 'lib/svc/method/cistern-pools', mode: '0555', owner: 'root', group: 'bin', 'pkg.size': '1' },
      'lib/svc/method/cistern-pools',
    ),
    'file lib/svc/method/cistern-pools path=lib/svc/method/cistern-pools owner=root \\\n    group=bin mode=0555 pkg.size=1',
  );
  assert.equal(
    action('user', {
      uid: '511',
      username: 'cistern-store',
      password: 'NP',
      'gcos-field': 'Cistern store',
      group: 'cistern-store',
      'login-shell': '/usr/bin/false',
    }),
    'user username=cistern-store gcos-field="Cistern store" group=cistern-store \\\n    login-shell=/usr/bin/false password=NP uid=511',
  );
  assert.equal(
    action('set', { name: 'org.opensolaris.smf.fmri', value: ['svc:/b:default', 'svc:/a'] }),
    'set name=org.opensolaris.smf.fmri value=svc:/a value=svc:/b:default',
  );
  // The last word of a line has two columns more than those before it; one that is alone stays alone.
  const long = (length: number) => action('set', { name: 'pkg.x', value: 'v'.repeat(length) });
  assert.equal(long(59).length, 80);
  assert.match(long(60), /^set name=pkg\.x \\\n {4}value=v+$/);
  assert.equal(action('license', { license: 'x'.repeat(90) }), `license license=${'x'.repeat(90)}`);
});

test('a manifest is in pkgfmt’s order, and its sources are too', () => {
  const one = (kind: string, attributes: Action['attributes'], payload: string | null = null): Action => ({
    kind,
    payload,
    attributes,
  });
  const text = formatManifest([
    one('depend', { type: 'require', fmri: 'pkg:/b' }),
    one('depend', { type: 'optional', fmri: 'pkg:/c' }),
    one('license', { license: 'L' }, 'l'),
    one('user', { username: 'u' }),
    one('group', { groupname: 'z' }),
    one('file', { path: 'b' }, 'b'),
    one('dir', { path: 'c' }),
    one('link', { path: 'a', target: 'b' }),
    one('set', { name: 'info.classification', value: 'i' }),
    one('set', { name: 'pkg.zzz', value: 'i' }),
    one('set', { name: 'pkg.summary', value: 'i' }),
    one('set', { name: 'pkg.fmri', value: 'i' }),
  ]);
  assert.deepEqual(
    text
      .trimEnd()
      .split('\n')
      .map((line) => line.replace(/^(\S+ +\S+).*/, '$1')),
    [
      ...['set name=pkg.fmri', 'set name=pkg.summary', 'set name=pkg.zzz', 'set name=info.classification'],
      ...['link path=a', 'file b', 'dir  path=c', 'group groupname=z', 'user username=u', 'license l'],
      ...['depend type=optional', 'depend type=require'],
    ],
  );
  for (const [name, source] of readSources()) {
    // pkgfmt leaves a comment, and what it does not know (tree), where it was: before all actions here.
    const rest = source.replace(/^(?:(?:#|tree ).*\n)*/, '');
    const actions = parseManifest(rest).map(({ kind, payload, attributes }) => ({ kind, payload, attributes }));
    assert.equal(rest, formatManifest(actions), `${name}.p5m`);
  }
});
