// The half of Grafana that is a server and in no package of npm, as far as its data source for Prometheus needs it: it checks
// the health, passes resources on to Prometheus' API, and turns the queries of panels into those of the API and the answers into data
// frames. The client's own half is @grafana/prometheus.

const PANELS = /^\/api\/ds\/query/;
const RESOURCES = /^\/api\/datasources\/uid\/[^/]+\/resources\/+(.*)$/;
const HEALTH = /^\/api\/datasources\/uid\/[^/]+\/health$/;

const seconds = (text) => {
  const [, n, unit] = /^([\d.]+)(ms|s|m|h|d)?$/.exec(text) ?? [];
  return Number(n) * { ms: 0.001, s: 1, m: 60, h: 3600, d: 86_400 }[unit ?? 's'];
};

/** What is no number in JSON stands beside a frame's values. */
function numbers(texts) {
  const entities = { NaN: [], Inf: [], NegInf: [] };
  const values = texts.map((text, at) => {
    const kind = { NaN: 'NaN', '+Inf': 'Inf', '-Inf': 'NegInf' }[text];
    if (kind) entities[kind].push(at);
    return kind ? null : Number(text);
  });
  return { values, entities };
}

const field = (name, type, more = {}) => ({ name, type, typeInfo: { frame: type }, ...more });

export class Server {
  /** The paths that were asked for. */
  asked = [];

  constructor(base, scrape = 1) {
    this.base = base;
    this.scrape = scrape; // the data source's "scrape interval", seconds
  }

  async api(method, path, form) {
    const url = new URL(path, `${this.base}/`);
    this.asked.push(`${method} ${url.pathname}`);
    if (method === 'GET') for (const [name, value] of form ?? []) url.searchParams.append(name, value);
    const response = await fetch(url, { method, ...(method === 'POST' && { body: form ?? new URLSearchParams() }) });
    const text = await response.text();
    let data = text;
    try {
      data = JSON.parse(text);
    } catch {
      // an answer that is no JSON is shown as it is
    }
    return { status: response.status, data };
  }

  /** What the browser gets for a request. */
  async answer({ url, method = 'GET', data, params }) {
    const form = new URLSearchParams();
    const entries =
      data instanceof URLSearchParams ? [...data] : Object.entries({ ...params, ...(RESOURCES.test(url) && data) });
    for (const [name, value] of entries) for (const one of [value].flat()) form.append(name, String(one));
    const resource = RESOURCES.exec(url);
    if (resource)
      return this.api(method, resource[1] === 'version-detect' ? 'api/v1/status/buildinfo' : resource[1], form);
    if (HEALTH.test(url)) return this.health();
    if (PANELS.test(url)) return this.panels(data);
    throw new Error(`Grafana's server has no ${method} ${url} here`);
  }

  async health() {
    const asked = await this.api('POST', 'api/v1/query', new URLSearchParams({ query: '1+1', time: '4' }));
    const sum = asked.data?.data?.result?.[1];
    if (asked.status !== 200 || sum !== '2')
      return { status: 400, data: { status: 'ERROR', message: `1+1 is ${sum}: ${asked.status}` } };
    const about = await this.api('GET', 'api/v1/status/buildinfo');
    const application = about.data?.data?.features ? 'Mimir' : 'Prometheus';
    return {
      status: 200,
      data: { status: 'OK', message: 'Successfully queried the Prometheus API.', details: { application } },
    };
  }

  async panels({ queries, from, to }) {
    const results = {};
    for (const query of queries) {
      try {
        results[query.refId] = {
          status: 200,
          frames: await this.frames(query, Number(from) / 1000, Number(to) / 1000),
        };
      } catch (error) {
        results[query.refId] = { status: 400, error: error.message, frames: [] };
      }
    }
    return { status: 200, data: { results } };
  }

