// The limit line's value, typed with its unit.
import { TextInput } from '@patternfly/react-core';
import { type ReactNode, useEffect, useId, useState } from 'react';
import { parseQuantity, quantity, type Unit } from '../../words/format.ts';

/** A control with its name above it. */
export function Control({ label, children }: { label: string; children: (id: string) => ReactNode }) {
  const id = useId();
  return (
    <div className="cistern-control">
      <label htmlFor={id}>{label}</label>
      {children(id)}
    </div>
  );
}

export function LimitField(props: {
  limit: number | undefined;
  unit: Unit;
  change: (limit: number | undefined) => void;
}) {
  const { limit, unit, change } = props;
  const shown = limit === undefined ? '' : quantity(limit, unit);
  const [text, setText] = useState(shown);
  // biome-ignore lint/correctness/useExhaustiveDependencies: follows the limit, not each keystroke
  useEffect(() => setText(shown), [limit]);
  const value = text.trim() === '' ? undefined : parseQuantity(text);
  const bad = text.trim() !== '' && value === undefined;
  return (
    <Control label="Limit">
      {(id) => (
        <TextInput
          id={id}
          value={text}
          placeholder={unit === 'seconds' ? '1.5 s' : unit === 'bytes' ? '2 GiB' : unit === 'ratio' ? '80 %' : '100'}
          validated={bad ? 'error' : 'default'}
          onChange={(_event, typed) => setText(typed)}
          onBlur={() => !bad && value !== limit && text !== shown && change(value)}
          onKeyDown={(event) => event.key === 'Enter' && !bad && change(value)}
          size={10}
        />
      )}
    </Control>
  );
}
