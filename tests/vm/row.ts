// Steps that build on each other.
import type { TestContext } from 'node:test';
import type { Machine } from './machine.ts';
import { keepEvidence, type Person } from './person.ts';

/** The pattern of `./build.sh test vm FILE NAME`, which also chooses steps. */
export const wantedStep = process.env.CISTERN_TEST_STEP ? new RegExp(process.env.CISTERN_TEST_STEP) : undefined;

/**
 * Whether the variants of a fault run, too, whose representative is in the ordinary run: `./build.sh nightly` sets it, and
 * a variant that is named by the pattern runs in any case.
 */
export const withVariants = process.env.CISTERN_VARIANTS === '1';

/** Whether a variant of this name is to run. */
export const wantsVariant = (name: string) => withVariants || wantedStep?.test(name) === true;

/**
 * Runs one step after the other; a step that fails ends the row, and what is needed to understand it is kept. When one
 * step is chosen by its name, those before it run as well, because it builds on them; those after it do not.
 */
export function rowOf(t: TestContext, seen: () => { machine: Machine; person?: Person }) {
  let broken = '';
  let reached = false;
  const run = async (name: string, step: () => Promise<void>) => {
    const chosen = !wantedStep || wantedStep.test(name) || wantedStep.test(t.name);
    if (reached && !chosen) return;
    if (wantedStep && chosen) reached = true;
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
