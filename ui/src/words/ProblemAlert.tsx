// A failure, where it happened: what was tried and what can be done, in the appliance's own words.
import { Alert, Button } from '@patternfly/react-core';
import { asProblem } from '../api/problem.ts';

export function ProblemAlert(props: { error: unknown; title?: string; retry?: () => void; stale?: boolean }) {
  if (props.error === null || props.error === undefined) return null;
  const problem = asProblem(props.error);
  return (
    <Alert
      isInline
      variant={props.stale ? 'warning' : 'danger'}
      title={props.title ?? problem.title}
      component="p"
      className="cistern-problem"
      role="alert"
      actionLinks={
        props.retry && (
          <Button variant="link" isInline onClick={props.retry}>
            Try again
          </Button>
        )
      }
    >
      <p>{problem.detail}</p>
      {problem.action && <p>{problem.action}</p>}
      {problem.errors && problem.errors.length > 1 && (
        <ul>
          {problem.errors.map((error) => (
            <li key={error.path + error.message}>
              {error.path.replace(/^\//, '').replaceAll('/', ' → ')} {error.message}
            </li>
          ))}
        </ul>
      )}
    </Alert>
  );
}
