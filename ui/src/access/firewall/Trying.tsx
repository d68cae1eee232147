// A change of the firewall that is being tried: how long it has left, and the two ways to end it.
import { Alert, AlertActionLink } from '@patternfly/react-core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { answerOf, client, type Schemas } from '../../api/client.ts';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { useSecondsLeft } from '../../words/secondsLeft.ts';
import { firewallQuery } from './queries.ts';

export function Trying({ trying, readAt }: { trying: Schemas['FirewallTry']; readAt: number }) {
  const queries = useQueryClient();
  const left = useSecondsLeft(trying.secondsLeft, readAt);
  const end = useMutation({
    mutationFn: (by: 'confirm' | 'cancel') =>
      answerOf(by === 'confirm' ? client.POST('/api/firewall/confirm') : client.POST('/api/firewall/cancel')),
    onSuccess: (now) => queries.setQueryData(firewallQuery.queryKey, now),
    onError: () => queries.invalidateQueries({ queryKey: firewallQuery.queryKey }),
  });
  const over = left === 0;
  // Once it is over the appliance says what holds.
  useEffect(() => {
    if (over) void queries.invalidateQueries({ queryKey: firewallQuery.queryKey });
  }, [over, queries]);
  return (
    <>
      <ProblemAlert error={end.error} />
      <Alert
        isInline
        component="p"
        variant="warning"
        title={
          trying.mayConfirm
            ? `The change is taken back in ${left} s unless you keep it.`
            : `A change is being tried; it is taken back in ${left} s. It can no longer be kept, because the management plane was restarted.`
        }
        actionLinks={
          trying.mayConfirm && (
            <>
              <AlertActionLink isDisabled={end.isPending || over} onClick={() => end.mutate('confirm')}>
                Keep
              </AlertActionLink>
              <AlertActionLink isDisabled={end.isPending || over} onClick={() => end.mutate('cancel')}>
                Take back
              </AlertActionLink>
            </>
          )
        }
      >
        Open the page in another window, and see that everybody who should can still reach the appliance.
      </Alert>
    </>
  );
}
