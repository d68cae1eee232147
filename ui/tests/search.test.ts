// What `/` finds: settings by the labels of their forms, sections of the manual, and what fits best first. A role finds only what
// it may see.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { fieldsOf, foundSettings, isIn, manualSections, sources } from '../search.ts';
import { places, roleAt } from '../src/frame/places.ts';
import { type Hit, ranked } from '../src/frame/search/ranking.ts';
import { settings } from '../src/frame/search/settings.ts';
import { pagesFor, settingsFor } from '../src/frame/search/sources.ts';

/** Forms that set nothing, and what several forms are made of. */
const NO_SETTINGS: readonly (readonly [why: string, ...files: string[]])[] = [
  ['what fields are made of', 'forms/Field', 'forms/LinesField', 'forms/SelectField', 'access/factors/CodeField'],
  ['it is in several forms, which are found', 'forms/ScheduleFields'],
  ['it asks whether it is meant', 'forms/ConfirmByName', 'access/session/AskForPassword'],
  ['it signs in', 'access/session/SignInPage', 'access/sign-in-request', 'access/setup'],
  ['it shows how to send or to use', 'analytics/sending', 'access/command-line'],
  ['it is about one alert', 'alerting/alerts'],
  ['it is about one sender', 'system/status/SenderActions'],
  ['it is about one snapshot', 'storage/snapshots'],
  ['it chooses what is shown', 'system/logs', 'analytics/explore/QueryPage'],
];

test('each form is one of a row of settings, or is none, with a reason', () => {
  const rows = [...settings.map(({ forms }) => forms), ...NO_SETTINGS.map(([, ...files]) => files)];
  const all = sources();
  const withFields = all.filter((file) => fieldsOf(file) !== null);
  assert.ok(withFields.length > 50, 'fields are not found any more');
  for (const file of withFields) {
    const of = rows.filter((forms) => forms.some((form) => isIn(file, form)));
    assert.equal(of.length, 1, `${file} is in ${of.length} rows of ui/src/frame/search/settings.ts, and of those here`);
  }
  for (const form of rows.flat()) {
    assert.ok(
      all.some((file) => isIn(file, form)),
      `there is no ${form}`,
    );
  }
});

test('each part of the settings document has a row with its title, on a page that there is', () => {
  const kit = path.join(import.meta.dirname, '../../appliance-kit/src');
  const declared = new Map<string, string>();
  let parts = 0;
  for (const file of readdirSync(kit, { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith('.ts') || file.endsWith('.test.ts') || file === path.join('domain', 'settings-part.ts'))
      continue;
    const text = readFileSync(path.join(kit, file), 'utf8');
    for (const [, declaration = ''] of text.matchAll(/\b(?:onePart|manyPart)\(\{(.*?)\bcovers:/gs)) {
      parts++;
      const [, name = '', title = ''] = /name: '([^']*)', title: '([^']*)'/.exec(declaration) ?? [];
      declared.set(name, title);
    }
  }
  assert.equal(declared.size, parts, 'the name and the title of a part are not found any more');
  assert.deepEqual(
    Object.fromEntries([...declared].sort()),
    Object.fromEntries([...settings.filter(({ part }) => part !== '').map(({ part, title }) => [part, title])].sort()),
  );
  const app = readFileSync(path.join(import.meta.dirname, '../src/frame/App.tsx'), 'utf8');
  for (const { path: to, title } of settings) {
    assert.ok(places.some((place) => place.path === to) || app.includes(`path="${to}"`), `${title}: there is no ${to}`);
  }
});

test('a field is found by its label, and says what it is of', () => {
  const hits = settingsFor({ name: 'ada', role: 'administrator' }, foundSettings());
  const of = (text: string) => ranked([{ kind: 'Settings', hits }], text)[0]?.hits[0];
  assert.deepEqual(of('issuer'), { title: 'Issuer', about: 'Identity providers', to: '/settings/providers' });
  assert.deepEqual(of('Integration key'), {
    ...{ title: 'Integration key', about: 'Alert destinations', to: '/alerts/destinations' },
  });
  assert.equal(of('measurements are kept')?.to, '/analytics/datasets');
  const from = hits.filter(({ title }) => title === 'Only from these addresses');
  assert.deepEqual(from.map(({ to }) => to).sort(), [
    ...['/settings/firewall', '/settings/inputs', '/settings/ssh', '/settings/tokens'],
  ]);
});

test('what a role may not see is not found', () => {
  const built = foundSettings();
  const found = (role: 'viewer' | 'operator' | 'administrator') => {
    const user = { name: 'ada', role };
    return [...pagesFor(user), ...settingsFor(user, built)].map(({ to }) => to);
  };
  assert.ok(!found('operator').some((to) => to.startsWith('/settings')));
  assert.ok(found('operator').includes('/services/logs') && !found('viewer').includes('/services/logs'));
  assert.ok(found('viewer').includes('/alerts/destinations'));
  assert.ok(found('administrator').includes('/settings/tokens'));
  assert.equal(roleAt('/settings/users/ada'), 'administrator');
  assert.equal(roleAt('/settings-elsewhere'), 'viewer');
});

test('the sections of the manual are its headings, with what they are called there', () => {
  const sections = manualSections();
  assert.deepEqual(
    sections.find(({ title }) => title === 'What a host is'),
    { title: 'What a host is', page: 'Hosts', path: '/docs/manual/hosts.html#what-a-host-is' },
  );
  assert.deepEqual(
    sections.find(({ path: to }) => to === '/docs/manual/hosts.html'),
    { title: 'Hosts', page: 'Hosts', path: '/docs/manual/hosts.html' },
  );
  assert.ok(sections.every(({ title }) => !/[`\]]/.test(title)));
});

test('what fits best comes first, of a kind and among kinds; all words are in it', () => {
  const hit = (title: string, about = '', also = ''): Hit => ({ title, about, to: `/${title}`, also });
  const kinds = [
    { kind: 'Pages', hits: [hit('Datasets', 'File systems'), hit('Status', 'the state of pools')] },
    { kind: 'Alerts', hits: [hit('Pool tank is 91 % full', 'pool=tank'), hit('Reboot', '', 'the pool tank')] },
    { kind: 'Settings', hits: [hit('Carpool'), hit('Pool'), hit('Name of the pool'), hit('Pool of disks')] },
  ];
  assert.deepEqual(
    ranked(kinds, 'pool').map(({ kind, hits }) => [kind, hits.map(({ title }) => title)]),
    [
      ['Settings', ['Pool', 'Pool of disks', 'Name of the pool', 'Carpool']],
      ['Alerts', ['Pool tank is 91 % full', 'Reboot']],
      ['Pages', ['Status']],
    ],
  );
  assert.deepEqual(
    ranked(kinds, 'TANK pool').map(({ hits }) => hits.map(({ title }) => title)),
    [['Pool tank is 91 % full', 'Reboot']],
  );
  assert.deepEqual(ranked(kinds, 'nothing like it'), []);
  assert.equal(ranked(kinds, '').length, 3);
});
