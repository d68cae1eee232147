// The settings as a file: without secrets, or with them sealed.
import { Title } from '@patternfly/react-core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { answerOf, client } from '../../api/client.ts';
import { asProblem, fieldMessage } from '../../api/problem.ts';
import { TextField } from '../../forms/Field.tsx';
import { FormShell } from '../../forms/FormShell.tsx';
import { SelectField } from '../../forms/SelectField.tsx';

const choices = [
  ['left-out', 'left out'],
  ['sealed', 'in it, sealed with a passphrase'],
] as const;
type Choice = (typeof choices)[number][0];
const SHORTEST = 12;

function save(content: unknown, name: string): void {
  const url = URL.createObjectURL(new Blob([`${JSON.stringify(content, null, 2)}\n`], { type: 'application/json' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}

export function Export() {
  const [secrets, setSecrets] = useState<Choice>('left-out');
  const [passphrase, setPassphrase] = useState('');
  const [again, setAgain] = useState('');
  const write = useMutation({
    mutationFn: async () => {
      const content =
        secrets === 'left-out'
          ? await answerOf(client.GET('/api/settings-document'))
          : await answerOf(client.POST('/api/settings-document/export', { body: { passphrase } }));
      save(content, `${content.appliance?.hostName ?? 'cistern'}-settings.json`);
    },
    onSuccess: () => {
      setPassphrase('');
      setAgain('');
    },
  });
  const problem = write.error ? asProblem(write.error) : null;
  const missing =
    secrets === 'left-out'
      ? null
      : passphrase.length < SHORTEST
        ? `Choose a passphrase of ${SHORTEST} characters at least.`
        : passphrase !== again
          ? 'The two passphrases differ.'
          : null;
  return (
    <section aria-label="Export">
      <Title headingLevel="h2" size="lg">
        Export
      </Title>
      <FormShell
        submit="Save the settings as a file"
        onSubmit={() => write.mutate()}
        busy={write.isPending}
        error={write.error}
        fields={['/passphrase']}
        mayNot={missing}
      >
        <SelectField
          label="Secrets"
          value={secrets}
          onChange={setSecrets}
          options={choices}
          help="Passwords of destinations and providers, hashes of users’ passwords and of tokens."
        />
        {secrets === 'sealed' && (
          <>
            <TextField
              label="Passphrase"
              type="password"
              value={passphrase}
              onChange={setPassphrase}
              help="Whoever has the file and the passphrase has the secrets. Without it nobody has them, you included."
              error={fieldMessage(problem, '/passphrase')}
              autoComplete="new-password"
            />
            <TextField
              label="Passphrase again"
              type="password"
              value={again}
              onChange={setAgain}
              autoComplete="new-password"
            />
          </>
        )}
      </FormShell>
    </section>
  );
}
