import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { bench, PASSWORD } from '../../../tests/harness.ts';

const HOUR = 3600;

test('a session is signed for the web server, to its longest end, and is none the less looked up', async (t) => {
  const { client, clock, directory } = await bench(t);
  await client.setUp();
  const signIn = async () => {
    assert.equal((await client.post('/api/session', { user: 'ada', password: PASSWORD })).status, 200);
    return client.cookies.get('__Host-cistern_session') as string;
  };
  assert.match(await signIn(), /^[\w-]{43}$/, 'a machine without a key has nothing to sign by');
  writeFileSync(join(directory, 'places.conf'), 'default short;\n');
  assert.match(await signIn(), /^[\w-]{43}$/, 'a key that is damaged keeps nobody out');

  const key = 'ab'.repeat(32);
  writeFileSync(join(directory, 'places.conf'), `default ${key};\n`);
  const cookie = await signIn();
  const [secret, until, signature] = cookie.split('.');
  assert.equal(Number(until), Math.ceil(clock.now() / 1000) + 7 * 24 * HOUR);
  assert.equal(signature, createHash('md5').update(`${secret} ${until} ${key}`).digest('base64url'));
  assert.equal((await client.get('/api/status')).status, 200);
  // The signature is no way around the session itself, nor is its secret alone.
  const random = 'A'.repeat(43);
  const forged = `${random}.${until}.${createHash('md5').update(`${random} ${until} ${key}`).digest('base64url')}`;
  for (const other of [forged, secret as string]) {
    client.cookies.set('__Host-cistern_session', other);
    assert.equal((await client.get('/api/status')).status, 401, other);
  }
});
