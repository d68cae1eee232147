// node client.mjs URL NOW: Grafana's own client of Prometheus asks the Prometheus API at URL what Grafana asks when a data source is
// saved, a dashboard is opened and a query is built. grafana_client_test.go has stored what is asked for; NOW is its latest time.
import './browser.mjs';
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import process from 'node:process';
import { Server } from './server.mjs';

const require = createRequire(import.meta.url);
const { from, lastValueFrom } = require('rxjs');
const { valid } = require('semver');
const { dateTime } = require('@grafana/data');
const { setBackendSrv, setTemplateSrv } = require('@grafana/runtime');
const { PrometheusDatasource } = require('@grafana/prometheus');

const [, , base, now] = process.argv;
const end = Number(now) * 1000;
const server = new Server(base);

// The application around a data source: it sends requests to its server, and fills in variables.
setBackendSrv({
  fetch: (request) =>
    from(
      server.answer(request).then((answer) => {
        if (answer.status >= 400) throw { ...answer, config: request, isHandled: false };
        return { ...answer, ok: true, config: request };
      }),
    ),
});
setTemplateSrv({
  replace: (text, variables = {}) =>
    text?.replaceAll(/\$\{?(\w+)}?/g, (whole, name) => String(variables[name]?.value ?? whole)),
  getVariables: () => [],
  containsTemplate: () => false,
  updateTimeRange: () => {},
});

const datasource = (more = {}) =>
  new PrometheusDatasource({
    ...{ id: 1, uid: 'cistern', name: 'Cistern', type: 'prometheus', access: 'proxy', readOnly: false },
    ...{ url: '/api/datasources/proxy/uid/cistern', meta: { id: 'prometheus', info: { version: '' } } },
    jsonData: {
      ...{ httpMethod: 'POST', timeInterval: '1s', prometheusType: 'Prometheus', prometheusVersion: '3.0.0' },
      exemplarTraceIdDestinations: [{ name: 'trace_id', url: 'http://traces.invalid/' }],
      ...more,
    },
  });
const range = (seconds, until = end) => {
  const [first, last] = [dateTime(until - seconds * 1000), dateTime(until)];
  return { from: first, to: last, raw: { from: first, to: last } };
};
const hour = range(3600, end + 60_000);

/** What a panel with these queries gets. */
const panel = (source, targets, span = range(50), more = {}) =>
  lastValueFrom(
    source.query({
      ...{ app: 'dashboard', requestId: 'Q1', panelId: 1, timezone: 'utc', scopedVars: {}, startTime: Date.now() },
      ...{ interval: '1s', intervalMs: 1000, maxDataPoints: 1000, range: span, rangeRaw: span.raw },
      targets: targets.map((target, at) => ({ refId: 'ABCDEF'[at], range: true, instant: false, ...target })),
      ...more,
    }),
  );
const frames = async (...about) => {
  const { data, error, errors } = await panel(...about);
  assert.equal(error ?? errors?.[0], undefined);
  return data;
};
const column = (frame, name) => [...(frame.fields.find((one) => one.name === name)?.values ?? [])];
const texts = (list) => list.map(({ text }) => text);

