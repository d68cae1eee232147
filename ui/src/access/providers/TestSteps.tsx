// What came of a test of an identity provider, step by step.
import { Alert } from '@patternfly/react-core';
import type { Schemas } from '../../api/client.ts';
import { ConditionIcon } from '../../words/ConditionIcon.tsx';

export function TestSteps({ result: { ok, steps } }: { result: Schemas['ProviderTested'] }) {
  return (
    <Alert
      isInline
      variant={ok ? 'success' : 'danger'}
      title={ok ? 'It works.' : 'It does not work so.'}
      component="h2"
      role={ok ? 'status' : 'alert'}
    >
      <ol className="cistern-steps">
        {steps.map(({ what, ok: good, found, action }) => (
          <li key={what}>
            <ConditionIcon state={good ? 'ok' : 'critical'} />{' '}
            <span className="cistern-found">
              <strong>{what}.</strong> {found} {action}
            </span>
          </li>
        ))}
      </ol>
    </Alert>
  );
}
