// What execd's own program says when it is given a text: the simulated machine has the checks of the real one.
import { spawn } from 'node:child_process';
import { json } from 'node:stream/consumers';
import { fail, problemOf } from '../../base/problems/problem.ts';

/**
 * @param program the execd program
 * @returns what it writes; its problem is thrown
 */
export async function askProgram(program: string, flags: readonly string[], body: unknown): Promise<unknown> {
  const child = spawn(program, flags, { stdio: ['pipe', 'pipe', 'inherit'] });
  const failed = new Promise<never>((_, reject) => {
    child.on('error', (error) => reject(fail('service_unavailable', `execd cannot be started: ${error.message}`)));
  });
  child.stdin.on('error', () => {}); // it has ended, which is seen by its answer
  child.stdin.end(JSON.stringify(body));
  const answer = (await Promise.race([json(child.stdout), failed])) as { problem?: unknown };
  if (typeof answer.problem === 'object') throw problemOf(answer.problem, 'execd');
  return answer;
}
