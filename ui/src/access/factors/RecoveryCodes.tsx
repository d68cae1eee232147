// Recovery codes, the one time that they are shown: to be copied, kept as a file, or printed.
import { Button } from '@patternfly/react-core';
import { useState } from 'react';

export function RecoveryCodes({ user, codes, onDone }: { user: string; codes: readonly string[]; onDone: () => void }) {
  const [copied, setCopied] = useState(false);
  const appliance = window.location.host;
  const text = `Recovery codes of ${user} on ${appliance}\nEach is good once, besides the password.\n\n${codes.join('\n')}\n`;
  return (
    <div className="cistern-form" role="status">
      <p className="cistern-sentence">
        These recovery codes are shown this once. Keep them where you do not keep your phone: each stands for one code
        of the app, once. Those before are good for nothing now.
      </p>
      <div className="cistern-recovery">
        <p className="cistern-printed">
          Recovery codes of {user} on {appliance}. Each is good once, besides the password.
        </p>
        <ol aria-label="Recovery codes">
          {codes.map((code) => (
            <li key={code}>
              <code>{code}</code>
            </li>
          ))}
        </ol>
      </div>
      <div className="cistern-buttons">
        <Button
          variant="secondary"
          onClick={() => void navigator.clipboard.writeText(text).then(() => setCopied(true))}
        >
          {copied ? 'Copied' : 'Copy'}
        </Button>
        <Button
          variant="secondary"
          component="a"
          href={`data:text/plain;charset=utf-8,${encodeURIComponent(text)}`}
          download={`recovery-codes-${user}.txt`}
        >
          Download
        </Button>
        <Button variant="secondary" onClick={() => window.print()}>
          Print
        </Button>
      </div>
      <div>
        <Button onClick={onDone}>I have kept them</Button>
      </div>
    </div>
  );
}
