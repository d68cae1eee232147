// The code of a second factor, where one is asked for.
import { TextField } from '../../forms/Field.tsx';

export function CodeField(props: {
  value: string;
  onChange: (code: string) => void;
  autoFocus?: boolean;
  required?: boolean;
}) {
  return (
    <TextField
      label="Code"
      required
      {...props}
      help="What your authenticator app shows, or one of your recovery codes."
      autoComplete="one-time-code"
    />
  );
}
