// Going back: what would be lost, by name and size, before anything is done; and a way that loses nothing.
import { Alert, Button, Progress, Radio } from '@patternfly/react-core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'react-router';
import { answerOf, client } from '../../api/client.ts';
import { useMayNot } from '../../api/session.ts';
import { ConfirmByName } from '../../forms/ConfirmByName.tsx';
import { Explained } from '../../forms/Explained.tsx';
import { Waiting } from '../../shells/Waiting.tsx';
import { Ago } from '../../words/Ago.tsx';
import { bytes, plural } from '../../words/format.ts';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { datasetPath, rollbackQuery } from '../datasets/queries.ts';
import { useJob } from '../datasets/useJob.ts';

export function Rollback({ name }: { name: string }) {
  const mayNot = useMayNot('administrator');
  const queries = useQueryClient();
  const { data, error, refetch } = useQuery(rollbackQuery(name));
  const [wanted, setKeep] = useState<boolean | null>(null);
  const [sure, setSure] = useState(false);
  const { watch, job, running, done, error: failure } = useJob();
  if (job !== undefined || running) {
    const keptAs = (job?.result as { keptAs?: string } | null)?.keptAs;
    return (
      <div role="status" className="cistern-stack">
        {running && <Progress aria-label="Rolling back" title={job?.step ?? 'Starting'} value={job?.percent ?? 0} />}
        <ProblemAlert error={failure} />
        {done && (
          <p className="cistern-sentence">
            It is as it was at “{name}”.
            {keptAs && (
              <>
                {' '}
                What there was before is kept as <Link to={datasetPath(keptAs)}>{keptAs}</Link>; destroy it when it is
                not needed any more.
              </>
            )}
          </p>
        )}
      </div>
    );
  }
  if (data === undefined) return <Waiting on={{ error, refetch }} />;
  const keep = wanted ?? data.cannotKeep === null;
  const why = mayNot ?? (keep ? data.cannotKeep : data.cannotDestroy);
  return (
    <div className="cistern-stack">
      <p className="cistern-sentence">{data.sentence}</p>
      {data.services.length > 0 && (
        <Alert component="p" isInline variant="info" title="The Telemetry store is stopped meanwhile">
          It starts again in any case. What is sent to it in those seconds is not taken in.
        </Alert>
      )}
      {data.newer.length > 0 && (
        <section>
          <h2>{plural(data.newer.length, 'newer snapshot')}</h2>
          <ul className="cistern-list" aria-label="Newer snapshots">
            {data.newer.slice(-20).map((one) => (
              <li key={one.name}>
                <strong className="cistern-name">{one.name}</strong>, <Ago time={one.createdAt} />, {bytes(one.used)}{' '}
                only in it{one.keptBy && `. ${one.keptBy}`}
              </li>
            ))}
          </ul>
          {data.newer.length > 20 && <p>And {plural(data.newer.length - 20, 'more')}.</p>}
        </section>
      )}
      <fieldset className="cistern-choices">
        <legend>What there is now</legend>
        <Radio
          id="rollback-keep"
          name="rollback"
          className="cistern-choice"
          label={
            <>
              <strong>Keep it as a dataset of its own</strong>
              {data.cannotKeep === null && <em> recommended</em>}
            </>
          }
          description={
            data.cannotKeep ??
            'A safety snapshot is taken; all there is now, with the newer snapshots, becomes a dataset of its own. Nothing is lost.'
          }
          isChecked={keep}
          isDisabled={data.cannotKeep !== null}
          onChange={() => setKeep(true)}
        />
        <Radio
          id="rollback-lose"
          name="rollback"
          className="cistern-choice"
          label={<strong>Lose it</strong>}
          description={
            data.cannotDestroy ??
            `${bytes(data.writtenSince)} written since${data.newer.length > 0 ? `, and ${plural(data.newer.length, 'newer snapshot')} with ${bytes(data.newerBytes)}` : ''}. This cannot be undone.`
          }
          isChecked={!keep}
          onChange={() => setKeep(false)}
        />
      </fieldset>
      <div className="cistern-actions">
        <Explained why={why}>
          <Button variant="danger" isAriaDisabled={why !== null} onClick={() => setSure(true)}>
            Roll back
          </Button>
        </Explained>
      </div>
      {sure && (
        <ConfirmByName
          title={`Roll back “${data.dataset}”?`}
          name={data.dataset}
          action="Roll back"
          onClose={() => setSure(false)}
          onConfirm={async () => {
            const started = await answerOf(
              client.POST('/api/snapshots/{name}/rollback', {
                params: { path: { name } },
                body: { confirm: data.dataset, keep, destroyNewer: !keep },
              }),
            );
            watch(started.id);
            await queries.invalidateQueries({ queryKey: ['jobs'] });
          }}
        >
          <p>
            {data.sentence}{' '}
            {keep ? 'What there is now is kept as a dataset of its own.' : 'What there is now is lost for good.'}
          </p>
        </ConfirmByName>
      )}
    </div>
  );
}
