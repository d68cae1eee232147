// A field with a choice of a few.
import { FormSelect, FormSelectOption } from '@patternfly/react-core';
import { Field, type FieldProps } from './Field.tsx';

export interface SelectFieldProps<Value extends string> extends Omit<FieldProps, 'children'> {
  value: Value;
  onChange: (value: Value) => void;
  options: readonly (readonly [value: Value, text: string])[];
}

export function SelectField<Value extends string>({ value, onChange, options, ...field }: SelectFieldProps<Value>) {
  return (
    <Field {...field}>
      {(id, described, complaint) => (
        <FormSelect
          id={id}
          value={value}
          validated={complaint ? 'error' : 'default'}
          aria-describedby={(complaint ?? field.help) ? described : undefined}
          onChange={(_event, chosen) => onChange(chosen as Value)}
        >
          {options.map(([one, text]) => (
            <FormSelectOption key={one} value={one} label={text} />
          ))}
        </FormSelect>
      )}
    </Field>
  );
}
