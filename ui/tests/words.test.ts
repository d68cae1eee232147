import assert from 'node:assert/strict';
import { test } from 'node:test';
import { safePath } from '../src/access/session/safePath.ts';
import { ruleSentence, wordsAmong } from '../src/alerting/alerts/words.ts';
import {
  draftOfDestination,
  inputOfDestination,
  newDestination,
  recipients,
} from '../src/alerting/destinations/destination.ts';
import { asProblem, Failure, fieldMessage, problemIn } from '../src/api/problem.ts';
import { seriesInFull } from '../src/charts/seriesName.ts';
import { navigation, places } from '../src/frame/places.ts';

const rule = {
  name: 'Egress',
  expression: 'egress_ratio',
  direction: 'above' as const,
  raise: 0.8,
  clear: 0.6,
  raiseForSeconds: 300,
  clearForSeconds: 0,
  repostSeconds: 0,
  severity: 'warning' as const,
  enabled: true,
  destinations: [],
};

test('a rule reads as the sentence it is', () => {
  assert.equal(
    ruleSentence(rule, 'ratio'),
    'When egress_ratio stays above 80 % for 5 minutes, raise a warning; clear it when it goes below 60 %.',
  );
  assert.equal(
    ruleSentence(
      {
        ...rule,
        expression: 'rate(disk_bytes_total[1m])',
        direction: 'below',
        raise: 1024,
        clear: 2048,
        severity: 'critical',
      },
      'bytes/s',
    ),
    'When rate(disk_bytes_total[1m]) stays below 1 KiB/s for 5 minutes, raise a critical alert; clear it when it goes above 2 KiB/s.',
  );
  assert.equal(
    ruleSentence({ ...rule, direction: 'outside', raise: 1.1, clear: 1, raiseBelow: 0.8, clearBelow: 0.9 }, 'ratio'),
    'When egress_ratio stays outside 80 % to 110 % for 5 minutes, raise a warning; clear it when it is between 90 % and 100 %.',
  );
});

test('a secret that was not typed is not sent, so that the stored one stays', () => {
  const draft = {
    ...newDestination('email'),
    host: 'mail.example.com',
    from: 'a@example.com',
    to: 'b@example.com; c@example.com',
  };
  const input = inputOfDestination(draft);
  assert.deepEqual(input.email?.to, ['b@example.com', 'c@example.com']);
  assert.equal(input.email?.port, 587);
  assert.ok(input.email && !('password' in input.email));
  assert.equal(inputOfDestination({ ...draft, password: 'x' }).email?.password, 'x');
  assert.equal(input.name, 'Email to b@example.com');
  assert.deepEqual(recipients(' a@x ,, b@y\n'), ['a@x', 'b@y']);
});

test('what is stored comes back into the form, and out of it unchanged', () => {
  const stored = {
    id: 'd1',
    name: 'NMS',
    kind: 'snmp' as const,
    enabled: true,
    snmp: {
      host: 'nms',
      port: 162,
      version: '2c' as const,
      inform: true,
      engineId: '80001f8804',
      communitySet: true,
      authPasswordSet: false,
      privPasswordSet: false,
    },
    health: { state: 'ok' as const, lastSuccessAt: null, lastError: null, waiting: 0 },
  };
  assert.deepEqual(inputOfDestination(draftOfDestination(stored)), {
    name: 'NMS',
    kind: 'snmp',
    enabled: true,
    snmp: { host: 'nms', port: 162, version: '2c', inform: true },
  });
});

test('whatever went wrong is words', () => {
  assert.equal(asProblem(new TypeError('Failed to fetch')).code, 'unreachable');
  assert.equal(asProblem(new Error('odd')).detail, 'odd');
  const ours = {
    type: 'about:blank',
    title: 'No',
    status: 409,
    code: 'pool_exists',
    detail: 'There is one.',
    errors: [{ path: '/name', message: 'is taken' }],
  };
  assert.equal(asProblem(new Failure(problemIn(409, ours))).code, 'pool_exists');
  assert.equal(fieldMessage(problemIn(409, ours), '/name'), 'Is taken');
  assert.equal(fieldMessage(problemIn(409, ours), '/disks'), undefined);
  assert.equal(problemIn(400, { status: 'error', errorType: 'bad_data', error: 'parse error' }).detail, 'parse error');
  assert.equal(problemIn(502, '<html>').code, 'service_unavailable');
});

test('signing in leads to a page of the appliance and nowhere else', () => {
  assert.equal(safePath('/alerts?x=1'), '/alerts?x=1');
  for (const other of [
    null,
    '',
    'https://elsewhere.example',
    '//elsewhere.example',
    '/\\elsewhere.example',
    'javascript:alert(1)',
  ]) {
    assert.equal(safePath(other), '/');
  }
});

test('each page has a letter of its own after g, and every place an address of its own', () => {
  assert.equal(new Set(navigation.map(({ key }) => key)).size, navigation.length);
  assert.equal(new Set(places.map(({ path }) => path)).size, places.length);
});

test('series are told apart by their names where these differ', () => {
  const [one, other] = [
    { __name__: 'gauge_1', host: 'h6' },
    { __name__: 'gauge.2', host: 'h6' },
  ];
  assert.equal(wordsAmong([{ labels: one }])(one), 'host=h6');
  const words = wordsAmong([{ labels: one }, { labels: other }]);
  assert.deepEqual([words(one), words(other)], ['gauge_1{host="h6"}', '{"gauge.2", host="h6"}']);
  assert.equal(seriesInFull({ __name__: 'gauge_1' }), 'gauge_1');
});
