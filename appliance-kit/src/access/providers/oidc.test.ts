// OpenID Connect, against a real provider and against one that lies.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Answer, type Bench, bench, Client, PASSWORD } from '../../../tests/harness.ts';
import { browser, CLIENT, lyingProvider, openIdProvider, PAGE } from '../../../tests/openid.ts';

const settings = (provider: { issuer: string; identity: { ca: string } }, more: object = {}) => ({
  ...{ name: 'Company', kind: 'oidc', enabled: true, otherwise: null },
  roles: [
    { group: 'viewers', role: 'viewer' },
    { group: 'admins', role: 'administrator' },
  ],
  oidc: {
    ...{ issuer: provider.issuer, clientId: CLIENT.id, clientSecret: CLIENT.secret, scopes: 'openid profile groups' },
    ...{ nameClaim: 'preferred_username', groupsClaim: 'groups', pages: [PAGE], endSession: true },
    ...{ ca: provider.identity.ca, ...more },
  },
});

function refused(answer: Answer, status: number, code: string, words: RegExp): void {
  assert.deepEqual([answer.status, answer.body.code], [status, code], JSON.stringify(answer.body));
  assert.match(`${answer.body.detail} ${answer.body.action ?? ''}`, words);
}

async function withProvider(
  t: Parameters<typeof bench>[0],
  provider: Parameters<typeof settings>[0],
  more: object = {},
) {
  const on = await bench(t);
  await on.client.setUp();
  const made = await on.client.post('/api/providers', settings(provider, more));
  assert.equal(made.status, 201, JSON.stringify(made.body));
  return { ...on, id: made.body.id as string };
}

const begin = async (client: Client, id: string, what: 'sign-in' | 'confirmation' = 'sign-in'): Promise<string> => {
  const { status, body } = await client.post(`/api/providers/${id}/start`, { for: what });
  assert.equal(status, 200, JSON.stringify(body));
  return body.url;
};
const finish = (client: Client, query: string) => client.post('/api/providers/finish', { query });
const somebody = ({ appliance }: Bench, from = '192.0.2.9') => {
  const client = new Client(appliance, from);
  client.password = null;
  return client;
};

test('somebody signs in at the provider, with the role of the groups of today; signing out goes on there', async (t) => {
  const provider = await openIdProvider(t);
  const on = await withProvider(t, provider);
  const offered = (await somebody(on).get('/api/offered-providers')).body.items;
  assert.deepEqual(offered, [{ id: on.id, name: 'Company', kind: 'oidc' }]);
  const client = somebody(on);
  const goes = browser(provider.identity.ca);
  const url = await begin(client, on.id);
  const asked = new URL(url).searchParams;
  assert.deepEqual([asked.get('code_challenge_method'), asked.get('response_type')], ['S256', 'code']);
  const back = await goes(url);
  const signedIn = await finish(client, back);
  assert.equal(signedIn.status, 200, JSON.stringify(signedIn.body));
  assert.deepEqual(signedIn.body.user, { name: 'bob', role: 'viewer' });
  assert.deepEqual(signedIn.body.provider, { id: on.id, kind: 'oidc' });
  refused(await finish(client, back), 409, 'conflict', /has begun no sign-in/);
  const log = JSON.stringify((await on.client.get('/api/audit-log')).body);
  for (const secret of [CLIENT.secret, new URLSearchParams(back).get('code') as string])
    assert.ok(!log.includes(secret));

  provider.who = { sub: 'sub-bob', name: 'robert', groups: ['admins'] };
  const again = somebody(on, '192.0.2.10');
  const renamed = await finish(again, await browser(provider.identity.ca)(await begin(again, on.id)));
  assert.deepEqual(renamed.body.user, { name: 'bob', role: 'administrator' }, 'who it is stays, by the subject');
  provider.who = { ...provider.who, groups: [] };
  const third = somebody(on, '192.0.2.11');
  refused(
    await finish(third, await browser(provider.identity.ca)(await begin(third, on.id))),
    ...([403, 'account_disabled', /in no group of Company/] as const),
  );
  const end = await again.post('/api/providers/end');
  assert.match(end.body.url, new RegExp(`^${provider.issuer}/session/end\\?.*post_logout_redirect_uri=`));
  assert.equal((await again.get('/api/session')).body.user, null);
});

