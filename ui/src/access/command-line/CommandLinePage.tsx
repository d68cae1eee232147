// The command line for the visitor's own machine: the program, the lines that install it, and its sum.
import { Title } from '@patternfly/react-core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Field } from '../../forms/Field.tsx';
import { Facts } from '../../shells/Facts.tsx';
import { PageShell } from '../../shells/PageShell.tsx';
import { bytes } from '../../words/format.ts';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { type Commands, checkOf, FINGERPRINT, forVisitor, linesFor, titleOf } from './commands.ts';

async function readList(signal: AbortSignal): Promise<Commands> {
  const answer = await fetch('/command-line/list.json', { signal });
  if (!answer.ok) throw new Error(`The list of programs cannot be read: the web server answered ${answer.status}.`);
  return answer.json();
}

export default function CommandLinePage() {
  const list = useQuery({ queryKey: ['command-line'], queryFn: ({ signal }) => readList(signal) });
  const [file, setFile] = useState('');
  const programs = forVisitor(list.data?.programs ?? [], navigator.userAgent);
  const program = programs.find((one) => one.file === file) ?? programs[0];
  return (
    <PageShell
      title="Command line"
      sentence="The command cistern does whatever these pages do, from a machine of your own."
    >
      <ProblemAlert error={list.error} retry={() => list.refetch()} />
      {program && (
        <div className="cistern-stack">
          <Field label="System">
            {(id) => (
              <select
                id={id}
                className="cistern-select"
                value={program.file}
                onChange={(event) => setFile(event.target.value)}
              >
                {programs.map((one) => (
                  <option key={one.file} value={one.file}>
                    {titleOf(one)}
                  </option>
                ))}
              </select>
            )}
          </Field>
          <section aria-labelledby="command-line-paste">
            <Title headingLevel="h2" size="lg" id="command-line-paste">
              Paste this
            </Title>
            <p>
              Into {program.system === 'windows' ? 'PowerShell' : 'a shell'}. The lines compare the sum of what was
              downloaded, which is why curl need not know the certificate. In place of {FINGERPRINT} goes the
              certificate’s SHA-256, as the appliance’s console shows it; leave <code>--fingerprint</code> out where
              your system trusts the certificate.
            </p>
            {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it */}
            <section className="cistern-exchange" tabIndex={0} aria-label={`Lines for ${titleOf(program)}`}>
              <pre>{linesFor(program, location.origin)}</pre>
            </section>
          </section>
          <section aria-labelledby="command-line-file">
            <Title headingLevel="h2" size="lg" id="command-line-file">
              Or download it here
            </Title>
            <Facts
              isHorizontal
              facts={[
                [
                  'File',
                  <a key="file" href={`/command-line/${program.file}`} download={program.file}>
                    {program.file}
                  </a>,
                ],
                ['Size', bytes(program.bytes)],
                ['Version', list.data?.version],
                ['SHA-256', <code key="sum">{program.sha256}</code>],
                ['Compare with', <code key="check">{checkOf(program)}</code>],
              ]}
            />
            {program.system === 'darwin' && (
              <p>
                A browser marks what it downloads, and macOS then refuses a program that Apple has not seen:{' '}
                <code>xattr -d com.apple.quarantine cistern</code> takes the mark away. What curl downloads has none.
              </p>
            )}
            {program.file === `cistern-${program.system}-${program.architecture}` && (
              <p>
                A browser does not let it run: <code>chmod 755 {program.file}</code> does.
              </p>
            )}
            <p>
              The sums of all: <a href="/command-line/SHA256SUMS">SHA256SUMS</a>.
            </p>
          </section>
        </div>
      )}
    </PageShell>
  );
}
