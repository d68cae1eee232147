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
export const brokenDisks = [/^kernel: /, /^zed: /, /^\(udev-worker\): /, /^systemd-udevd: /];
/** What a test expects that kills services: systemd’s notes of it, and the cores. */
export const killedServices = [/^systemd: /, /^systemd-coredump(@\S*)?: /, /^core: /, /^failed unit: /];
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
