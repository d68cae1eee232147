// Which group of an identity provider has which role here.
import { Button, FormSelect, FormSelectOption, TextInput } from '@patternfly/react-core';
import type { Schemas } from '../../api/client.ts';
import { Field } from '../../forms/Field.tsx';
import { SelectField } from '../../forms/SelectField.tsx';
import type { FieldsProps } from './provider.ts';

type Role = Schemas['GroupRole']['role'];
const ROLES: readonly Role[] = ['viewer', 'operator', 'administrator'];

export function RolesOfGroups({ draft, set, at }: FieldsProps) {
  const { roles, otherwise } = draft;
  const change = (index: number, part: Partial<Schemas['GroupRole']>) =>
    set({ roles: roles.map((one, at) => (at === index ? { ...one, ...part } : one)) });
  return (
    <>
      <Field
        label="Roles of groups"
        error={at('/roles')}
        help={
          draft.kind === 'ldap'
            ? 'The distinguished name of a group, or its common name alone. Who is in several gets the highest role.'
            : 'What the claim of the groups holds. Who is in several gets the highest role.'
        }
      >
        {() => (
          <div className="cistern-stack">
            {roles.map(({ group, role }, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a row is its place
              <div className="cistern-group-role" key={index}>
                <TextInput
                  aria-label={`Group ${index + 1}`}
                  value={group}
                  onChange={(_event, text) => change(index, { group: text })}
                  autoComplete="off"
                />
                <FormSelect
                  aria-label={`Role of group ${index + 1}`}
                  value={role}
                  onChange={(_event, chosen) => change(index, { role: chosen as Role })}
                >
                  {ROLES.map((one) => (
                    <FormSelectOption key={one} value={one} label={one} />
                  ))}
                </FormSelect>
                <Button
                  variant="link"
                  aria-label={`Remove group ${index + 1}`}
                  onClick={() => set({ roles: roles.filter((_, at) => at !== index) })}
                >
                  Remove
                </Button>
              </div>
            ))}
            <div>
              <Button variant="link" isInline onClick={() => set({ roles: [...roles, { group: '', role: 'viewer' }] })}>
                Add a group
              </Button>
            </div>
          </div>
        )}
      </Field>
      <SelectField
        label="Whom no group fits"
        value={otherwise ?? 'refused'}
        onChange={(chosen) => set({ otherwise: chosen === 'refused' ? null : chosen })}
        options={[['refused', 'is refused'], ...ROLES.map((one) => [one, `is ${one}`] as const)]}
      />
    </>
  );
}
