import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answerIfChanged, forgetAnswers, type KnownAnswer } from '../src/api/unchanged.ts';

test('an answer is named by its tag, used again while it is the same, and forgotten with the user', async () => {
  const asked: KnownAnswer[] = [];
  let tag = 'W/"a"';
  const ask = async (header: KnownAnswer) => {
    asked.push(header);
    const same = header['If-None-Match'] === tag;
    const response = new Response(null, { status: same ? 304 : 200, headers: { etag: tag } });
    return same ? { response } : { data: tag, response };
  };
  assert.equal(await answerIfChanged('one', ask), 'W/"a"');
  assert.equal(await answerIfChanged('one', ask), 'W/"a"');
  tag = 'W/"b"';
  assert.equal(await answerIfChanged('one', ask), 'W/"b"');
  await answerIfChanged('two', ask);
  forgetAnswers();
  await answerIfChanged('one', ask);
  assert.deepEqual(asked, [{}, { 'If-None-Match': 'W/"a"' }, { 'If-None-Match': 'W/"a"' }, {}, {}]);
  const refused = async () => ({ response: new Response(null, { status: 503 }) });
  await assert.rejects(answerIfChanged('one', refused), /503/);
});
