// A change of the network that is being tried: how long it has left, where it may be kept, and the way back.
import { Alert, AlertActionLink } from '@patternfly/react-core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { answerOf, client, type Schemas } from '../../api/client.ts';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { useSecondsLeft } from '../../words/secondsLeft.ts';
import { networkQuery } from './queries.ts';

export function Trying({ trying, readAt }: { trying: Schemas['NetworkTryState']; readAt: number }) {
  const queries = useQueryClient();
  const left = useSecondsLeft(trying.secondsLeft, readAt);
  const invalidate = () => queries.invalidateQueries({ queryKey: networkQuery.queryKey });
  const confirm = useMutation({
    mutationFn: () => answerOf(client.POST('/api/network/confirm', { body: { token: trying.token } })),
    onSettled: invalidate,
  });
  const cancel = useMutation({
    mutationFn: () => answerOf(client.POST('/api/network/cancel')),
    onSettled: invalidate,
  });
  const busy = confirm.isPending || cancel.isPending || left === 0;
  const { host, port, protocol } = window.location;
  const at = (address: string) =>
    `${protocol}//${address}${port === '' ? '' : `:${port}`}/confirm-network#${trying.token}`;
  // Whoever is at one of the addresses already need not go anywhere.
  const isHere = trying.addresses.some((address) => host === (port === '' ? address : `${address}:${port}`));
  const others = trying.addresses.filter((address) => host !== (port === '' ? address : `${address}:${port}`));
  const over = left === 0;
  // Once it is over the appliance says what holds.
  useEffect(() => {
    if (over) void queries.invalidateQueries({ queryKey: networkQuery.queryKey });
  }, [over, queries]);
  return (
    <>
      <ProblemAlert error={confirm.error ?? cancel.error} />
      <Alert
        isInline
        component="p"
        variant="warning"
        title={`The change is taken back in ${left} s unless you keep it.`}
        actionLinks={
          <>
            <AlertActionLink isDisabled={busy || trying.missing !== ''} onClick={() => confirm.mutate()}>
              Keep
            </AlertActionLink>
            <AlertActionLink isDisabled={busy} onClick={() => cancel.mutate()}>
              Take back
            </AlertActionLink>
          </>
        }
      >
        <p>{trying.missing === '' ? 'It holds now.' : trying.missing}</p>
        {others.length > 0 && (
          <>
            <p>
              {isHere
                ? 'The page may also be opened at'
                : 'If this page does not answer any more, open the page at the new address, which keeps the change:'}
            </p>
            <ul>
              {others.map((address) => (
                <li key={address}>
                  <a href={at(address)} target="_blank" rel="noreferrer">
                    {`${protocol}//${address}`}
                  </a>
                </li>
              ))}
            </ul>
          </>
        )}
      </Alert>
    </>
  );
}
