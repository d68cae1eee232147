// Who has begun to send, on Status and where inputs are set.
import { Alert, Button } from '@patternfly/react-core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from 'react-router';
import { answerOf, client, type Schemas } from '../../api/client.ts';
import { newSendersQuery } from '../../api/queries.ts';
import { useMayNot } from '../../api/session.ts';
import { Explained } from '../../forms/Explained.tsx';
import { Ago } from '../../words/Ago.tsx';
import { plural } from '../../words/format.ts';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { SenderActions } from './SenderActions.tsx';

type NewSender = Schemas['NewSender'];

const SHOWN = 3;

function Item({ sender, dismiss }: { sender: NewSender; dismiss: () => void }) {
  const { address, input, firstAt, newSeries } = sender;
  const mayNot = useMayNot('operator');
  return (
    <li>
      <strong>{address}</strong> began <Ago time={firstAt} />
      {newSeries === null ? '' : `: ${plural(newSeries, 'new series', 'new series')}`} by {input}.{' '}
      <span className="cistern-row-actions">
        <SenderActions sender={sender} />
        <Explained why={mayNot}>
          <Button
            variant="link"
            isInline
            isAriaDisabled={mayNot !== null}
            aria-label={`It is known: ${address} by ${input}`}
            onClick={dismiss}
          >
            It is known
          </Button>
        </Explained>
      </span>
    </li>
  );
}

/** `here`: on the page where inputs are set. */
export function NewSenders({ here = false }: { here?: boolean }) {
  const { data } = useQuery(newSendersQuery);
  const queries = useQueryClient();
  const mayNot = useMayNot('operator');
  const dismiss = useMutation({
    mutationFn: (body: { input?: string; address?: string }) =>
      answerOf(client.POST('/api/new-senders/dismiss', { body })),
    onSettled: () => queries.invalidateQueries({ queryKey: newSendersQuery.queryKey }),
  });
  if (data === undefined || data.total === 0) return null;
  const { items, total } = data;
  const shown = items.slice(0, SHOWN);
  return (
    <Alert
      isInline
      variant="info"
      component="h2"
      title={total === 1 ? 'Somebody new sends here' : `${total} new senders`}
      actionLinks={
        <div className="cistern-row-actions">
          <Link to="/analytics/explore">Look at what is new</Link>
          {!here && <Link to="/settings/inputs">Limit who may send</Link>}
          {total > 1 && (
            <Explained why={mayNot}>
              <Button variant="link" isInline isAriaDisabled={mayNot !== null} onClick={() => dismiss.mutate({})}>
                All are known
              </Button>
            </Explained>
          )}
        </div>
      }
    >
      <ul aria-label="New senders">
        {shown.map((sender) => (
          <Item
            key={`${sender.input} ${sender.address}`}
            sender={sender}
            dismiss={() => dismiss.mutate({ input: sender.input, address: sender.address })}
          />
        ))}
      </ul>
      {total > shown.length && <p>And {total - shown.length} more.</p>}
      {dismiss.error && <ProblemAlert error={dismiss.error} />}
    </Alert>
  );
}
