// What somebody types who comes in, and by what the machine is known again.
import { ClipboardCopy } from '@patternfly/react-core';
import type { Schemas } from '../../api/client.ts';

/** `ssh` wants an address of IPv6 without the brackets that it has in a URL. */
const host = () => location.hostname.replace(/^\[|\]$/g, '');

export function HowTo({ access: { account, port, hostKey } }: { access: Schemas['SshAccess'] }) {
  const line = `ssh ${port === 22 ? '' : `-p ${port} `}${account}@${host()}`;
  return (
    <div className="cistern-stack">
      <ClipboardCopy isReadOnly textAriaLabel="Command to come in" hoverTip="Copy" clickTip="Copied">
        {line}
      </ClipboardCopy>
      {hostKey === null ? (
        <p className="cistern-quiet">The appliance gets its key for ssh when ssh is switched on for the first time.</p>
      ) : (
        <p className="cistern-wrap">
          The first time ssh shows the fingerprint of this appliance; it must be <code>{hostKey}</code>
        </p>
      )}
    </div>
  );
}