test('a confirmation goes to the provider anew, and only the same person confirms', async (t) => {
  const provider = await openIdProvider(t);
  const on = await withProvider(t, provider);
  provider.who = { sub: 'sub-ann', name: 'ann', groups: ['admins'] };
  const ann = somebody(on);
  const goes = browser(provider.identity.ca);
  assert.equal((await finish(ann, await goes(await begin(ann, on.id)))).status, 200);
  // The provider may have known her since this morning: signing in confirms nothing.
  refused(await ann.post('/api/users', { name: 'x', role: 'viewer' }), 403, 'confirmation_required', /./);
  const url = await begin(ann, on.id, 'confirmation');
  assert.equal(new URL(url).searchParams.get('max_age'), '0');
  assert.equal((await finish(ann, await goes(url))).status, 200);
  assert.equal((await ann.post('/api/users', { name: 'x', role: 'viewer' })).status, 201);

  on.clock.advance(6 * 60);
  const other = await begin(ann, on.id, 'confirmation');
  provider.who = { sub: 'sub-eve', name: 'eve', groups: ['admins'] };
  const query = await browser(provider.identity.ca)(other);
  refused(await finish(ann, query), 401, 'wrong_credentials', /Somebody else/);
  refused(await ann.post('/api/users', { name: 'y', role: 'viewer' }), 403, 'confirmation_required', /./);
  const stranger = await on.client.post(`/api/providers/${on.id}/start`, { for: 'confirmation' });
  refused(stranger, 401, 'unauthenticated', /not signed in by Company/);
});

test('what a lying provider says is refused with the reason, and signs nobody in', async (t) => {
  const provider = await lyingProvider(t);
  const on = await withProvider(t, provider);
  const now = Math.floor(Date.now() / 1000);
  const tried = async (lie: typeof provider.state.lie) => {
    const client = somebody(on);
    const url = await begin(client, on.id);
    provider.state.lie = lie;
    const query = provider.back(url);
    const answer = await finish(client, query);
    provider.state.lie = {};
    return { client, answer };
  };
  const honest = await tried({});
  assert.equal(honest.answer.status, 200, JSON.stringify(honest.answer.body));
  const sure = await tried({ claims: { acr: 'urn:test:two', amr: ['pwd', 'otp'] } });
  assert.equal(sure.answer.status, 200);
  assert.match(
    JSON.stringify((await on.client.get('/api/audit-log')).body),
    /"acr":"urn:test:two","amr":\["pwd","otp"\]/,
  );
  const lies: [string, typeof provider.state.lie, RegExp][] = [
    ['issuer', { claims: { iss: 'https://evil.test' } }, /another issuer/],
    ['audience', { claims: { aud: 'somebody-else' } }, /for another client/],
    ['nonce', { claims: { nonce: 'other' } }, /nonce/],
    ['expired', { claims: { exp: now - 600 } }, /too old/],
    ['from the future', { claims: { iat: now + 3600, nbf: now + 3600 } }, /too old, or the clocks differ/],
    ['alg none', { alg: 'none' }, /signed is not right|cannot be used/],
    ['symmetric', { alg: 'HS256' }, /signed is not right|cannot be used/],
    ['a foreign key', { foreign: true }, /signed is not right/],
    ['no subject', { claims: { sub: undefined } }, /cannot be used/],
    ['no name', { claims: { preferred_username: undefined } }, /does not say preferred_username/],
  ];
  for (const [what, lie, words] of lies) {
    const { client, answer } = await tried(lie);
    assert.ok(answer.status >= 400, what);
    assert.match(`${answer.body.detail} ${answer.body.action}`, words, what);
    assert.equal((await client.get('/api/session')).body.user, null, what);
  }
  // Within the five minutes that clocks may differ it is taken, and keys that have changed are read anew.
  assert.equal((await tried({ claims: { exp: now - 60, iat: now - 120 } })).answer.status, 200);
  provider.rotate('second');
  const rotated = await tried({});
  refused(rotated.answer, 401, 'wrong_credentials', /signed is not right/);
  assert.equal((await tried({})).answer.status, 200, 'the keys are asked for anew');

  const client = somebody(on);
  const query = provider.back(await begin(client, on.id));
  refused(await finish(client, query.replace(/state=[^&]*/, 'state=other')), 401, 'wrong_credentials', /state/);
  refused(await finish(somebody(on), query), 409, 'conflict', /begun no sign-in/);
  const late = somebody(on);
  const url = await begin(late, on.id);
  on.clock.advance(10 * 60 + 1);
  refused(await finish(late, provider.back(url)), 409, 'conflict', /more than ten minutes/);
  const cancelled = somebody(on);
  await begin(cancelled, on.id);
  const state = new URL(await begin(cancelled, on.id)).searchParams.get('state');
  refused(await finish(cancelled, `error=access_denied&state=${state}`), 401, 'wrong_credentials', /not signed you in/);
});

