// Silences: those that act, that will, and that have ended.
import { Button, Label } from '@patternfly/react-core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'react-router';
import { answerOf, client } from '../../api/client.ts';
import { silencesQuery } from '../../api/queries.ts';
import { useMayNot } from '../../api/session.ts';
import { Confirm } from '../../forms/Confirm.tsx';
import { Explained } from '../../forms/Explained.tsx';
import { AddButton, EmptyList } from '../../forms/ListActions.tsx';
import { Waiting } from '../../shells/Waiting.tsx';
import { plural } from '../../words/format.ts';
import { moment, type Silence, silenceWords } from './silence.ts';

const states = {
  acting: <Label color="purple">acting</Label>,
  waiting: <Label color="blue">not begun</Label>,
  ended: <Label>ended</Label>,
};

function Item({ one, onEnd }: { one: Silence; onEnd: () => void }) {
  const mayNot = useMayNot('operator');
  return (
    <li className="cistern-alert">
      <div className="cistern-spread">
        <div>
          {states[one.state]}{' '}
          {one.state === 'ended' ? (
            <strong>{one.name}</strong>
          ) : (
            <Link to={`/alerts/silences/${one.id}`}>{one.name}</Link>
          )}
        </div>
        {one.state !== 'ended' && (
          <Explained why={mayNot}>
            <Button
              variant="link"
              isInline
              isAriaDisabled={mayNot !== null}
              aria-label={`${one.state === 'waiting' ? 'Cancel it' : 'End it now'}: ${one.name}`}
              onClick={onEnd}
            >
              {one.state === 'waiting' ? 'Cancel it' : 'End it now'}
            </Button>
          </Explained>
        )}
      </div>
      <p>
        {silenceWords(one)}, from {moment(one.start)} to {moment(one.end)}.
      </p>
      <p className="cistern-quiet">
        {one.state === 'acting' &&
          `${plural(one.active, 'active alert')} ${one.active === 1 ? 'is' : 'are'} suppressed. `}
        {plural(one.suppressed, 'message')} {one.state === 'ended' ? 'were' : 'have been'} suppressed. Made by {one.by}.
      </p>
    </li>
  );
}

export function Silences() {
  const { data, error, refetch } = useQuery(silencesQuery);
  const mayNot = useMayNot('operator');
  const queries = useQueryClient();
  const [ending, setEnding] = useState<Silence | null>(null);
  if (data === undefined) return <Waiting on={{ error, refetch }} />;
  const add = (
    <AddButton to="/alerts/silences/new" why={mayNot}>
      New silence
    </AddButton>
  );
  if (data.length === 0) {
    return (
      <EmptyList title="Nothing is suppressed" add={add}>
        While disks are changed or a service is rebuilt, a silence keeps alerts that are expected from being sent. They
        are logged, and what is still active when it ends is sent then.
      </EmptyList>
    );
  }
  return (
    <div className="cistern-stack">
      <div>{add}</div>
      <ul className="cistern-alerts" aria-label="Silences">
        {data.map((one) => (
          <Item key={one.id} one={one} onEnd={() => setEnding(one)} />
        ))}
      </ul>
      {ending && (
        <Confirm
          title={`${ending.state === 'waiting' ? 'Cancel' : 'End'} “${ending.name}”?`}
          action={ending.state === 'waiting' ? 'Cancel the silence' : 'End the silence'}
          onClose={() => setEnding(null)}
          onConfirm={async () => {
            await answerOf(client.POST('/api/silences/{id}/end', { params: { path: { id: ending.id } } }));
            await queries.invalidateQueries({ queryKey: ['silences'] });
          }}
        >
          <p>
            {ending.state === 'waiting'
              ? 'It will suppress nothing.'
              : 'What it has suppressed and is still active is sent at once.'}
          </p>
        </Confirm>
      )}
    </div>
  );
}
