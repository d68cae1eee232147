import { Bullseye, Spinner } from '@patternfly/react-core';

export function PageLoading() {
  return (
    <Bullseye className="cistern-loading">
      <Spinner aria-label="Loading" />
    </Bullseye>
  );
}
