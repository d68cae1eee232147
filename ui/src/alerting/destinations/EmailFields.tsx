// How a mail server is reached, and the recipients.
import { TextField } from '../../forms/Field.tsx';
import { SelectField } from '../../forms/SelectField.tsx';
import { CertificateFields } from './CertificateFields.tsx';
import { type KindFieldsProps, storedHelp } from './kindFields.ts';

export function EmailFields(props: KindFieldsProps) {
  const { draft, set, at, existing } = props;
  return (
    <>
      <SelectField
        label="Encryption"
        value={draft.security}
        onChange={(value) => set({ security: value })}
        options={[
          ['starttls', 'STARTTLS (usual on port 587)'],
          ['tls', 'TLS from the start (usual on port 465)'],
          ['none', 'none'],
        ]}
      />
      {draft.security !== 'none' && <CertificateFields {...props} />}
      <TextField
        label="From"
        type="email"
        value={draft.from}
        onChange={(from) => set({ from })}
        placeholder="cistern@example.com"
        error={at('from')}
        autoComplete="off"
        required
      />
      <TextField
        label="To"
        value={draft.to}
        onChange={(to) => set({ to })}
        placeholder="oncall@example.com, team@example.com"
        error={at('to') ?? at('to/0')}
        autoComplete="off"
        required
      />
      <div className="cistern-pair">
        <TextField
          label="User"
          help="Only if the server asks for one."
          value={draft.user}
          onChange={(user) => set({ user })}
          error={at('user')}
          autoComplete="off"
        />
        {draft.login !== 'xoauth2' && (
          <TextField
            label="Password"
            type="password"
            help={storedHelp(existing?.email?.passwordSet)}
            value={draft.password}
            onChange={(password) => set({ password })}
            error={at('password')}
            autoComplete="new-password"
          />
        )}
      </div>
      <SelectField
        label="Sign in by"
        value={draft.login}
        onChange={(value) => set({ login: value })}
        options={[
          ['password', 'user and password'],
          ['cram-md5', 'CRAM-MD5 (the password is not sent)'],
          ['xoauth2', 'OAuth 2.0 (XOAUTH2)'],
        ]}
      />
      {draft.login === 'xoauth2' && (
        <>
          <TextField
            label="Address for tokens"
            value={draft.tokenUrl}
            onChange={(tokenUrl) => set({ tokenUrl })}
            placeholder="https://login.example.com/oauth2/token"
            error={at('tokenUrl')}
            autoComplete="off"
            required
          />
          <TextField
            label="Client"
            value={draft.clientId}
            onChange={(clientId) => set({ clientId })}
            error={at('clientId')}
            autoComplete="off"
            required
          />
          <TextField
            label="Secret of the client"
            type="password"
            help={storedHelp(existing?.email?.clientSecretSet) ?? 'When it has one.'}
            value={draft.clientSecret}
            onChange={(clientSecret) => set({ clientSecret })}
            error={at('clientSecret')}
            autoComplete="new-password"
          />
          <TextField
            label="Refresh token"
            type="password"
            help={storedHelp(existing?.email?.refreshTokenSet)}
            value={draft.refreshToken}
            onChange={(refreshToken) => set({ refreshToken })}
            error={at('refreshToken')}
            autoComplete="new-password"
          />
        </>
      )}
    </>
  );
}
