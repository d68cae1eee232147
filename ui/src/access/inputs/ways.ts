// The ways in for samples, by the names of the inputs.

/** What each is called, and where samples are sent over HTTPS. */
export const ways: Readonly<Record<string, readonly [title: string, where: string | null]>> = {
  statsd: ['statsd', null],
  graphite: ['Graphite', null],
  collectd: ['collectd', null],
  influx_socket: ['InfluxDB lines', null],
  remote_write: ['Prometheus remote write', '/api/v1/write'],
  otlp: ['OpenTelemetry', '/v1/metrics'],
  influx: ['InfluxDB over HTTPS', '/write, /api/v2/write'],
  collectd_http: ['collectd over HTTPS', '/api/v1/collectd'],
  httptrap: ['JSON trap', '/api/v1/trap'],
  import: ['Import', '/api/v1/import'],
};

export const wayTitle = (name: string): string => ways[name]?.[0] ?? name;
