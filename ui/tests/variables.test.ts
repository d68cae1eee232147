import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  readChosen,
  substitute,
  titled,
  unknownIn,
  type Variable,
  writeChosen,
} from '../src/analytics/worksheets/variables.ts';

const variables: Variable[] = [
  { name: 'host', label: 'host', several: true },
  { name: 'name', label: '__name__', several: false },
];

test('what is chosen stands in the expression', () => {
  const one = { host: ['web1'] };
  const two = { host: ['web1', 'a.b'] };
  const cases: [string, object, string][] = [
    ['up{host="$host"}', one, 'up{host="web1"}'],
    ['up{host="$host"}', two, 'up{host=~"(?:web1|a\\\\.b)"}'],
    ['up{host="$host"}', {}, 'up{host=~".*"}'],
    ['up{host!="$host"}', two, 'up{host!~"(?:web1|a\\\\.b)"}'],
    ['up{host=~"$host"}', one, 'up{host=~"web1"}'],
    ['up{host=~"\u0024{host}:[0-9]+"}', one, 'up{host=~"web1:[0-9]+"}'],
    ['up{host = "$host", job="x"}', two, 'up{host =~ "(?:web1|a\\\\.b)", job="x"}'],
    ['up{host="$host"}', { host: ['a"b\\c'] }, 'up{host="a\\"b\\\\c"}'],
    [
      'sum by (host) (rate(x_total{host="$host"}[$__rate_interval]))',
      one,
      'sum by (host) (rate(x_total{host="web1"}[60s]))',
    ],
    ['max_over_time(x[\u0024{__interval}])', one, 'max_over_time(x[10s])'],
    ['label_replace(x, "a", "$1", "b", "(.*)$")', one, 'label_replace(x, "a", "$1", "b", "(.*)$")'],
    ['$name > 3', { name: ['load1'] }, 'load1 > 3'],
    ['x{a="$hostess"}', one, 'x{a="$hostess"}'],
    ['x == 3', one, 'x == 3'],
    ['x{a="b', one, 'x{a="b'],
  ];
  for (const [query, chosen, want] of cases)
    assert.equal(substitute(query, variables, chosen as never, 10), want, query);
  assert.equal(substitute('rate(x[$__rate_interval])', [], {}, 120), 'rate(x[135s])');
});

test('a name that is no variable is found; the end of a regular expression is none', () => {
  assert.deepEqual(unknownIn('x{a="$hots", b=~"y$", c="$1"} + $host * $__interval', variables), ['hots']);
});

test('the address holds what is chosen', () => {
  const chosen = { host: ['web1', 'a&b'], name: ['load1'], site: [] };
  const query = new URLSearchParams('range=60');
  writeChosen(query, chosen);
  assert.deepEqual(readChosen(new URLSearchParams(query.toString())), chosen);
  assert.equal(titled('Load of $host', variables, chosen), 'Load of web1, a&b');
  assert.equal(titled('Load of $host, $other', variables, {}), 'Load of every host, $other');
});
