// How a receiver of SNMP traps knows this appliance.
import { Checkbox } from '@patternfly/react-core';
import { TextField } from '../../forms/Field.tsx';
import { SelectField } from '../../forms/SelectField.tsx';
import { type KindFieldsProps, storedHelp } from './kindFields.ts';

export function SnmpFields(props: KindFieldsProps) {
  const { draft, set, at, existing } = props;
  return (
    <>
      <SelectField
        label="Version"
        value={draft.version}
        onChange={(value) => set({ version: value })}
        options={[
          ['2c', 'SNMPv2c'],
          ['3', 'SNMPv3, authenticated and encrypted'],
        ]}
      />
      {draft.version === '2c' ? (
        <TextField
          label="Community"
          type="password"
          help={storedHelp(existing?.snmp?.communitySet)}
          value={draft.community}
          onChange={(community) => set({ community })}
          error={at('community')}
          autoComplete="new-password"
        />
      ) : (
        <>
          <TextField
            label="User"
            value={draft.snmpUser}
            onChange={(snmpUser) => set({ snmpUser })}
            error={at('user')}
            autoComplete="off"
          />
          <SelectField
            label="Authentication"
            value={draft.authProtocol}
            onChange={(value) => set({ authProtocol: value })}
            options={[
              ['SHA', 'SHA'],
              ['SHA-256', 'SHA-256'],
              ['SHA-512', 'SHA-512'],
            ]}
          />
          <div className="cistern-pair">
            <TextField
              label="Authentication password"
              type="password"
              help={storedHelp(existing?.snmp?.authPasswordSet)}
              value={draft.authPassword}
              onChange={(authPassword) => set({ authPassword })}
              error={at('authPassword')}
              autoComplete="new-password"
            />
            <TextField
              label="Privacy password (AES)"
              type="password"
              help={storedHelp(existing?.snmp?.privPasswordSet)}
              value={draft.privPassword}
              onChange={(privPassword) => set({ privPassword })}
              error={at('privPassword')}
              autoComplete="new-password"
            />
          </div>
        </>
      )}
      {draft.version === '3' && existing?.snmp && (
        <p className="cistern-quiet">
          The receiver must know this appliance by its engine ID: <code>{existing.snmp.engineId}</code>
        </p>
      )}
      <Checkbox
        id="inform"
        label="Ask for a receipt (inform)"
        description="A trap is sent once and may be lost; an inform is repeated until the receiver answers."
        isChecked={draft.inform}
        onChange={(_event, inform) => set({ inform })}
      />
    </>
  );
}
