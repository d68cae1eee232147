import assert from 'node:assert/strict';
import { test } from 'node:test';
import { doorsOf } from './doors.ts';

const limits = {
  seriesPerSecond: 0,
  seriesBurst: 0,
  senderSeriesPerSecond: 0,
  senderSeriesBurst: 0,
  senderSamplesPerSecond: 0,
};
const input = (networks: string[], ...listens: string[]) => ({
  ...limits,
  ...{ enabled: true, networks, listens, newSeries: 0, refused: {}, senders: [] },
});

test('doors are what listens beyond this machine, with the networks that may send', () => {
  const own = ['127.0.0.0/8', '192.0.2.0/24'];
  const inputs = {
    graphite: input([], '[::]:2003', '[::]:2004'),
    collectd: input(['own', '198.51.100.7/32'], '[::]:25000'),
    statsd: input(['own'], '127.0.0.1:8125'),
    otlp: input(['203.0.113.0/24'], '[::]:4317'),
    influx_socket: { ...input([], '[::]:8089', '[::]:8090'), tlsListens: '[::]:8090' },
    import: input([]),
  };
  assert.deepEqual(doorsOf({ revision: '', own, inputs }), [
    { name: 'graphite', protocol: 'tcp', port: 2003, networks: [] },
    { name: 'graphite', protocol: 'udp', port: 2003, networks: [] },
    { name: 'graphite', protocol: 'tcp', port: 2004, networks: [] },
    { name: 'collectd', protocol: 'udp', port: 25000, networks: ['own', '198.51.100.7/32'] },
    { name: 'otlp', protocol: 'tcp', port: 4317, networks: ['203.0.113.0/24'] },
    { name: 'influx_socket', protocol: 'tcp', port: 8089, networks: [] },
    { name: 'influx_socket', protocol: 'udp', port: 8089, networks: [] },
    { name: 'influx_socket', protocol: 'tcp', port: 8090, networks: [] },
  ]);
});
