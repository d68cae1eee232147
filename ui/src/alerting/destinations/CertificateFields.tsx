// Whether a server's certificate is verified, and by which authority.
import { Checkbox, TextArea } from '@patternfly/react-core';
import { Field } from '../../forms/Field.tsx';
import type { KindFieldsProps } from './kindFields.ts';

export function CertificateFields({ draft, set, at, existing }: KindFieldsProps) {
  const known = (existing?.email ?? existing?.webhook ?? existing?.syslog)?.authority;
  return (
    <>
      <Checkbox
        id="verify"
        label="Verify the server's certificate"
        description="Switch this off only as a last resort: anyone could read what is sent."
        isChecked={draft.verifyCertificate}
        onChange={(_event, verifyCertificate) => set({ verifyCertificate })}
      />
      {draft.verifyCertificate && (
        <Field
          label="Certificate authority"
          error={at('ca')}
          help={
            known
              ? `${known.subject}, until ${known.expiresAt.slice(0, 10)}. Paste another one to change it.`
              : 'Only for a server whose certificate was signed by an authority of your own: its certificate, as PEM.'
          }
        >
          {(id, described) => (
            <div>
              <TextArea
                id={id}
                aria-describedby={described}
                rows={draft.ca ? 6 : 2}
                resizeOrientation="vertical"
                placeholder="-----BEGIN CERTIFICATE-----"
                spellCheck={false}
                value={draft.ca ?? ''}
                validated={at('ca') ? 'error' : 'default'}
                onChange={(_event, ca) => set({ ca: ca === '' ? null : ca })}
              />
              {known && (
                <Checkbox
                  id="forget-ca"
                  label="Trust the authorities of the operating system instead"
                  isChecked={draft.ca === ''}
                  onChange={(_event, on) => set({ ca: on ? '' : null })}
                />
              )}
            </div>
          )}
        </Field>
      )}
    </>
  );
}
