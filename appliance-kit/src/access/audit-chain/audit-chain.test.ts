import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Bench, bench, Client, eventually } from '../../../tests/harness.ts';
import { GENESIS, hashOf, type Stored } from '../audit/index.ts';
import { knownLink, verify } from './verify.ts';

const by = { name: 'ada', address: '192.0.2.7', way: 'page' } as const;
const FIRST = 100;

/** A hundred entries, of which the first twenty were dropped. */
async function filled(t: Parameters<typeof bench>[0]): Promise<Bench> {
  const on = await bench(t);
  await on.client.setUp();
  const { audit } = on.appliance;
  for (let n = audit.lastGiven(); n < FIRST; n++) audit.record(by, 'x.y', `t${n}`, { n }, { n: n + 1 });
  audit.drop(0, 80, 500);
  return on;
}

async function job(on: Bench, known?: string[]) {
  const { body, status } = await on.client.post('/api/audit-chain/verify', known ? { known } : {});
  assert.equal(status, 202, JSON.stringify(body));
  return eventually(async () => {
    const found = (await on.client.get(`/api/jobs/${body.id}`)).body;
    assert.notEqual(found.state, 'running');
    return found;
  });
}

/** Makes the chain anew from an entry on, as somebody would who may write to the database. */
function rechain({ appliance: { db, audit } }: Bench, from: number): void {
  let hash = audit.hashAt(from - 1) ?? GENESIS;
  for (const row of audit.after(from - 1, 1_000)) {
    hash = hashOf(hash, row as Stored);
    db.run('UPDATE audit SET entry_hash = ? WHERE id = ?', hash, row.id);
  }
}

const tampering: readonly (readonly [what: string, change: (on: Bench) => void, found: readonly RegExp[]])[] = [
  ...(['user', 'address', 'way', 'action', 'target', 'before_json', 'after_json'] as const).map(
    (column) =>
      [
        `the ${column} of one is changed`,
        ({ appliance: { db } }: Bench) => void db.run(`UPDATE audit SET ${column} = 'mallory' WHERE id = 50`),
        [/^Entry 50 was changed, or does not follow from entry 49\.$/],
      ] as const,
  ),
  [
    'the time of one is changed',
    ({ appliance: { db } }) => void db.run('UPDATE audit SET time = time + 1 WHERE id = 50'),
    [/^Entry 50 was changed/],
  ],
  [
    'one is changed, and its own hash made anew',
    ({ appliance: { db, audit } }) => {
      db.run("UPDATE audit SET user = 'mallory' WHERE id = 50");
      const [row] = audit.after(49, 1);
      db.run('UPDATE audit SET entry_hash = ? WHERE id = 50', hashOf(audit.hashAt(49) as string, row as Stored));
    },
    [/^Entry 51 was changed, or does not follow from entry 50\.$/],
  ],
  [
    'two change places',
    ({ appliance: { db } }) => {
      for (const [from, to] of [
        [50, 0],
        [51, 50],
        [0, 51],
      ] as const)
        db.run('UPDATE audit SET id = ? WHERE id = ?', to, from);
    },
    [/^Entry 50/, /^Entry 51/, /^Entry 52/],
  ],
  [
    'one in the middle is removed',
    ({ appliance: { db } }) => void db.run('DELETE FROM audit WHERE id = 50'),
    [/^Entry 50 is missing\.$/],
  ],
  [
    'several in the middle are removed',
    ({ appliance: { db } }) => void db.run('DELETE FROM audit WHERE id BETWEEN 50 AND 60'),
    [/^Entries 50 to 60 are missing\.$/],
  ],
  [
    'the oldest is removed, past the anchor',
    ({ appliance: { db } }) => void db.run('DELETE FROM audit WHERE id = 21'),
    [/^Entry 21 is missing\.$/],
  ],
  [
    'the newest is removed',
    ({ appliance: { db } }) => void db.run('DELETE FROM audit WHERE id = 100'),
    [/^Entry 100 is missing: the newest there were\.$/],
  ],
  [
    'the anchor is changed',
    ({ appliance: { db } }) => void db.run('UPDATE audit_anchor SET entry_hash = ?', 'a'.repeat(64)),
    [/^Entry 21, the oldest, does not follow from the anchor/],
  ],
  [
    'the anchor is removed',
    ({ appliance: { db } }) => void db.run('DELETE FROM audit_anchor'),
    [/^Entries 1 to 20 are missing\.$/],
  ],
  [
    'the anchor is put forward, as if more had been dropped',
    ({ appliance: { db, audit } }) =>
      void db.run('UPDATE audit_anchor SET id = 30, entry_hash = ?', audit.hashAt(31) as string),
    [/^Entry 31, the oldest, does not follow from the anchor/],
  ],
];

for (const [what, change, expected] of tampering) {
  test(`found: ${what}`, async (t) => {
    const on = await filled(t);
    const { audit } = on.appliance;
    assert.deepEqual((await verify(audit)).damages, []);
    change(on);
    const { damages, places } = await verify(audit);
    assert.equal(places, expected.length, damages.join(' '));
    expected.forEach((pattern, at) => {
      assert.match(damages[at] ?? '', pattern);
    });
  });
}

