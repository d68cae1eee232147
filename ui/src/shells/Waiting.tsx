// What stands where something is still being read, or could not be.
import { Bullseye, PageSection, Spinner } from '@patternfly/react-core';
import type { ReactNode } from 'react';
import { ProblemAlert } from '../words/ProblemAlert.tsx';

export function PageLoading() {
  return (
    <Bullseye className="cistern-loading">
      <Spinner aria-label="Loading" />
    </Bullseye>
  );
}

export interface Reading {
  readonly error: unknown;
  readonly refetch?: () => unknown;
}

/** In place of what a query has not answered yet; `page`: it stands alone on the page, below what is handed in. */
export function Waiting(props: { on: Reading; page?: boolean; children?: ReactNode }) {
  const { error, refetch } = props.on;
  if (!error) return <PageLoading />;
  const alert = <ProblemAlert error={error} {...(refetch && { retry: () => void refetch() })} />;
  if (!props.page) return alert;
  return (
    <PageSection>
      {props.children}
      {alert}
    </PageSection>
  );
}
