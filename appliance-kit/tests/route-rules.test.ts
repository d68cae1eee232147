import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allRoutes } from '../src/appliance.ts';
import { closed, list, Type } from '../src/base/schema/schema.ts';
import { byId, byName, created, nothing, ok, type Route, type Routes } from '../src/http/routes.ts';
import { brokenRules, FOREIGN, NO_LIST, SINGULAR, VERBS } from './route-rules.ts';

test('every route keeps the rules of docs/api/rules.md', () => {
  assert.deepEqual(brokenRules(allRoutes), []);
});

test('every exception is one of a route that there is', () => {
  const paths = allRoutes.flatMap((routes) => Object.values(routes)).map(({ path }) => path);
  for (const name of Object.keys(SINGULAR))
    assert.ok(
      paths.some((path) => path.split('/')[2] === name),
      name,
    );
  for (const path of [NO_LIST, FOREIGN].flatMap(Object.keys)) assert.ok(paths.includes(path), path);
  const words = new Set(paths.flatMap((path) => path.split('/').map((part) => part.split('-', 1)[0])));
  for (const verb of VERBS) assert.ok(words.has(verb), `the verb ${verb}`);
});

const viewer = { access: 'viewer', summary: 'Made up' } as const;
const thing = closed({ name: Type.String() });
const get = (path: string, more: Partial<Route> = {}): Route => ({
  ...viewer,
  method: 'GET',
  path,
  answer: ok(thing),
  ...more,
});
const post = (path: string, more: Partial<Route> = {}): Route => ({
  ...viewer,
  method: 'POST',
  path,
  answer: nothing,
  ...more,
});
const things: Route = get('/api/things', { answer: ok(list(thing)) });

const bad: readonly [string, Routes, RegExp][] = [
  ['a singular collection', { a: get('/api/thing') }, /neither a plural/],
  ['another way of writing', { a: get('/api/bigThings', { answer: ok(list(thing)) }) }, /kebab-case/],
  ['a noun as an action', { a: post('/api/things/:id/acknowledgement', { params: byId }) }, /nor ends in a verb/],
  ['an action by GET', { a: get('/api/things/:id/restart', { params: byId }) }, /is an action/],
  [
    'a DELETE of a verb',
    { a: { ...post('/api/things/:id/acknowledge'), method: 'DELETE', params: byId } },
    /undoing is a verb/,
  ],
  [
    'a PUT of a collection',
    { a: { ...post('/api/things', { answer: ok(thing) }), method: 'PUT' } },
    /replaces a collection/,
  ],
  ['a preview by POST', { a: post('/api/things/:id/destroy-preview', { params: byId }) }, /it is a GET/],
  [
    'a word where a name stands',
    {
      a: get('/api/things/:name', { params: byName }),
      b: get('/api/things/system/parts', { answer: ok(list(thing)) }),
    },
    /stands where/,
  ],
  [
    'a word beside an id',
    { a: get('/api/things/:id', { params: byId }), b: get('/api/things/advice') },
    /stands where/,
  ],
  [
    'two names of one place',
    { a: get('/api/things/:id', { params: byId }), b: post('/api/things/:name/restart', { params: byName }) },
    /call the same place/,
  ],
  ['a request that fits two', { a: post('/api/things/:id/restart'), b: post('/api/things/system/restart') }, /can fit/],
  [
    'a list of another shape',
    { a: get('/api/things', { answer: ok(closed({ things: Type.Array(thing) })) }) },
    /does not answer items/,
  ],
  [
    'an offset without a total',
    {
      a: { ...things, query: closed({ offset: Type.Optional(Type.Integer()), limit: Type.Optional(Type.Integer()) }) },
    },
    /does not answer the total/,
  ],
  [
    'before without a limit',
    { a: { ...things, query: closed({ before: Type.Optional(Type.String()) }) } },
    /before and no limit/,
  ],
  [
    'a text called text',
    { a: { ...things, query: closed({ text: Type.Optional(Type.String()) }) } },
    /instead of search/,
  ],
  ['a name without a unit', { a: post('/api/things', { body: closed({ timeout: Type.Integer() }) }) }, /has no unit/],
  ['snake_case', { a: get('/api/things', { answer: ok(list(closed({ created_at: Type.String() }))) }) }, /camelCase/],
  [
    '201 for an action',
    { a: post('/api/things/:id/restart', { params: byId, answer: created(thing) }) },
    /answers 201/,
  ],
  [
    '202 for a reading',
    { a: get('/api/things/:id', { params: byId, answer: { status: 202, schema: thing } }) },
    /answers 202/,
  ],
  [
    'an edit that can be lost',
    {
      a: get('/api/things/:id', { params: byId }),
      b: { ...post('/api/things/:id', { params: byId, answer: ok(thing) }), method: 'PUT' },
    },
    /edits can be lost/,
  ],
];

for (const [what, routes, sentence] of bad) {
  test(`refused: ${what}`, () => {
    assert.match(brokenRules([routes]).join('\n'), sentence);
  });
}

test('refused: an operation id of two domains', () => {
  assert.match(
    brokenRules([{ getThing: things }, { getThing: things }]).join('\n'),
    /two routes have this operation id/,
  );
});

test('a route as it should be breaks nothing', () => {
  const good: Routes = {
    listThings: { ...things, query: closed({ search: Type.Optional(Type.String()) }) },
    createThing: post('/api/things', { body: thing, answer: created(thing) }),
    getThing: get('/api/things/:id', { params: byId, editable: thing }),
    updateThing: { ...post('/api/things/:id', { params: byId, body: thing, answer: ok(thing) }), method: 'PUT' },
    previewThing: post('/api/things/preview', { body: thing, answer: ok(thing) }),
    restartThing: post('/api/things/:id/restart', { params: byId }),
    previewDestroyThing: get('/api/things/:id/destroy-preview', { params: byId }),
  };
  assert.deepEqual(brokenRules([good]), []);
});
