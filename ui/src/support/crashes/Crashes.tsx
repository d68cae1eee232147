// Processes that crashed: each way it happened once, with how often, its stack, and its last log lines.
import { Button, Card, CardBody, CardTitle, ExpandableSection } from '@patternfly/react-core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { answerOf, client, type Schemas } from '../../api/client.ts';
import { crashesQuery } from '../../api/queries.ts';
import { useMayNot } from '../../api/session.ts';
import { Explained } from '../../forms/Explained.tsx';
import { Ago } from '../../words/Ago.tsx';
import { ConditionIcon } from '../../words/ConditionIcon.tsx';
import { plural } from '../../words/format.ts';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';

type Crash = Schemas['Crash'];

function how(crash: Crash): string {
  if (crash.recording) return 'ended a moment ago';
  if (crash.kind === 'kernel') return 'the machine itself went down';
  return crash.signal ? `ended by ${crash.signal}` : 'ended by an error that nothing handled';
}

function CrashCard({ crash, mayNot }: { crash: Crash; mayNot: string | null }) {
  const queries = useQueryClient();
  const dismiss = useMutation({
    mutationFn: () => answerOf(client.POST('/api/crashes/{id}/dismiss', { params: { path: { id: crash.id } } })),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['crashes'] }),
  });
  const name = crash.process === crash.service ? crash.service : `${crash.service} (${crash.process})`;
  return (
    <Card component="section" aria-label={`Crash of ${crash.service}`}>
      <CardTitle component="h3">
        <ConditionIcon state={crash.dismissed ? 'info' : 'warning'} /> {name}, {how(crash)}
      </CardTitle>
      <CardBody>
        <p>
          {plural(crash.count, 'time')}, last <Ago time={crash.lastAt} />
          {crash.count > 1 && (
            <>
              , first <Ago time={crash.firstAt} />
            </>
          )}
          . Version {crash.version}.{crash.dismissed && ' It has been dismissed.'}
        </p>
        {crash.recording && <p>Its memory is being read; where it stood will be here when that is done.</p>}
        {crash.reason && (
          <p>
            <code>{crash.reason}</code>
          </p>
        )}
        {crash.stacks !== '' && (
          <ExpandableSection toggleText="Stack">
            {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by the keyboard */}
            <pre className="cistern-stacks" tabIndex={0}>
              {crash.stacks}
            </pre>
          </ExpandableSection>
        )}
        {crash.log.length > 0 && (
          <ExpandableSection toggleText="Its last log lines">
            {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by the keyboard */}
            <pre className="cistern-stacks" tabIndex={0}>
              {crash.log.join('\n')}
            </pre>
          </ExpandableSection>
        )}
        {!crash.dismissed && !crash.recording && (
          <div className="cistern-actions">
            <Explained why={mayNot}>
              <Button
                variant="link"
                isAriaDisabled={mayNot !== null}
                isLoading={dismiss.isPending}
                onClick={() => dismiss.mutate()}
                aria-label={`Dismiss the crash of ${crash.service}`}
              >
                Dismiss
              </Button>
            </Explained>
          </div>
        )}
        <ProblemAlert error={dismiss.error} />
      </CardBody>
    </Card>
  );
}

export function Crashes() {
  const mayNot = useMayNot('operator');
  const { data, error, refetch } = useQuery({ ...crashesQuery, enabled: mayNot === null });
  return (
    <div className="cistern-stack">
      {error && <ProblemAlert error={error} retry={() => void refetch()} stale={data !== undefined} />}
      {data?.length === 0 && <p>No process of the appliance has crashed.</p>}
      {data?.map((crash) => (
        <CrashCard key={crash.id} crash={crash} mayNot={mayNot} />
      ))}
    </div>
  );
}
