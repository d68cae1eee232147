// The choice of a compression, with what it gains and costs.
import { useQuery } from '@tanstack/react-query';
import { SelectField } from '../../forms/SelectField.tsx';
import { compressionsQuery } from './queries.ts';

export function CompressionField(props: {
  value: string;
  onChange: (value: string) => void;
  /** Offered above the recommended ones: what is inherited, or what is set and not among them. */
  above?: readonly [value: string, text: string];
  /** Of a choice that is not among the recommended ones. */
  help?: string;
}) {
  const compressions = useQuery(compressionsQuery).data ?? [];
  const words = compressions.find(({ name }) => name === props.value);
  return (
    <SelectField
      label="Compression"
      help={words ? `${words.benefit} ${words.cost}` : props.help}
      value={props.value}
      onChange={props.onChange}
      options={[
        ...(props.above ? [props.above] : []),
        ...compressions.map(
          ({ name, title, recommended }) => [name, `${title}${recommended ? ' (recommended)' : ''}`] as const,
        ),
      ]}
    />
  );
}
