// One field of a form: label, control, help, and the appliance's error message about it right below.
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
  /** The error is about what the field says now. Otherwise it is about what was sent, and goes with the first change. */
  live?: boolean;
  /** The control; complaint is the error as long as it is shown. */
  children: (id: string, described: string, complaint: string | undefined) => ReactNode;
}

export function Field({ label, help, error, required = false, live = false, children }: FieldProps) {
  const id = useId();
  const described = `${id}-help`;
  const [answered, setAnswered] = useState<string>();
  if (answered !== undefined && answered !== error) setAnswered(undefined); // sent again, or another one
  const complaint = error === answered ? undefined : error;
  return (
    <FormGroup
      label={label}
      fieldId={id}
      isRequired={required}
      onChange={() => {
        if (!live) setAnswered(error);
      }}
    >
      {children(id, described, complaint)}
      {(complaint ?? help) && (
        <FormHelperText>
          <HelperText id={described}>
            <HelperTextItem variant={complaint ? 'error' : 'default'}>{complaint ?? help}</HelperTextItem>
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
  /** The id of a datalist: what it offers to choose from. */
  list?: string;
}

export function TextField(props: TextFieldProps) {
  const { label, help, error, required = false, live = false, value, onChange, type = 'text', ...rest } = props;
  return (
    <Field label={label} help={help} error={error} required={required} live={live}>
      {(id, described, complaint) => (
        <TextInput
          id={id}
          type={type}
          value={value}
          isRequired={required}
          validated={complaint ? 'error' : 'default'}
          aria-describedby={(complaint ?? help) ? described : undefined}
          onChange={(_event, text) => onChange(text)}
          {...rest}
        />
      )}
    </Field>
  );
}
