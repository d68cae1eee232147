// Applying a file: its plan is shown first, and exactly that is applied.
import { Alert, Button, Checkbox, Title } from '@patternfly/react-core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { answerOf, client } from '../../api/client.ts';
import { asProblem, fieldMessage } from '../../api/problem.ts';
import { Confirm } from '../../forms/Confirm.tsx';
import { Explained } from '../../forms/Explained.tsx';
import { Field, TextField } from '../../forms/Field.tsx';
import { FormShell } from '../../forms/FormShell.tsx';
import { PlanView } from './Changes.tsx';

interface Chosen {
  readonly name: string;
  readonly document: unknown;
  readonly sealed: boolean;
}

async function read(file: File): Promise<Chosen> {
  const document: unknown = JSON.parse(await file.text());
  const sealed = typeof document === 'object' && document !== null && 'sealed' in document;
  return { name: file.name, document, sealed };
}

export function Apply() {
  const queries = useQueryClient();
  const [chosen, setChosen] = useState<Chosen | null>(null);
  const [unreadable, setUnreadable] = useState<string>();
  const [passphrase, setPassphrase] = useState('');
  const [withoutSecrets, setWithoutSecrets] = useState(false);
  const [asking, setAsking] = useState(false);
  const body = () => ({
    document: chosen?.document,
    ...(chosen?.sealed && (withoutSecrets ? { withoutSecrets } : { passphrase })),
  });
  const plan = useMutation({
    mutationFn: () => answerOf(client.POST('/api/settings-document/preview', { body: body() })),
  });
  const apply = useMutation({
    mutationFn: (fingerprint: string) =>
      answerOf(client.POST('/api/settings-document/apply', { body: { ...body(), fingerprint } })),
    onSuccess: async () => {
      plan.reset();
      await queries.invalidateQueries();
    },
  });
  const another = () => {
    plan.reset();
    apply.reset();
  };
  const choose = async (file: File | undefined) => {
    another();
    setChosen(null);
    setUnreadable(undefined);
    if (file === undefined) return;
    try {
      setChosen(await read(file));
    } catch {
      setUnreadable(`${file.name} is no JSON file.`);
    }
  };
  const problem = plan.error ? asProblem(plan.error) : null;
  const missing =
    chosen === null
      ? 'Choose a file.'
      : chosen.sealed && !withoutSecrets && passphrase === ''
        ? 'Enter the passphrase.'
        : null;
  const shown = plan.data;
  const mayNot =
    shown === undefined || shown.parts.length === 0
      ? 'Nothing would change.'
      : shown.refused.length > 0
        ? 'The file has to be changed first.'
        : null;
  return (
    <section aria-label="Apply" className="cistern-stack">
      <Title headingLevel="h2" size="lg">
        Apply
      </Title>
      <FormShell
        submit="Show what would change"
        onSubmit={() => plan.mutate()}
        busy={plan.isPending}
        error={plan.error}
        fields={['/passphrase']}
        mayNot={missing}
      >
        <Field
          label="Settings file"
          error={unreadable}
          help="Parts that it does not have stay as they are; of a part that it has, what it does not name is removed."
        >
          {(id, described) => (
            <input
              id={id}
              type="file"
              accept=".json,application/json"
              aria-describedby={described}
              onChange={(event) => void choose(event.target.files?.[0])}
            />
          )}
        </Field>
        {chosen?.sealed && (
          <>
            <Checkbox
              id="settings-without-secrets"
              label="Without the secrets in it"
              description="Those that the appliance has stay; the others are named, and entered afterwards."
              isChecked={withoutSecrets}
              onChange={(_event, checked) => {
                another();
                setWithoutSecrets(checked);
              }}
            />
            {!withoutSecrets && (
              <TextField
                label="Passphrase of the file"
                type="password"
                value={passphrase}
                onChange={(text) => {
                  another();
                  setPassphrase(text);
                }}
                error={fieldMessage(problem, '/passphrase')}
                autoComplete="off"
              />
            )}
          </>
        )}
      </FormShell>
      {apply.isSuccess && shown === undefined && (
        <Alert
          isInline
          variant="success"
          title="The settings were applied, and read back"
          component="p"
          role="status"
        />
      )}
      {shown !== undefined && (
        <>
          <PlanView plan={shown} />
          {shown.parts.length > 0 && (
            <div>
              <Explained why={mayNot}>
                <Button isAriaDisabled={mayNot !== null} onClick={() => mayNot === null && setAsking(true)}>
                  Apply this…
                </Button>
              </Explained>
            </div>
          )}
        </>
      )}
      {asking && shown !== undefined && (
        <Confirm
          title={`Apply ${chosen?.name}`}
          action="Apply"
          onConfirm={() => apply.mutateAsync(shown.fingerprint)}
          onClose={() => setAsking(false)}
        >
          All of it is applied, or nothing: when a part fails, those before it are put back.
        </Confirm>
      )}
    </section>
  );
}
