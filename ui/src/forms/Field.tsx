// One field of a form: label, control, help, and the appliance's complaint about it right below.
import {
  FormGroup,
  FormHelperText,
  HelperText,
  HelperTextItem,
  TextInput,
  type TextInputProps,
} from '@patternfly/react-core';
import { type ReactNode, useId } from 'react';

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
}

export function TextField(props: TextFieldProps) {
  const { label, help, error, required = false, value, onChange, type = 'text', ...rest } = props;
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
