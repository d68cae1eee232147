// Not taken is not the same as not reached. A receiver that is away takes nothing, and all waits for it in order; one that
// answers no to this message may well take the next.
import { ProblemError, problem } from '../../base/problems/problem.ts';

export class Refused extends ProblemError {
  constructor(detail: string, action?: string) {
    super(problem('command_failed', detail, action));
  }
}

/**
 * Whether an HTTP status (RFC 9110) is about what was sent: not about who sends it (401, 403), where to (404), how often
 * (429) or when (408, 421, 423, 425, 503). 500 is what a receiver says that fell over what is in the message.
 */
export function isAboutMessage(status: number): boolean {
  return (
    status === 500 || (status >= 400 && status < 500 && ![401, 403, 404, 407, 408, 421, 423, 425, 429].includes(status))
  );
}
