// A failure, where it happened: what was tried and what can be done, in the appliance's own words.
import { Alert, Button } from '@patternfly/react-core';
import { useMutation } from '@tanstack/react-query';
import { asProblem, Failure } from '../api/problem.ts';

export function ProblemAlert(props: { error: unknown; title?: string; retry?: () => void; stale?: boolean }) {
  const load = useMutation({ mutationFn: async (failure: Failure) => failure.load?.() });
  if (props.error === null || props.error === undefined) return null;
  if (load.isSuccess && load.variables === props.error) {
    return (
      <Alert
        isInline
        variant="info"
        title="The current values were loaded"
        component="p"
        className="cistern-problem"
        role="status"
      >
        <p>What you have changed is still as you typed it. Compare, and save again.</p>
      </Alert>
    );
  }
  const failure = props.error instanceof Failure && props.error.load !== undefined ? props.error : null;
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
        failure !== null ? (
          <Button variant="link" isInline isLoading={load.isPending} onClick={() => load.mutate(failure)}>
            Load the current values
          </Button>
        ) : (
          props.retry && (
            <Button variant="link" isInline onClick={props.retry}>
              Try again
            </Button>
          )
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
