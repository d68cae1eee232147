// The end of every test with a machine: it fails on what the machine or the browser has complained about, unless that is
// allowed for all tests (allowed.ts, ../browser/complaints.ts) or this one has declared that it provokes it.
import { existsSync } from 'node:fs';
import type { TestContext } from 'node:test';
import { allowed } from './allowed.ts';
import { complaints } from './journal.ts';
import type { Machine } from './machine.ts';
import { keepEvidence, type Person } from './person.ts';

export interface Watch {
  /** Complaints that this test provokes, as a test that injects a fault does. */
  expect(...patterns: RegExp[]): void;
  /** From now on the browser's complaints count, too; the browser is closed in the end. */
  add(person: Person): void;
  /** The machine can no longer be asked, and this is why: its complaints until now were looked at. */
  look(): Promise<void>;
}

/** What a test expects that pulls disks, or writes to them past ZFS. */
export const brokenDisks = [
  // The block layer, of a request to a disk that is gone or whose sectors are not what they were.
  /^kernel: (I\/O|critical target|critical medium|device offline) error, dev sd[a-z]+, sector \d+ /,
  /^kernel: Buffer I\/O error on dev sd[a-z]+\d*, logical block \d+, /,
  // The SCSI layer, of the same requests.
  /^kernel: (sd|scsi) [\d:]+:? (\[sd[a-z]+\] )?(rejecting I\/O to (offline|dead) device|Synchronize Cache\(10\) failed)/,
  // The controller reports a disk that was there twice.
  /^kernel: (virtio_scsi \S+ )?SCSI device [\d ]+ not found/,
  // A partition table is read while its disk goes away.
  /^kernel: ldm_validate_partition_table\(\): Disk read failed/,
  /^kernel: Dev sd[a-z]+: unable to read RDB block/,
  // ZFS stops writing to a pool whose disks are all gone.
  /^kernel: WARNING: Pool '\w+' has encountered an uncorrectable I\/O failure and has been suspended/,
  // udev looks at a disk that has gone before it could.
  /^(\(udev-worker\)|systemd-udevd): sd[a-z]+\d*: .*(No such (file|device)|Input\/output error)/,
];
const units = '(cistern-[a-z]+|nginx|snmpd)\\.service';
/** What a test expects that kills services. */
export const killedServices = [
  // systemd notes that a service ended by a signal; one that is restarted, too.
  new RegExp(`^systemd: ${units}: Failed with result '(signal|core-dump)'`),
  // It was stopped after it was killed, and stays failed.
  new RegExp(`^failed unit: ${units} `),
  // The core, as it is taken and as it is kept.
  /^systemd-coredump(@\S*)?: Process \d+ \(.+\) of user \d+ (dumped core|terminated abnormally)/,
  /^core: .* SIG(ABRT|SEGV|KILL) /,
];
/** What a test expects that fills the store’s dataset: what is accepted stays in the journal, or is refused. */
export const fullStore = [
  /^storaged: .*msg="the head could not be written to a block: it stays in the journal" .*(quota|space)/,
  /^storaged: .*msg="the blocks could not be tidied" .*(quota|space)/,
  /^storaged: .*msg="the appliance's own figures are not stored" .*(quota|space)/,
  // It is restarted meanwhile: of the second that it received last nothing can be written.
  /^storaged: .*msg="what statsd received is lost" /,
];
/** What a test expects that fills the system pool: akd’s database and supportd’s records are on it. */
export const fullSystemPool = [
  /^node: .*level=ERROR .*(disk I\/O error|database or disk is full|EDQUOT|ENOSPC)/,
  /^supportd: .*msg="the crash records could not be written" .*(quota|space)/,
];
/** What a test expects whose browser meets an appliance that refuses, restarts or is out of reach. */
export const refusedRequests = [/^browser: error: Failed to load resource: /, /^browser: request failed: /];

/** Looks at the machine when the test ends, and switches it off. `since`: as complaints() takes it. */
export function endsClean(t: TestContext, machine: Machine, since: number): Watch {
  const expected: RegExp[] = [];
  const persons: Person[] = [];
  const look = async () => {
    const browser = persons.flatMap((person) => person.complaints.map((one) => `browser: ${one}`));
    const found = [...(machine.running ? await complaints(machine, since) : []), ...browser];
    const unexpected = found.filter(
      (line) => !allowed.some(([pattern]) => pattern.test(line)) && !expected.some((pattern) => pattern.test(line)),
    );
    if (unexpected.length === 0) return;
    const shown = [...new Set(unexpected)].slice(0, 40).join('\n');
    await keepEvidence(t.name, machine, persons[0]);
    throw new Error(`${unexpected.length} complaints that the test did not expect:\n${shown}`);
  };
  t.after(async () => {
    try {
      // After a failure the complaints are its consequences: the evidence holds them.
      if (existsSync(machine.dir) && (t as { passed?: boolean }).passed !== false) await look();
    } finally {
      for (const person of persons) await person.close();
      await machine.kill();
    }
  });
  return { expect: (...patterns) => expected.push(...patterns), add: (person) => persons.push(person), look };
}
