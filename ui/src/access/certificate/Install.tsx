// A certificate from an authority: given, looked at, and installed.
import { Alert, Checkbox, Content, TextArea, Title } from '@patternfly/react-core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { answerOf, client } from '../../api/client.ts';
import { asProblem, fieldMessage } from '../../api/problem.ts';
import { Field, TextField } from '../../forms/Field.tsx';
import { FormShell } from '../../forms/FormShell.tsx';
import { SelectField } from '../../forms/SelectField.tsx';
import { CertificateFacts } from './CertificateFacts.tsx';
import { certificateQuery } from './queries.ts';

interface Draft {
  readonly way: 'pem' | 'pkcs12';
  readonly certificate: string;
  readonly key: string;
  /** Base64. */
  readonly pkcs12: string;
  readonly password: string;
}
const EMPTY: Draft = { way: 'pem', certificate: '', key: '', pkcs12: '', password: '' };

const bodyOf = ({ way, certificate, key, pkcs12, password }: Draft) =>
  way === 'pkcs12' ? { pkcs12, password } : { certificate, ...(key.trim() !== '' && { key }) };

async function base64Of(file: File): Promise<string> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  return btoa(Array.from(bytes, (one) => String.fromCharCode(one)).join(''));
}

interface TextOrFileProps {
  label: string;
  help: string;
  error: string | undefined;
  value: string;
  onChange: (text: string) => void;
}

/** Pasted, or from a file. */
function TextOrFile({ label, help, error, value, onChange }: TextOrFileProps) {
  return (
    <Field label={label} help={help} error={error}>
      {(id, described, complaint) => (
        <>
          <TextArea
            id={id}
            value={value}
            rows={5}
            resizeOrientation="vertical"
            spellCheck={false}
            autoComplete="off"
            validated={complaint ? 'error' : 'default'}
            aria-describedby={described}
            onChange={(_event, text) => onChange(text)}
          />
          <input
            type="file"
            aria-label={`${label} from a file`}
            accept=".pem,.crt,.cer,.key,.txt"
            onChange={async (event) => {
              const file = event.target.files?.[0];
              if (file !== undefined) onChange(await file.text());
            }}
          />
        </>
      )}
    </Field>
  );
}

export function Install({ requested }: { requested: boolean }) {
  const queries = useQueryClient();
  const [draft, setDraft] = useState(EMPTY);
  const [accepted, setAccepted] = useState<readonly string[]>([]);
  const preview = useMutation({
    mutationFn: () => answerOf(client.POST('/api/certificate/preview', { body: bodyOf(draft) })),
    onSuccess: () => setAccepted([]),
  });
  const install = useMutation({
    mutationFn: () =>
      answerOf(
        client.POST('/api/certificate/install', {
          body: { ...bodyOf(draft), accept: accepted.filter((one) => one === 'name' || one === 'chain') },
        }),
      ),
    onSuccess: (after) => {
      queries.setQueryData(certificateQuery.queryKey, after);
      setDraft(EMPTY); // the key stays nowhere
      preview.reset();
    },
  });
  const change = (part: Partial<Draft>) => {
    setDraft({ ...draft, ...part });
    preview.reset();
    install.reset();
  };
  const problem = preview.error ? asProblem(preview.error) : null;
  const given = draft.way === 'pem' ? draft.certificate : draft.pkcs12;
  const shown = preview.data;
  const open = shown?.warnings.filter(({ kind }) => !accepted.includes(kind)) ?? [];
  return (
    <section aria-labelledby="certificate-install" className="cistern-stack">
      <Title headingLevel="h2" size="lg" id="certificate-install">
        Install a certificate
      </Title>
      {install.isSuccess && (
        <Alert isInline component="p" variant="success" role="status" title="The web page answers with it.">
          <p>New connections are shown it. Programs that trusted the one before need this one, or its authority.</p>
        </Alert>
      )}
      <FormShell
        name="Certificate to install"
        submit="Check it"
        onSubmit={() => preview.mutate()}
        busy={preview.isPending}
        error={preview.error}
        fields={['/certificate', '/key', '/pkcs12', '/password']}
        mayNot={given === '' ? 'Give a certificate first.' : null}
      >
        <SelectField<Draft['way']>
          label="It comes as"
          value={draft.way}
          onChange={(way) => change({ ...EMPTY, way })}
          options={[
            ['pem', 'text that begins with -----BEGIN (PEM)'],
            ['pkcs12', 'a .p12 or .pfx file with its key (PKCS #12)'],
          ]}
        />
        {draft.way === 'pem' ? (
          <>
            <TextOrFile
              label="Certificate"
              value={draft.certificate}
              onChange={(certificate) => change({ certificate })}
              help="With the certificates of the authorities in between, in any order."
              error={fieldMessage(problem, '/certificate')}
            />
            <TextOrFile
              label="Private key"
              value={draft.key}
              onChange={(key) => change({ key })}
              help={
                requested
                  ? 'Leave it empty for a certificate of the signing request above.'
                  : 'Leave it empty when the certificate is for the key in use. It is never shown again.'
              }
              error={fieldMessage(problem, '/key')}
            />
          </>
        ) : (
          <>
            <Field label="File" error={fieldMessage(problem, '/pkcs12')}>
              {(id, described) => (
                <input
                  id={id}
                  type="file"
                  accept=".p12,.pfx"
                  aria-describedby={described}
                  onChange={async (event) => {
                    const file = event.target.files?.[0];
                    if (file !== undefined) change({ pkcs12: await base64Of(file) });
                  }}
                />
              )}
            </Field>
            <TextField
              label="Password of the file"
              type="password"
              value={draft.password}
              onChange={(password) => change({ password })}
              error={fieldMessage(problem, '/password')}
              autoComplete="off"
            />
          </>
        )}
      </FormShell>
      {shown && (
        <FormShell
          name="What would be installed"
          submit="Install it"
          onSubmit={() => install.mutate()}
          busy={install.isPending}
          error={install.error}
          mayNot={open.length > 0 ? 'Say of each warning that it may be so.' : null}
        >
          <CertificateFacts certificate={shown.certificate} />
          {shown.notes.map((note) => (
            <p key={note} className="cistern-quiet">
              {note}
            </p>
          ))}
          {shown.warnings.map(({ kind, message }) => (
            <div key={kind}>
              <Alert isInline component="p" variant="warning" title={message} />
              <Checkbox
                id={`certificate-accept-${kind}`}
                label="It may be so"
                aria-label={`It may be so: ${kind}`}
                isChecked={accepted.includes(kind)}
                onChange={(_event, checked) =>
                  setAccepted(checked ? [...accepted, kind] : accepted.filter((one) => one !== kind))
                }
              />
            </div>
          ))}
          <Content component="p">
            The page is asked at once whether it answers with it; otherwise the one before stays. Browsers and programs
            that do not trust its authority are to be shown the fingerprint above.
          </Content>
        </FormShell>
      )}
    </section>
  );
}
