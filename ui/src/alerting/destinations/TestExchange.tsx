// The result of a test message: whether it was accepted, and every line that was exchanged.
import type { Schemas } from '../../api/client.ts';
import { Failure } from '../../api/problem.ts';
import { ConditionIcon } from '../../words/ConditionIcon.tsx';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';

export function TestExchange({ result }: { result: Schemas['TestResult'] }) {
  return (
    <section aria-label="Result of the test" aria-live="polite">
      <p className="cistern-sentence">
        <ConditionIcon state={result.ok ? 'ok' : 'critical'} />{' '}
        {result.ok ? 'The test message was accepted.' : 'The test message was not accepted.'}
      </p>
      {result.problem && <ProblemAlert error={new Failure(result.problem)} />}
      {result.exchange.length > 0 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it
        <pre className="cistern-exchange" role="log" tabIndex={0} aria-label="What was exchanged">
          {result.exchange.map((line, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a transcript only grows
            <span key={index} data-direction={line.direction}>{`${line.direction} ${line.text}\n`}</span>
          ))}
        </pre>
      )}
    </section>
  );
}
