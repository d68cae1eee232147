// `./build.sh dev [--ready] [--built]`: the product on this machine, for working on it. Pages come from source and change
// as they are edited; akd starts again when its sources change. --ready: set-up is done already. --built: the pages as
// the appliance has them.
import process from 'node:process';
import { parseArgs } from 'node:util';
import { administrator, setUp } from './api.ts';
import { Stack } from './stack.ts';

const { values } = parseArgs({
  options: { ready: { type: 'boolean', default: false }, built: { type: 'boolean', default: false } },
});
const colours = ['36', '33', '35', '32', '34'];
const known: string[] = [];
const started = Date.now();

const stack = new Stack({
  ui: values.built ? 'built' : 'vite',
  httpsPort: Number(process.env.CISTERN_HTTPS_PORT ?? 8443),
  statsdPort: Number(process.env.CISTERN_STATSD_PORT ?? 8125),
  watch: true,
  tracerd: { historySeconds: 900, startMs: 3_000 },
  progress: (line) => console.log(`${((Date.now() - started) / 1000).toFixed(1).padStart(6)} s  ${line}`),
  log: (name, line) => {
    if (!known.includes(name)) known.push(name);
    process.stderr.write(`\x1b[${colours[known.indexOf(name) % colours.length]}m${name.padEnd(8)}\x1b[0m ${line}\n`);
  },
});

let stopping = false;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    if (stopping) process.exit(1);
    stopping = true;
    void stack.stop().then(() => process.exit(0));
  });
}

try {
  await stack.start();
  if (values.ready) {
    console.log('setting it up');
    await setUp(stack);
  }
  const seconds = ((Date.now() - started) / 1000).toFixed(1);
  console.log(`
  Cistern runs (after ${seconds} s); Ctrl-C stops it.

    pages        ${stack.url}   (the certificate is its own: accept it)
    set-up code  ${values.ready ? `not needed; sign in as ${administrator.name} / ${administrator.password}` : stack.setupCode}
    statsd       127.0.0.1:${stack.statsdPort}, for instance: echo 'shop.checkout:12|ms' >/dev/udp/127.0.0.1/${stack.statsdPort}
    state, logs  ${stack.dir}
`);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  await stack.stop();
  process.exit(1);
}
