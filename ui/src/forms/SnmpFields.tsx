// How two SNMP programs know each other: the same fields for receivers of traps and for those who poll.
import type { Schemas } from '../api/client.ts';
import { TextField } from './Field.tsx';
import { SelectField } from './SelectField.tsx';

export type AuthProtocol = Schemas['SnmpAgent']['authProtocol'];

const protocols: readonly (readonly [AuthProtocol, string])[] = [
  ['SHA', 'SHA'],
  ['SHA-256', 'SHA-256'],
  ['SHA-512', 'SHA-512'],
];

/** A secret is typed, never shown: `help` says whether one is stored. */
export interface SecretProps {
  value: string;
  onChange: (value: string) => void;
  help?: string | undefined;
  error?: string | undefined;
}

function Secret({ label, ...field }: SecretProps & { label: string }) {
  return <TextField label={label} type="password" autoComplete="new-password" {...field} />;
}

export function CommunityField(props: SecretProps) {
  return <Secret label="Community" {...props} />;
}

/** What an SNMPv3 user needs besides the name. */
export function UserSecurityFields(props: {
  authProtocol: AuthProtocol;
  onAuthProtocol: (protocol: AuthProtocol) => void;
  authPassword: SecretProps;
  privPassword: SecretProps;
}) {
  return (
    <>
      <SelectField
        label="Authentication"
        value={props.authProtocol}
        onChange={props.onAuthProtocol}
        options={protocols}
      />
      <div className="cistern-pair">
        <Secret label="Authentication password" {...props.authPassword} />
        <Secret label="Privacy password (AES)" {...props.privPassword} />
      </div>
    </>
  );
}
