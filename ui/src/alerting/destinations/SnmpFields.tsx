// How a receiver of SNMP traps knows this appliance.
import { Checkbox } from '@patternfly/react-core';
import { TextField } from '../../forms/Field.tsx';
import { SelectField } from '../../forms/SelectField.tsx';
import { CommunityField, UserSecurityFields } from '../../forms/SnmpFields.tsx';
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
        <CommunityField
          help={storedHelp(existing?.snmp?.communitySet)}
          value={draft.community}
          onChange={(community) => set({ community })}
          error={at('community')}
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
          <UserSecurityFields
            authProtocol={draft.authProtocol}
            onAuthProtocol={(authProtocol) => set({ authProtocol })}
            authPassword={{
              help: storedHelp(existing?.snmp?.authPasswordSet),
              value: draft.authPassword,
              onChange: (authPassword) => set({ authPassword }),
              error: at('authPassword'),
            }}
            privPassword={{
              help: storedHelp(existing?.snmp?.privPasswordSet),
              value: draft.privPassword,
              onChange: (privPassword) => set({ privPassword }),
              error: at('privPassword'),
            }}
          />
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
