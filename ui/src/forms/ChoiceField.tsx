// One of a few, each with a sentence about what it means.
import { Radio } from '@patternfly/react-core';
import { type ReactNode, useId } from 'react';

export function ChoiceField<Value extends string>(props: {
  label: string;
  value: Value;
  onChange: (value: Value) => void;
  options: readonly (readonly [value: Value, text: ReactNode, description?: string])[];
}) {
  const name = useId();
  return (
    <fieldset className="cistern-choices">
      <legend>{props.label}</legend>
      {props.options.map(([value, text, description]) => (
        <Radio
          key={value}
          id={`${name}-${value}`}
          name={name}
          className="cistern-choice"
          label={text}
          description={description}
          isChecked={props.value === value}
          onChange={() => props.onChange(value)}
        />
      ))}
    </fieldset>
  );
}
