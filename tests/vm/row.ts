// Steps that build on each other.
import type { TestContext } from 'node:test';
import type { Machine } from './machine.ts';
import { keepEvidence, type Person } from './person.ts';

/** Runs one step after the other; a step that fails ends the row, and what is needed to understand it is kept. */
export function rowOf(t: TestContext, seen: () => { machine: Machine; person?: Person }) {
  let broken = '';
  const run = async (name: string, step: () => Promise<void>) => {
    await t.test(name, async () => {
      if (broken) throw new Error(`not reached: “${broken}” failed`);
      try {
        await step();
      } catch (error) {
        broken = name;
        console.error(`--- ${name}: ${error instanceof Error ? error.stack : error}`);
        const { machine, person } = seen();
        await keepEvidence(name, machine, person);
        throw error;
      }
    });
  };
  return Object.assign(run, { whole: () => broken === '' });
}
