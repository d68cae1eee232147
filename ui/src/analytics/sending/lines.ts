// What is pasted into clients so that they send here. tests/browser/input-settings.test.ts sends by the lines for statsd and of
// curl; Prometheus', Telegraf's and collectd's are the manual's. Telegraf's outputs and the Collector's exporter are run by night, without
// TLS (tests/conformance/telegraf_test.go, collector_test.go). Those of Fluent Bit and Vector were not run: their
// options are named as in excerpts of documentation that were read on 24 November 2026 (Fluent Bit 4.2, Vector's sink
// prometheus_remote_write). Of those by TLS OpenSSL's is run by tests/browser/certificates.test.ts; Telegraf's options are those of
// its documentation, Vector's of its sources (src/sinks/statsd, src/sinks/util/service/net/tcp.rs), and neither was run.

export interface Place {
  /** Of the page: what a sender reaches the appliance by. */
  readonly host: string;
  /** Of HTTPS, with its port where that is not the usual one. */
  readonly origin: string;
  readonly statsd: number;
  readonly graphite: number;
  /** Of the ports for TLS. */
  readonly statsdTls: number;
  readonly graphiteTls: number;
  readonly influxTls: number;
}

export interface Client {
  readonly name: string;
  /** The input that has to be on. */
  readonly input: string;
  /** Where it is pasted. */
  readonly into: string;
  /** It sends to the input's port for TLS, with the certificate of it beside. */
  readonly tls?: true;
  readonly text: (at: Place) => string;
}

/** Stands for an API token of the role writer. */
export const TOKEN = 'TOKEN';

export const clients: readonly Client[] = [
  {
    name: 'statsd, from a shell',
    input: 'statsd',
    into: 'bash',
    text: ({ host, statsd }) => `echo 'shop.checkout:12|ms|#shop:berlin' >/dev/udp/${host}/${statsd}`,
  },
  {
    name: 'Graphite, from a shell',
    input: 'graphite',
    into: 'bash',
    text: ({ host, graphite }) => `echo "room.temperature 21.5 $(date +%s)" >/dev/tcp/${host}/${graphite}`,
  },
  {
    name: 'Graphite by TLS, from a shell',
    input: 'graphite',
    into: 'bash, where cistern.pem is',
    tls: true,
    text: ({ host, graphiteTls }) =>
      `echo "room.temperature 21.5 $(date +%s)" | openssl s_client -quiet -no_ign_eof -verify_return_error -verify_hostname ${host} -CAfile cistern.pem -connect ${host}:${graphiteTls}`,
  },
  {
    name: 'Telegraf, line protocol by TLS',
    input: 'influx_socket',
    into: 'telegraf.conf',
    tls: true,
    text: ({ host, influxTls }) =>
      `[[outputs.socket_writer]]\n  address = "tcp://${host}:${influxTls}"\n  tls_ca = "/etc/telegraf/cistern.pem"\n  data_format = "influx"`,
  },
  {
    name: 'Telegraf, Graphite by TLS',
    input: 'graphite',
    into: 'telegraf.conf',
    tls: true,
    text: ({ host, graphiteTls }) =>
      `[[outputs.graphite]]\n  servers = ["${host}:${graphiteTls}"]\n  template = "host.tags.measurement.field"\n  tls_ca = "/etc/telegraf/cistern.pem"`,
  },
  {
    name: 'Vector, statsd by TLS',
    input: 'statsd',
    into: 'vector.yaml',
    tls: true,
    text: ({ host, statsdTls }) =>
      `sources:\n  host:\n    type: host_metrics\nsinks:\n  cistern:\n    type: statsd\n    inputs: [host]\n    mode: tcp\n    address: ${host}:${statsdTls}\n    tls:\n      enabled: true\n      ca_file: /etc/vector/cistern.pem`,
  },
  {
    name: 'Line protocol, by curl',
    input: 'influx',
    into: 'a shell',
    text: ({ origin }) =>
      `curl -H 'Authorization: Token ${TOKEN}' --data-binary 'disk,host=web1 used=12.5,free=7i' '${origin}/api/v2/write?precision=s'`,
  },
  {
    name: 'Prometheus',
    input: 'remote_write',
    into: 'prometheus.yml',
    text: ({ origin }) =>
      `remote_write:\n  - url: ${origin}/api/v1/write\n    authorization: { credentials: ${TOKEN} }`,
  },
  {
    name: 'node_exporter, by Prometheus as an agent',
    input: 'remote_write',
    into: 'prometheus.yml, with prometheus --agent',
    text: ({ origin }) =>
      `scrape_configs:\n  - job_name: node\n    static_configs:\n      - targets: ['localhost:9100']\nremote_write:\n  - url: ${origin}/api/v1/write\n    authorization: { credentials: ${TOKEN} }`,
  },
  {
    name: 'Telegraf',
    input: 'influx',
    into: 'telegraf.conf',
    text: ({ origin }) =>
      `[[outputs.influxdb_v2]]\n  urls = ["${origin}"]\n  token = "${TOKEN}"\n  organization = "any"\n  bucket = "telegraf"   # becomes the label db`,
  },
  {
    name: 'collectd',
    input: 'collectd_http',
    into: 'collectd.conf',
    text: ({ origin }) =>
      `LoadPlugin write_http\n<Plugin write_http>\n  <Node "cistern">\n    URL "${origin}/api/v1/collectd"\n    User "any"\n    Password "${TOKEN}"\n    Format "JSON"\n    StoreRates false\n  </Node>\n</Plugin>`,
  },
  {
    name: 'OpenTelemetry Collector',
    input: 'otlp',
    into: 'its configuration, beside the receivers',
    text: ({ origin }) =>
      `exporters:\n  otlphttp/cistern:\n    endpoint: ${origin}\n    headers:\n      Authorization: Bearer ${TOKEN}\nservice:\n  pipelines:\n    metrics:\n      receivers: [otlp]\n      exporters: [otlphttp/cistern]`,
  },
  {
    name: 'Vector',
    input: 'remote_write',
    into: 'vector.yaml',
    text: ({ origin }) =>
      `sources:\n  host:\n    type: host_metrics\nsinks:\n  cistern:\n    type: prometheus_remote_write\n    inputs: [host]\n    endpoint: ${origin}/api/v1/write\n    auth:\n      strategy: bearer\n      token: ${TOKEN}`,
  },
  {
    name: 'Fluent Bit',
    input: 'remote_write',
    into: 'fluent-bit.conf',
    text: ({ origin }) => {
      const { hostname, port } = new URL(origin);
      return `[INPUT]\n    name node_exporter_metrics\n    tag  node\n[OUTPUT]\n    name   prometheus_remote_write\n    match  node\n    host   ${hostname}\n    port   ${port || 443}\n    uri    /api/v1/write\n    tls    on\n    header Authorization Bearer ${TOKEN}`;
    },
  },
];
