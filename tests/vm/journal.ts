// What a machine has complained about while a test used it: lines of the journal of priority "error" and worse, services
// that ended badly, units that failed, programs that left a core. Other warnings are left out: the kernel writes dozens at
// every boot of a virtual machine.
import type { Machine } from './machine.ts';

interface Entry {
  MESSAGE?: string | number[];
  SYSLOG_IDENTIFIER?: string;
  _SYSTEMD_UNIT?: string;
}

function lineOf(entry: Entry): string {
  const message = Array.isArray(entry.MESSAGE) ? Buffer.from(entry.MESSAGE).toString() : (entry.MESSAGE ?? '');
  return `${entry.SYSLOG_IDENTIFIER ?? entry._SYSTEMD_UNIT ?? '?'}: ${message}`;
}

const lines = (text: string) => text.split('\n').filter((line) => line.trim() !== '');

/** All complaints since a time of the guest, in seconds since the epoch; 0: since its first boot. */
export async function complaints(machine: Machine, since: number): Promise<string[]> {
  const journal = await machine.sh(`journalctl -p err -o json --no-pager -q --since=@${since}`);
  // systemd takes a service that ended badly and was started again for a warning: it is no less a fault.
  const ended = await machine.sh(
    `journalctl -o json --no-pager -q --since=@${since} MESSAGE_ID=d9b373ed55a64feb8242e02dbe79a49c || true`,
  );
  const failed = await machine.sh('systemctl --failed --no-legend --plain');
  const cores = await machine.sh(`coredumpctl list --no-legend --no-pager -q --since=@${since} 2>/dev/null || true`);
  return [
    ...lines(journal).map((line) => lineOf(JSON.parse(line) as Entry)),
    ...lines(ended).map((line) => lineOf(JSON.parse(line) as Entry)),
    ...lines(failed).map((line) => `failed unit: ${line.trim()}`),
    ...lines(cores).map((line) => `core: ${line.trim()}`),
  ];
}
