// A management controller that a test can silence: OpenIPMI's simulator, which QEMU's IPMI device asks over a connection.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { freePort } from '../ports.ts';
import { until } from './until.ts';

export interface Bmc {
  /** QEMU's arguments. */
  readonly devices: readonly string[];
  /** It takes what it is asked, and says nothing. */
  silence(): void;
  /** It goes on, with what it was asked meanwhile. */
  wake(): void;
}

/** ipmi_lan(5), ipmi_sim_cmd(5): one controller with a device id and an event log, behind the VM protocol of QEMU's. */
export async function bmc(t: TestContext, dir: string): Promise<Bmc> {
  const port = await freePort();
  const state = join(dir, 'bmc');
  mkdirSync(state);
  const [lan, commands] = [join(state, 'lan.conf'), join(state, 'commands')];
  writeFileSync(lan, `name "bmc"\nset_working_mc 0x20\n  serial 15 127.0.0.1 ${port} codec VM\n`);
  writeFileSync(
    commands,
    'mc_setbmc 0x20\nmc_add 0x20 0 no-device-sdrs 0x23 9 8 0x9f 0x1291 0xf02\nsel_enable 0x20 1000 0x0a\nmc_enable 0x20\n',
  );
  const simulator = spawn('ipmi_sim', ['-c', lan, '-f', commands, '-s', state, '-n'], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const ended = once(simulator, 'exit');
  const alive = () => simulator.exitCode === null && simulator.signalCode === null;
  t.after(async () => {
    // One that is stopped ends as well.
    if (alive()) simulator.kill('SIGKILL');
    await ended;
  });
  // Not by a connection of our own: it sends its capabilities to each, and ends by SIGPIPE when one has gone meanwhile.
  await until('the simulated controller listens', 30, async () => {
    if (!alive()) throw new Error(`ipmi_sim has ended: ${simulator.signalCode ?? `exit ${simulator.exitCode}`}`);
    return listens(port);
  });
  return {
    devices: [
      ...['-chardev', `socket,id=bmc,host=127.0.0.1,port=${port},reconnect=1`],
      ...['-device', 'ipmi-bmc-extern,id=bmc0,chardev=bmc', '-device', 'isa-ipmi-kcs,bmc=bmc0'],
    ],
    silence: () => simulator.kill('SIGSTOP'),
    wake: () => simulator.kill('SIGCONT'),
  };
}

/** proc_net_tcp.txt of the kernel's documentation: addresses and ports in hexadecimal, 0A is LISTEN. */
function listens(port: number): boolean {
  const local = `0100007F:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  return readFileSync('/proc/net/tcp', 'utf8')
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .some((words) => words[1] === local && words[3] === '0A');
}