test('a provider that is down or slow is said, and local accounts sign in meanwhile', async (t) => {
  const provider = await openIdProvider(t);
  const on = await withProvider(t, provider);
  let release = () => {};
  provider.onRequest = () =>
    new Promise((resolve) => {
      release = resolve;
    });
  const slow = somebody(on).post(`/api/providers/${on.id}/start`, { for: 'sign-in' });
  const started = performance.now();
  const local = await somebody(on, '192.0.2.12').post('/api/session', { user: 'ada', password: PASSWORD });
  assert.equal(local.status, 200);
  assert.ok(performance.now() - started < 5_000);
  refused(await slow, 503, 'service_unavailable', /cannot be reached.*Local accounts work/s);
  release();
  on.clock.advance(60);
  await provider.stop();
  refused(
    await somebody(on).post(`/api/providers/${on.id}/start`, { for: 'sign-in' }),
    ...([503, 'service_unavailable', /cannot be reached.*Local accounts work/s] as const),
  );
});

test('the page must be one that the provider knows, whatever the request says its host is', async (t) => {
  const provider = await openIdProvider(t);
  const on = await withProvider(t, provider);
  const headers = { host: 'evil.test', origin: 'https://evil.test' };
  const answer = await somebody(on).post(`/api/providers/${on.id}/start`, { for: 'sign-in' }, { headers });
  refused(answer, 409, 'conflict', /does not know this address of the page, https:\/\/evil\.test.*cistern\.test/s);
});

test('the test says what the provider is, step by step, and what is wrong', async (t) => {
  const provider = await openIdProvider(t);
  const lying = await lyingProvider(t);
  const on = await withProvider(t, provider);
  const tried = async (more: object, of: Parameters<typeof settings>[0] = provider) => {
    const answer = await on.client.post('/api/providers/test', { provider: { ...settings(of, more), name: 'Tried' } });
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    assert.ok(!JSON.stringify(answer.body).includes(CLIENT.secret));
    return answer.body as { ok: boolean; steps: { what: string; ok: boolean; found: string; action?: string }[] };
  };

  const good = await tried({});
  assert.equal(good.ok, true, JSON.stringify(good.steps, null, 1));
  assert.match(JSON.stringify(good.steps), /Compare the clocks.*https:\/\/cistern\.test\/sign-in\/callback/);
  const bad = await tried({ ca: lying.identity.ca });
  assert.match(JSON.stringify(bad.steps), /certificate of the provider is not believed/);
  lying.state.lie = { metadata: { issuer: 'https://evil.test' } };
  assert.match(JSON.stringify((await tried({}, lying)).steps), /another issuer/);
  const nothing = await on.client.post('/api/providers', {
    ...settings(provider, { issuer: 'http://plain.test', pages: ['https://a.test/x'], scopes: 'profile' }),
    ...{ name: 'Other', roles: [] },
  });
  assert.deepEqual(nothing.body.errors.map(({ path }: { path: string }) => path).sort(), [
    '/oidc/issuer',
    '/oidc/pages/0',
    '/oidc/scopes',
    '/roles',
  ]);
});
