// How a syslog server is reached.
import { SelectField } from '../../forms/SelectField.tsx';
import { CertificateFields } from './CertificateFields.tsx';
import type { KindFieldsProps } from './kindFields.ts';

export function SyslogFields(props: KindFieldsProps) {
  const { draft, set } = props;
  return (
    <>
      <SelectField
        label="Encryption"
        value={draft.transport}
        onChange={(value) => set({ transport: value })}
        options={[
          ['tls', 'TLS'],
          ['tcp', 'none (TCP)'],
        ]}
      />
      {draft.transport === 'tls' && <CertificateFields {...props} />}
    </>
  );
}