const source = datasource();
const checks = {
  async 'Save & test'() {
    assert.deepEqual(await source.testDatasource(), {
      status: 'success',
      message: 'Successfully queried the Prometheus API.',
    });
  },
  async 'the version is found'() {
    const { data } = await server.answer({ url: '/api/datasources/uid/cistern/resources/version-detect' });
    assert.ok(valid(data.data.version), data.data.version);
  },
  async 'there are exemplars, and no rules without an alert manager'() {
    await source.init();
    assert.equal(source.exemplarsAvailable, true);
    assert.deepEqual(source.ruleMappings, {});
  },
  async 'what there is: names, labels, types'() {
    await source.languageProvider.start(hour);
    const metrics = source.languageProvider.retrieveMetrics();
    for (const name of ['shop_requests_total', 'shop_time_bucket', 'orders.placed', 'checkout.size', 'target_info'])
      assert.ok(metrics.includes(name), `${name} in ${metrics}`);
    assert.deepEqual(source.languageProvider.retrieveHistogramMetrics(), ['shop_time_bucket']);
    assert.ok(source.languageProvider.retrieveLabelKeys().includes('host'));
    const about = source.languageProvider.retrieveMetricsMetadata();
    assert.equal(about['orders.placed'].type, 'counter');
    assert.equal(about['checkout.size'].type, 'histogram');
  },
  async 'labels of a metric, by both of its ways'() {
    for (const one of [source, datasource({ seriesEndpoint: true })]) {
      const keys = await one.languageProvider.queryLabelKeys(hour, 'shop_requests_total');
      assert.deepEqual(
        keys.filter((key) => key !== '__name__'),
        ['host'],
      );
      assert.deepEqual(await one.languageProvider.queryLabelValues(hour, 'host', 'shop_requests_total'), ['a', 'b']);
    }
  },
  async 'a label with dots'() {
    assert.deepEqual(await source.languageProvider.queryLabelValues(hour, 'telemetry.sdk.name'), ['opentelemetry']);
  },
  async variables() {
    const find = async (query) => texts(await source.metricFindQuery(query, { range: hour }));
    assert.ok((await find('label_names()')).includes('host'));
    assert.deepEqual(await find('label_names(shop_requests)'), ['host']);
    assert.deepEqual(await find('label_values(shop_requests_total, host)'), ['a', 'b']);
    assert.deepEqual(await find('label_values(shop_requests_total{host=~"b|c"}, host)'), ['b']);
    assert.deepEqual(await find('metrics(shop_req.*)'), ['shop_requests_total']);
    assert.match((await find('query_result(sum(max_over_time(shop_requests_total[5m])))'))[0], /^\{\} 1180 /);
    assert.deepEqual(
      (await find('shop_requests_total{host="a"}')).map((text) => text.replace(/ .*/, '')),
      ['shop_requests_total{host="a"}'],
    );
  },
  async 'ad hoc filters'() {
    const filters = [{ key: 'host', operator: '=', value: 'b' }];
    const keys = await source.getTagKeys({ filters, timeRange: hour });
    assert.ok(
      keys.every(({ text }) => text !== 'host'),
      JSON.stringify(keys),
    );
    assert.deepEqual(texts(await source.getTagValues({ key: 'host', filters: [], timeRange: hour })), ['a', 'b']);
    const [frame, ...rest] = await frames(source, [{ expr: 'shop_requests_total' }], range(50), { filters });
    assert.deepEqual([frame.fields[1].labels.host, rest.length], ['b', 0]);
  },
  async 'a graph'() {
    const data = await frames(source, [
      { expr: 'sum by (host) (rate(shop_requests_total[$__rate_interval]))', legendFormat: '__auto' },
    ]);
    assert.deepEqual(
      data.map((frame) => frame.fields[1].labels),
      [{ host: 'a' }, { host: 'b' }],
    );
    for (const frame of data) {
      assert.equal(frame.length, 51);
      for (const v of frame.fields[1].values) assert.ok(Math.abs(v - 10) < 1e-9, String(v));
      assert.equal(frame.fields[0].values[50], end);
    }
  },
  async 'a table, a stat and what is no number'() {
    const [table] = await frames(source, [
      { expr: 'shop_requests_total', format: 'table', instant: true, range: false },
    ]);
    assert.deepEqual(column(table, 'host').sort(), ['a', 'b']);
    assert.deepEqual(column(table, 'Value'), [590, 590]);
    const odd = await frames(source, [{ expr: '1/0' }, { expr: '-1/0' }, { expr: '0/0' }], range(5));
    assert.deepEqual(
      odd.map((frame) => frame.fields[1].values[0]),
      [Infinity, -Infinity, NaN],
    );
  },
  async 'a graph and a table of one query'() {
    const data = await frames(source, [{ expr: 'sum(shop_requests_total)', instant: true, range: true }], range(50), {
      app: 'explore',
    });
    const kinds = data.map((frame) => frame.meta.preferredVisualisationType).sort();
    assert.deepEqual(kinds, ['graph', 'rawPrometheus']);
  },
  async 'a heatmap of buckets'() {
    const [frame] = await frames(
      source,
      [{ expr: 'shop_time_bucket', format: 'heatmap', legendFormat: '{{le}}' }],
      range(10),
    );
    assert.equal(frame.meta.type, 'heatmap-rows');
    // The client has made buckets of the running totals.
    assert.deepEqual(
      frame.fields.slice(1).map(({ name, values }) => [name, values[values.length - 1]]),
      [
        ['0.1', 10],
        ['1', 20],
        ['+Inf', 10],
      ],
    );
  },
  async 'a heatmap of native histograms'() {
    const [frame] = await frames(
      source,
      [{ expr: '{"checkout.size",job="grafana"}', format: 'heatmap', instant: true, range: false }],
      hour,
    );
    assert.equal(frame.meta.type, 'heatmap-cells');
    const times = column(frame, 'xMax');
    const counts = column(frame, 'count').filter((_, at) => times[at] === times[0]);
    assert.equal(
      counts.reduce((sum, n) => sum + n, 0),
      100,
    );
    assert.ok(column(frame, 'yMin').every((low, at) => low < column(frame, 'yMax')[at]));
  },
  async 'exemplars, which lead to traces'() {
    const data = await frames(source, [{ expr: '{"checkout.time",job="grafana"}', exemplar: true }], hour);
    const found = data.filter((frame) => frame.meta.dataTopic === 'annotations');
    assert.equal(found.length, 1);
    const trace = found[0].fields.find(({ name }) => name === 'trace_id');
    assert.ok(
      trace.values.length > 0 && trace.values.every((id) => /^c1[0-9a-f]{28}57$/.test(id)),
      String(trace.values),
    );
    assert.match(trace.config.links[0].url, /traces/);
  },
  async annotations() {
    const anno = source.annotations.prepareAnnotation({
      expr: 'shop_requests_total{host="a"} > bool 299',
      step: '1s',
      titleFormat: '{{host}}',
    });
    const data = await frames(source, [{ ...anno.target, refId: 'A' }]);
    const events = await lastValueFrom(source.annotations.processEvents(anno, data));
    assert.deepEqual(
      events.map(({ time, timeEnd, title }) => [time, timeEnd, title]),
      [[end - 29_000, end, 'a']],
    );
  },
  async 'the same again a little later, of which only the end is asked for'() {
    const quick = datasource({ incrementalQuerying: true, incrementalQueryOverlapWindow: '5s' });
    const relative = (until) => ({ ...range(40, until), raw: { from: 'now-40s', to: 'now' } });
    const target = [{ expr: 'shop_requests_total{host="a"}' }];
    await frames(quick, target, relative(end - 10_000));
    const [merged] = await frames(quick, target, relative(end));
    const [whole] = await frames(source, target, range(40));
    assert.deepEqual([...merged.fields[1].values], [...whole.fields[1].values]);
  },
  async 'a mistake in the editor'() {
    const { error, errors } = await panel(source, [{ expr: 'sum(' }]);
    assert.match((error ?? errors[0]).message, /bad_data: .*parse error/);
  },
  async 'a hint'() {
    const hints = source.getQueryHints({ refId: 'A', expr: 'shop_requests_total' }, []);
    assert.ok(
      hints.some(({ fix }) => fix.action.type === 'ADD_RATE'),
      JSON.stringify(hints),
    );
  },
  async 'every route was asked'() {
    const asked = new Set(server.asked.map((one) => one.replace(/label\/.*/, 'label')));
    for (const one of [
      'GET rules',
      'GET status/buildinfo',
      'POST query',
      'POST query_range',
      'POST query_exemplars',
      'GET metadata',
      'POST labels',
      'GET label',
      'POST series',
    ])
      assert.ok(asked.has(one.replace(' ', ' /api/v1/')), `${one} in ${[...asked]}`);
  },
};

let failed = 0;
for (const [name, check] of Object.entries(checks)) {
  try {
    await check();
  } catch (error) {
    failed++;
    console.log(`FAILED ${name}: ${error?.stack ?? JSON.stringify(error)}`);
  }
}
console.log(`${Object.keys(checks).length - failed} of ${Object.keys(checks).length} hold`);
process.exit(failed > 0 ? 1 : 0);
