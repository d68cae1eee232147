// Acknowledging an alert, with a note for the others; and the link to a silence that would suppress such an alert.
import { Button } from '@patternfly/react-core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useNavigate } from 'react-router';
import { answerOf, client } from '../../api/client.ts';
import { useMayNot } from '../../api/session.ts';
import { Explained } from '../../forms/Explained.tsx';
import { NoteForm } from './NoteForm.tsx';
import { type Alert, labelWords } from './words.ts';

export function Acknowledge({ alert }: { alert: Alert }) {
  const mayNot = useMayNot('operator');
  const queries = useQueryClient();
  const [asking, setAsking] = useState(false);
  const withdraw = useMutation({
    mutationFn: () =>
      answerOf(client.POST('/api/alerts/{id}/withdraw-acknowledgement', { params: { path: { id: alert.id } } })),
    onSettled: () => queries.invalidateQueries({ queryKey: ['alerts'] }),
  });
  return (
    <>
      <Explained why={mayNot}>
        <Button
          variant="link"
          isInline
          isLoading={withdraw.isPending}
          isAriaDisabled={mayNot !== null || withdraw.isPending}
          aria-label={`${alert.acknowledged ? 'Withdraw the acknowledgement' : 'Acknowledge'}: ${alert.title}`}
          onClick={() => (alert.acknowledged ? withdraw.mutate() : setAsking(true))}
        >
          {alert.acknowledged ? 'Withdraw the acknowledgement' : 'Acknowledge'}
        </Button>
      </Explained>
      {asking && (
        <NoteForm
          title={alert.title}
          acknowledge={(note) =>
            answerOf(
              client.POST('/api/alerts/{id}/acknowledge', { params: { path: { id: alert.id } }, body: { note } }),
            )
          }
          onClose={() => setAsking(false)}
        />
      )}
    </>
  );
}

export function SilenceLink({ alert }: { alert: Alert }) {
  const mayNot = useMayNot('operator');
  const navigate = useNavigate();
  if (alert.silence) return null;
  const label = labelWords(alert.labels).split(', ', 1)[0] ?? '';
  const query = new URLSearchParams({ class: alert.class, text: label, name: alert.title.slice(0, 100) });
  return (
    <Explained why={mayNot}>
      <Button
        variant="link"
        isInline
        isAriaDisabled={mayNot !== null}
        aria-label={`Silence: ${alert.title}`}
        onClick={() => void navigate(`/alerts/silences/new?${query}`)}
      >
        Silence
      </Button>
    </Explained>
  );
}
