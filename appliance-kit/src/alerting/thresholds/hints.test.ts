import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { type TestContext, test } from 'node:test';
import { silentLog } from '../../base/log.ts';
import type { Limit } from '../../peers/storaged.ts';
import { Hints } from './hints.ts';

function parts(t: TestContext) {
  const state = {
    limits: new Map<string, Limit>(),
    down: false,
    asked: [] as (readonly Limit[])[],
    streams: [] as PassThrough[],
    soon: [] as string[][],
    watched: [] as string[][],
    bell: Promise.withResolvers<void>(),
  };
  const ring = () => {
    state.bell.resolve();
    state.bell = Promise.withResolvers();
  };
  const hints = new Hints({
    rules: {
      limits: () => state.limits,
      evaluateSoon: (ids) => {
        state.soon.push([...ids]);
        ring();
      },
      watched: (ids) => {
        state.watched.push([...ids]);
      },
    },
    storaged: {
      watch: async (limits) => {
        state.asked.push(limits);
        ring();
        if (state.down) throw new Error('down');
        const stream = new PassThrough();
        stream.on('close', ring);
        state.streams.push(stream);
        return stream;
      },
    },
    log: silentLog,
    settleMs: 1,
  });
  t.after(() => hints.stop());
  const until = async (reached: () => boolean) => {
    while (!reached()) await state.bell.promise;
  };
  return { state, hints, until };
}

test('rules that the store names are evaluated soon, under the ids that they have', async (t) => {
  const { state, hints, until } = parts(t);
  state.limits.set('a', { query: 'x', above: 1 }).set('b', { query: 'y', below: 2 });
  hints.start();
  await until(() => state.streams.length === 1);
  assert.deepEqual(state.asked, [[...state.limits.values()]]);
  state.streams[0]?.write('{"leftOut":[0]}\n{"crossed":[1,');
  state.streams[0]?.write('0,7]}\n{}\n');
  await until(() => state.soon.length > 0);
  assert.deepEqual(state.soon, [['b', 'a']]);
  assert.deepEqual(state.watched, [['b']], 'the store left one out');
});

test('rules that change are watched anew, before the others are not any more', async (t) => {
  const { state, hints, until } = parts(t);
  state.limits.set('a', { query: 'x', above: 1 });
  hints.start();
  await until(() => state.streams.length === 1);
  state.limits = new Map([['b', { query: 'y', below: 2 }]]);
  hints.changed();
  await until(() => state.streams.length === 2 && state.streams[0]?.destroyed === true);
  state.streams[1]?.write('{"crossed":[0]}\n');
  await until(() => state.soon.length > 0);
  assert.deepEqual(state.soon, [['b']]);
  state.limits = new Map();
  hints.changed();
  await until(() => state.streams[1]?.destroyed === true);
  assert.equal(state.asked.length, 2);
});

test('a store that is down, or ends, is tried again', async (t) => {
  const { state, hints, until } = parts(t);
  state.limits.set('a', { query: 'x', above: 1 });
  state.down = true;
  hints.start();
  await until(() => state.asked.length >= 2);
  state.down = false;
  await until(() => state.streams.length === 1);
  state.streams[0]?.end('{"cross');
  await until(() => state.streams.length === 2);
  assert.deepEqual(state.watched.at(-1), [], 'nobody watches a store that has ended');
  hints.stop();
  assert.ok(state.streams[1]?.destroyed);
  assert.deepEqual(state.soon, []);
});
