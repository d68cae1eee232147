// The daily digest: whether, when, and of which severities.
import { Button, Checkbox, Switch, TextInput } from '@patternfly/react-core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { answerOf, client, type Schemas } from '../../api/client.ts';
import { keepTyped, useEdited } from '../../api/edits.ts';
import { digestQuery } from '../../api/queries.ts';
import { useMayNot } from '../../api/session.ts';
import { Explained } from '../../forms/Explained.tsx';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';

type Settings = Schemas['DigestInput'];

const settingsOf = ({ enabled, at, severities }: Schemas['DigestSettings']): Settings => ({ enabled, at, severities });

const severities = [
  ['info', 'what is for information'],
  ['warning', 'warnings'],
] as const;

export function DigestForm() {
  const { data } = useQuery(digestQuery);
  const [changed, setChanged] = useState<Settings | null>(null);
  const mayNot = useMayNot('operator');
  const queries = useQueryClient();
  const edit = useEdited({
    now: data,
    read: () => answerOf(client.GET('/api/alert-digest')),
    onLoad: (current, before) => setChanged((mine) => mine && keepTyped(mine, settingsOf(before), settingsOf(current))),
    editing: changed !== null,
  });
  const save = useMutation({
    mutationFn: (body: Settings) =>
      edit.guard(answerOf(client.PUT('/api/alert-digest', { params: { header: edit.header }, body }))),
    onSuccess: async (now, sent) => {
      await queries.invalidateQueries({ queryKey: ['destinations'] });
      edit.saved(now);
      // What was typed since it was sent is kept.
      setChanged((mine) => (mine === sent ? null : mine));
    },
  });
  if (data === undefined) return null;
  const settings = changed ?? settingsOf(data);
  const set = (change: Partial<Settings>) => setChanged({ ...settings, ...change });
  return (
    <section className="cistern-form" aria-label="Daily digest">
      <h2>Daily digest</h2>
      <p>What can wait is collected and sent to each destination in one message a day.</p>
      <Explained why={mayNot}>
        <Switch
          label="Collect what can wait"
          isChecked={settings.enabled}
          isDisabled={mayNot !== null}
          onChange={(_event, enabled) => set({ enabled })}
        />
      </Explained>
      {settings.enabled && (
        <>
          <div className="cistern-fromto">
            <span>Every day at</span>
            <TextInput
              type="time"
              aria-label="Time of the digest"
              value={settings.at}
              onChange={(_event, at) => set({ at })}
            />
          </div>
          {severities.map(([severity, words]) => (
            <Checkbox
              key={severity}
              id={`digest-${severity}`}
              label={words}
              isChecked={settings.severities.includes(severity)}
              onChange={(_event, on) =>
                set({
                  severities: on
                    ? [...settings.severities, severity]
                    : settings.severities.filter((one) => one !== severity),
                })
              }
            />
          ))}
        </>
      )}
      {save.error && <ProblemAlert error={save.error} />}
      {changed && (
        <div>
          <Button variant="secondary" isLoading={save.isPending} onClick={() => save.mutate(changed)}>
            Save the digest
          </Button>
        </div>
      )}
    </section>
  );
}
