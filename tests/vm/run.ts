// ./build.sh run: boots the built image with four data disks and says where its page is. The machine and its disks
// last in out/run/ until `./build.sh run --fresh`. Ctrl-C switches it off.
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Machine, usual } from './machine.ts';
import { until } from './until.ts';

const dir = resolve('out/run');
const image = join(resolve('out/image'), readdirSync('out/image').find((name) => name.endsWith('.qcow2')) ?? '');
if (process.argv.includes('--fresh')) rmSync(dir, { recursive: true, force: true });
const known = existsSync(join(dir, 'system.qcow2'));
if (known) console.log(`Using the machine in ${dir}; --fresh makes a new one.`);
const hardware = { ...usual, processors: 2 };
const machine = known ? Machine.open(dir, hardware) : await Machine.create(dir, image, { hardware });
await machine.start();
console.log(
  `Booting ${machine.accelerated ? 'with hardware virtualisation' : 'under emulation (about a minute)'}; console: ${join(dir, 'console.log')}`,
);
const code = await until('the console shows the page', 300, () =>
  /Certificate {2}SHA-256 (\S+)\n(?: {2}Set-up code {2}(\S+))?/.exec(machine.console().slice(-4000)),
);
console.log(`
  Web page     ${machine.url}/
  Certificate  SHA-256 ${code[1]}
  Set-up code  ${code[2] ?? '(set-up is finished: sign in)'}
  statsd       127.0.0.1:${machine.ports.statsd} (UDP and TCP)
  ssh          ssh -i ${join(dir, 'key')} -p ${machine.ports.ssh} root@127.0.0.1
`);
process.on('SIGINT', async () => {
  console.log('switching off');
  await machine.qmp('system_powerdown').catch(() => {});
  await until('the machine is off', 60, () => !machine.running).catch(() => machine.kill());
  process.exit(0);
});