test('one that was removed as the newest is missed after the next one, too', async (t) => {
  const on = await filled(t);
  const { audit, db } = on.appliance;
  db.run('DELETE FROM audit WHERE id = 100');
  audit.record(by, 'x.y', 'next');
  assert.equal(audit.lastGiven(), 101);
  assert.deepEqual((await verify(audit)).damages, ['Entry 100 is missing.']);
  const written = `100:${'0'.repeat(64)}`;
  assert.match((await job(on, [written])).error.detail, /There is no entry 100 any more/);
});

test('a chain that was made anew is found by a hash that was written down, and by nothing else', async (t) => {
  const on = await filled(t);
  const { audit, db } = on.appliance;
  const written = `100:${audit.hashAt(100)}`;
  const middle = `60:${audit
    .hashAt(60)
    ?.slice(0, 20)
    .toUpperCase()
    .replace(/(.{4})/g, '$1 ')}`;
  const done = await job(on, [written, middle]);
  assert.equal(done.state, 'done', JSON.stringify(done.error));
  assert.match(done.log.map(({ text }: { text: string }) => text).join('\n'), /2 given hashes fit/);
  db.run("UPDATE audit SET user = 'mallory' WHERE id = 50");
  rechain(on, 50);
  assert.deepEqual((await verify(audit)).damages, []);
  const failed = await job(on, [middle, written]);
  assert.deepEqual([failed.state, failed.error.code], ['failed', 'audit_damaged']);
  assert.match(failed.error.detail, /Entry 60 has another hash.*Entry 100 has another hash/);
  // No alert: the chain itself holds, and a hash may have been copied wrongly.
  const { items } = (await on.client.get('/api/alerts')).body;
  assert.deepEqual(
    items.filter((one: { class: string }) => one.class === 'audit.damaged'),
    [],
  );
});

test('hashes of what was dropped, of what there never was, and no hashes', async (t) => {
  const on = await filled(t);
  const { audit } = on.appliance;
  assert.equal((await job(on, [`20:${audit.hashAt(20)}`])).state, 'done', 'the anchor has a hash');
  const hash = 'ab'.repeat(32);
  assert.match((await job(on, [`20:${hash}`])).error.detail, /Entry 20 has another hash/);
  assert.match((await job(on, [`7:${hash}`])).error.detail, /Entry 7 was dropped/);
  assert.match((await job(on, [`9000:${hash}`])).error.detail, /no entry 9000/);
  for (const wrong of ['7', '7:abc', 'x:y', `7:${hash}ab`, `7:${'g'.repeat(64)}`]) {
    assert.equal(knownLink(wrong), null, wrong);
    const { body } = await on.client.post('/api/audit-chain/verify', { known: [`1:${hash}`, wrong] });
    assert.deepEqual([body.code, body.errors[0].path], ['invalid_request', '/known/1']);
  }
});

test('it is verified each night; damage is an alert that says where, and goes when it was mended', async (t) => {
  const on = await filled(t);
  const { audit, db, timetable } = on.appliance;
  const { token } = (await on.client.post('/api/tokens', { name: 'robot', role: 'administrator' })).body;
  const get = async (path: string) =>
    (await new Client(on.appliance).get(path, { headers: { authorization: `Bearer ${token}` } })).body;
  const damaged = async () => {
    const { items } = await get('/api/alerts');
    return items.filter((one: { class: string }) => one.class === 'audit.damaged');
  };
  const night = async () => {
    on.clock.advance(86_400);
    timetable.tick();
    await timetable.settled();
  };
  assert.equal((await get('/api/audit-chain')).verified, null);
  const hash = audit.hashAt(50) as string;
  db.run('UPDATE audit SET entry_hash = ? WHERE id = 50', 'f'.repeat(64));
  timetable.tick();
  await night();
  const [alert] = await damaged();
  assert.equal(alert.severity, 'critical');
  assert.match(alert.text, /does not hold in 2 places\. Entry 50 was changed.*Entry 51/);
  const body = await get('/api/audit-chain');
  assert.deepEqual([body.verified.places, body.anchor.id, body.anchor.dropped], [2, 20, 20]);
  assert.equal(body.newest.hash, audit.newest()?.hash);
  db.run('UPDATE audit SET entry_hash = ? WHERE id = 50', hash);
  await night();
  assert.deepEqual(await damaged(), []);
});

test('others have their turn while many entries are verified, and what comes and goes meanwhile does no harm', async (t) => {
  const on = await bench(t);
  const { audit, db } = on.appliance;
  db.transaction(() => {
    for (let n = 0; n < 20_000; n++) audit.record(by, 'x.y', `t${n}`, { n }, { text: 'x'.repeat(n % 2_000) });
  });
  let turns = 0;
  const timer = setInterval(() => {
    turns++;
    audit.record(by, 'x.y', 'meanwhile');
    audit.drop(0, 15_000, 300);
  }, 2);
  const found = await verify(audit);
  clearInterval(timer);
  assert.deepEqual(found.damages, []);
  assert.ok(turns > 5, `${turns} turns`);
  assert.ok(found.entries > 10_000, `${found.entries}`);
});
