// One field of a form: label, control, help, and the appliance's complaint about it right below.
import {
  FormGroup,
  FormHelperText,
  HelperText,
  HelperTextItem,
  TextInput,
  type TextInputProps,
} from '@patternfly/react-core';
import { type ReactNode, useId, useState } from 'react';

export interface FieldProps {
  label: string;
  help?: ReactNode;
  error?: string | undefined;
  required?: boolean;
  children: (id: string, described: string) => ReactNode;
}

export function Field({ label, help, error, required = false, children }: FieldProps) {
  const id = useId();
  const described = `${id}-help`;
  return (
    <FormGroup label={label} fieldId={id} isRequired={required}>
      {children(id, described)}
      {(error ?? help) && (
        <FormHelperText>
          <HelperText id={described}>
            <HelperTextItem variant={error ? 'error' : 'default'}>{error ?? help}</HelperTextItem>
          </HelperText>
        </FormHelperText>
      )}
    </FormGroup>
  );
}

export interface TextFieldProps extends Omit<FieldProps, 'children'> {
  value: string;
  onChange: (value: string) => void;
  type?: 'text' | 'password' | 'number' | 'email';
  autoComplete?: string;
  autoFocus?: boolean;
  placeholder?: string;
  inputMode?: TextInputProps['inputMode'];
  /** The error is about what stands in the field now. Otherwise it is about what was sent, and goes with the first change. */
  live?: boolean;
}

export function TextField(props: TextFieldProps) {
  const { label, help, error: said, required = false, value, onChange, type = 'text', live = false, ...rest } = props;
  const [about, setAbout] = useState({ said, value });
  if (said !== about.said) setAbout({ said, value });
  const error = live || value === about.value ? said : undefined;
  return (
    <Field label={label} help={help} error={error} required={required}>
      {(id, described) => (
        <TextInput
          id={id}
          type={type}
          value={value}
          isRequired={required}
          validated={error ? 'error' : 'default'}
          aria-describedby={(error ?? help) ? described : undefined}
          onChange={(_event, text) => onChange(text)}
          {...rest}
        />
      )}
    </Field>
  );
}