  async frames(query, from, to) {
    const step = Math.max(query.interval ? seconds(query.interval) : 0, (query.intervalMs ?? 0) / 1000, 1);
    const expr = query.expr
      .replaceAll(/\$\{?__rate_interval}?/g, `${Math.max(step + this.scrape, 4 * this.scrape)}s`)
      .replaceAll(/\$\{?__interval}?/g, `${step}s`)
      .replaceAll(/\$\{?__range}?/g, `${Math.round(to - from)}s`);
    const frames = [];
    const ask = async (path, form) => {
      const { status, data } = await this.api('POST', `api/v1/${path}`, new URLSearchParams({ query: expr, ...form }));
      if (status !== 200) throw new Error(`${data?.errorType}: ${data?.error}`);
      return data.data;
    };
    if (query.range || !query.instant) {
      // As Grafana does it: the ends are multiples of the step.
      const aligned = { start: Math.floor(from / step) * step, end: Math.floor(to / step) * step, step };
      frames.push(...this.series(query, await ask('query_range', aligned), step));
    }
    if (query.instant) frames.push(...this.series(query, await ask('query', { time: to }), step));
    if (query.exemplar) frames.push(this.exemplars(query, await ask('query_exemplars', { start: from, end: to })));
    return frames;
  }

  series(query, { resultType, result }, step) {
    const meta = {
      type: resultType === 'matrix' ? 'timeseries-multi' : 'numeric-multi',
      typeVersion: [0, 1],
      custom: { resultType },
    };
    const time = field('Time', 'time', { config: { interval: step * 1000 } });
    if (resultType === 'scalar') result = [{ metric: {}, value: result }];
    return result.map(({ metric, values, value, histograms, histogram }) => {
      const cells = histograms ?? (histogram ? [histogram] : undefined);
      if (cells) return this.heatmap(query, metric, cells, step);
      const points = values ?? [value];
      const { values: list, entities } = numbers(points.map(([, text]) => text));
      return {
        schema: {
          refId: query.refId,
          meta,
          fields: [time, field(metric.__name__ ?? 'Value', 'number', { labels: metric })],
        },
        data: { values: [points.map(([at]) => at * 1000), list], entities: [null, entities] },
      };
    });
  }

  /** A native histogram is a cell for each bucket and time. */
  heatmap(query, labels, histograms, step) {
    const columns = [[], [], [], [], []];
    for (const [at, { buckets = [] }] of histograms)
      for (const [layout, low, high, count] of buckets)
        for (const [i, v] of [at * 1000, Number(low), Number(high), Number(count), layout].entries())
          columns[i].push(v);
    const names = ['yMin', 'yMax', 'count', 'yLayout'];
    return {
      schema: {
        refId: query.refId,
        meta: { type: 'heatmap-cells', typeVersion: [0, 0], custom: { resultType: 'matrix' } },
        fields: [
          field('xMax', 'time', { config: { interval: step * 1000 } }),
          ...names.map((name) => field(name, 'number', { labels })),
        ],
      },
      data: { values: columns },
    };
  }

  exemplars(query, list) {
    const points = list.flatMap(({ seriesLabels, exemplars }) =>
      exemplars.map((one) => ({
        at: one.timestamp * 1000,
        value: Number(one.value),
        labels: { ...seriesLabels, ...one.labels },
      })),
    );
    points.sort((a, b) => a.at - b.at);
    const names = [...new Set(points.flatMap(({ labels }) => Object.keys(labels)))].sort();
    return {
      schema: {
        refId: query.refId,
        name: 'exemplar',
        meta: { custom: { resultType: 'exemplar' } },
        fields: [field('Time', 'time'), field('Value', 'number'), ...names.map((name) => field(name, 'string'))],
      },
      data: {
        values: [
          points.map(({ at }) => at),
          points.map(({ value }) => value),
          ...names.map((name) => points.map(({ labels }) => labels[name] ?? '')),
        ],
      },
    };
  }
}
