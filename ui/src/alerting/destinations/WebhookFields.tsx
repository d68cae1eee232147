// Where a webhook is posted, and in which form.
import { TextField } from '../../forms/Field.tsx';
import { SelectField } from '../../forms/SelectField.tsx';
import { CertificateFields } from './CertificateFields.tsx';
import { type KindFieldsProps, storedHelp } from './kindFields.ts';

export function WebhookFields(props: KindFieldsProps) {
  const { draft, set, at, existing } = props;
  return (
    <>
      <SelectField
        label="Form"
        value={draft.preset}
        onChange={(value) => set({ preset: value })}
        options={[
          ['json', 'JSON, with everything'],
          ['slack', 'Slack (also Mattermost)'],
          ['pagerduty', 'PagerDuty (Events API v2)'],
        ]}
      />
      <TextField
        label="Address"
        value={draft.url}
        onChange={(url) => set({ url })}
        placeholder={
          draft.preset === 'pagerduty' ? 'https://events.pagerduty.com/v2/enqueue' : 'https://hooks.example.com/…'
        }
        help={
          existing?.webhook
            ? `One at ${existing.webhook.host} is stored; leave this empty to keep it.`
            : 'It is stored like a password, because anyone who knows it can post there.'
        }
        error={at('url')}
        autoComplete="off"
        required={existing === undefined}
      />
      {draft.preset !== 'slack' && (
        <TextField
          label={draft.preset === 'pagerduty' ? 'Integration key' : 'Secret'}
          type="password"
          help={
            storedHelp(existing?.webhook?.secretSet) ??
            (draft.preset === 'json'
              ? 'The receiver can verify by a signature (HMAC-SHA-256) that a message comes from here. Empty: none.'
              : undefined)
          }
          value={draft.secret}
          onChange={(secret) => set({ secret })}
          error={at('secret')}
          autoComplete="new-password"
        />
      )}
      <CertificateFields {...props} />
    </>
  );
}
