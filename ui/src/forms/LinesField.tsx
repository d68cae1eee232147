// A field in which each line is one of several: selectors, or labels as NAME=VALUE.
import { TextArea } from '@patternfly/react-core';
import { Field } from './Field.tsx';

export function LinesField(props: {
  label: string;
  help: string;
  error: string | undefined;
  value: string;
  onChange: (text: string) => void;
}) {
  const { label, help, error, value, onChange } = props;
  return (
    <Field label={label} help={help} error={error}>
      {(id, described, complaint) => (
        <TextArea
          id={id}
          aria-describedby={described}
          rows={Math.max(2, value.split('\n').length)}
          resizeOrientation="vertical"
          spellCheck={false}
          className="cistern-expression"
          value={value}
          validated={complaint ? 'error' : 'default'}
          onChange={(_event, text) => onChange(text)}
        />
      )}
    </Field>
  );
}
