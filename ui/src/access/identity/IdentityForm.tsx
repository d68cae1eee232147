// How the appliance is called, and its time zone.
import { Checkbox } from '@patternfly/react-core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { answerOf, client, type Schemas } from '../../api/client.ts';
import { asProblem, fieldMessage } from '../../api/problem.ts';
import { timeZonesQuery } from '../../api/queries.ts';
import { Field, TextField } from '../../forms/Field.tsx';
import { FormShell } from '../../forms/FormShell.tsx';

/** @param props.isFirst this browser's time zone is proposed, and the button may be pressed as it is */
export function IdentityForm(props: {
  setup: Schemas['Setup'];
  submit: string;
  isFirst?: boolean;
  onSaved: (setup: Schemas['Setup']) => void;
}) {
  const { setup, submit, isFirst = false, onSaved } = props;
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const [hostName, setHostName] = useState(setup.hostName);
  const [timeZone, setTimeZone] = useState('');
  const [endPasskeys, setEndPasskeys] = useState(false);
  const { data: zones = [] } = useQuery(timeZonesQuery);
  // This browser's zone is the likely one; the appliance's own where it does not know that.
  const likely = isFirst ? [own, setup.timeZone] : [setup.timeZone];
  const zone = timeZone || likely.find((name) => zones.length === 0 || zones.includes(name)) || 'UTC';
  const isSame = hostName.trim() === setup.hostName && zone === setup.timeZone;
  const save = useMutation({
    mutationFn: () =>
      answerOf(
        client.POST('/api/setup/set-identity', {
          body: { hostName: hostName.trim(), timeZone: zone, ...(endPasskeys && { endPasskeys }) },
        }),
      ),
    onSuccess: onSaved,
  });
  const problem = save.error ? asProblem(save.error) : null;
  return (
    <FormShell
      submit={submit}
      name="Name and time zone"
      onSubmit={() => save.mutate()}
      busy={save.isPending}
      error={save.error}
      fields={['/hostName', '/timeZone']}
      mayNot={hostName.trim() === '' ? 'Give it a name.' : !isFirst && isSame ? 'Nothing was changed.' : null}
    >
      <TextField
        label="Host name"
        value={hostName}
        onChange={setHostName}
        help="It is in every alert, so that you know which appliance it is about."
        error={fieldMessage(problem, '/hostName')}
        autoComplete="off"
        autoFocus={isFirst}
        required
      />
      <Field
        label="Time zone"
        help={zone === own ? "As this browser's." : 'The one in which the appliance writes its logs and messages.'}
        error={fieldMessage(problem, '/timeZone')}
      >
        {(id, described) => (
          <select
            id={id}
            aria-describedby={described}
            className="cistern-select"
            value={zone}
            onChange={(event) => setTimeZone(event.target.value)}
          >
            {[...new Set([zone, ...zones])].map((name) => (
              <option key={name} value={name}>
                {name.replaceAll('_', ' ')}
              </option>
            ))}
          </select>
        )}
      </Field>
      {(endPasskeys || problem?.code === 'passkeys_end') && (
        <Checkbox
          id="end-passkeys"
          label="Passkeys for the present name may stop working"
          isChecked={endPasskeys}
          onChange={(_, on) => setEndPasskeys(on)}
        />
      )}
    </FormShell>
  );
}
