// How a receiver of remote write is reached.
import { TextArea } from '@patternfly/react-core';
import { Field, TextField } from '../../forms/Field.tsx';
import { SelectField } from '../../forms/SelectField.tsx';
import type { OutputFieldsProps } from './fields.ts';

const stored = (set: boolean | undefined) => (set ? 'One is stored; leave this empty to keep it.' : undefined);

export function RemoteWriteFields({ draft, set, at, existing }: OutputFieldsProps) {
  const known = existing?.remoteWrite;
  return (
    <>
      <TextField
        label="Address"
        help={'Of the remote-write endpoint. Another Cistern takes it at /api/v1/write.'}
        value={draft.url}
        onChange={(url) => set({ url })}
        placeholder="https://metrics.example.com/api/v1/write"
        error={at('/remoteWrite/url') ?? at('/remoteWrite')}
        autoComplete="off"
        required
      />
      <SelectField
        label="Protocol"
        value={draft.version}
        onChange={(version) => set({ version })}
        options={[
          ['auto', 'remote write 2.0 where the receiver knows it, else 1.0'],
          ['1.0', 'remote write 1.0'],
          ['2.0', 'remote write 2.0'],
        ]}
      />
      <SelectField
        label="Sign in by"
        value={draft.sign}
        onChange={(sign) => set({ sign })}
        options={[
          ['none', 'nothing'],
          ['token', 'a token'],
          ['user', 'user and password'],
        ]}
      />
      {draft.sign === 'token' && (
        <TextField
          label="Token"
          type="password"
          help={stored(known?.tokenSet)}
          value={draft.token}
          onChange={(token) => set({ token })}
          error={at('/remoteWrite/token')}
          autoComplete="new-password"
        />
      )}
      {draft.sign === 'user' && (
        <div className="cistern-pair">
          <TextField
            label="User"
            value={draft.user}
            onChange={(user) => set({ user })}
            error={at('/remoteWrite/user')}
            autoComplete="off"
          />
          <TextField
            label="Password"
            type="password"
            help={stored(known?.passwordSet)}
            value={draft.password}
            onChange={(password) => set({ password })}
            error={at('/remoteWrite/password')}
            autoComplete="new-password"
          />
        </div>
      )}
      <Field
        label="Certificate authority"
        error={at('/remoteWrite/ca')}
        help={
          known?.authority
            ? `${known.authority.subject}, until ${known.authority.expiresAt.slice(0, 10)}. Paste another one to change it.`
            : 'Only for a receiver whose certificate was signed by an authority of your own: its certificate, as PEM.'
        }
      >
        {(id, described) => (
          <TextArea
            id={id}
            aria-describedby={described}
            rows={draft.ca ? 6 : 2}
            resizeOrientation="vertical"
            placeholder="-----BEGIN CERTIFICATE-----"
            spellCheck={false}
            value={draft.ca ?? ''}
            validated={at('/remoteWrite/ca') ? 'error' : 'default'}
            onChange={(_event, ca) => set({ ca: ca === '' ? null : ca })}
          />
        )}
      </Field>
    </>
  );
}
