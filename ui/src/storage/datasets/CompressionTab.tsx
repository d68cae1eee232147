// Which compression, with what it costs; and what each would make of this very data, tried out before it is chosen.
import { Alert, Button, Progress } from '@patternfly/react-core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { answerOf, client, type Schemas } from '../../api/client.ts';
import { useMayNot } from '../../api/session.ts';
import { Explained } from '../../forms/Explained.tsx';
import { FormShell } from '../../forms/FormShell.tsx';
import { ListTable } from '../../shells/ListTable.tsx';
import { bytes, digits } from '../../words/format.ts';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { CompressionField } from './CompressionField.tsx';
import { useChange } from './PropertiesTab.tsx';
import { compressionsQuery, type DatasetDetail } from './queries.ts';
import { useJob } from './useJob.ts';

type Estimate = Schemas['CompressionEstimate'];

function Levels({ estimate, present }: { estimate: Estimate; present: string }) {
  if (estimate.sampledBlocks === 0) {
    return <p>There is nothing in it yet that could be tried. Write some data first.</p>;
  }
  return (
    <>
      <p className="cistern-quiet">
        {bytes(estimate.sampledBytes)} of its own blocks of {bytes(estimate.blockBytes)} were read and compressed. The
        ratio of the whole is usually within a tenth of this; the cost was measured on this machine, on one core.
      </p>
      <ListTable
        label="Estimate"
        rows={estimate.levels}
        keyOf={(level) => level.compression}
        columns={[
          {
            title: 'Compression',
            cell: (level) => (
              <>
                {level.compression}
                {level.compression === present && <small className="cistern-quiet"> as it is now</small>}
              </>
            ),
          },
          { title: 'Ratio', cell: (level) => <>{digits(level.ratio)} : 1</> },
          {
            title: 'Cost',
            cell: (level) => (level.compression === 'off' ? 'none' : `${digits(level.nanosecondsPerByte)} ns a byte`),
          },
          { title: 'What it means', cell: (level) => level.sentence },
        ]}
      />
    </>
  );
}

export function CompressionTab({ dataset }: { dataset: DatasetDetail }) {
  const mayNot = useMayNot('administrator');
  const mayNotEstimate = useMayNot('operator');
  const queries = useQueryClient();
  const all = useQuery(compressionsQuery).data ?? [];
  const property = dataset.properties.find(({ name }) => name === 'compression');
  const present = property?.value ?? dataset.compression;
  const [chosen, setChosen] = useState(present);
  const change = useChange(dataset);
  const { watch, job, running, error } = useJob();
  const estimate = useMutation({
    mutationFn: () =>
      answerOf(
        client.POST('/api/datasets/{name}/estimate-compression', {
          params: { path: { name: dataset.name } },
          body: {},
        }),
      ),
    onSuccess: (started) => {
      watch(started.id);
      void queries.invalidateQueries({ queryKey: ['jobs'] });
    },
  });
  const why =
    mayNot ??
    (dataset.system ? 'The appliance itself lives on it.' : chosen === present ? 'It is set to this already.' : null);
  const result = job?.state === 'done' ? (job.result as Estimate) : null;
  return (
    <div className="cistern-stack">
      <FormShell
        submit="Use it from now on"
        busy={change.isPending}
        error={change.error}
        mayNot={why}
        onSubmit={() => change.mutate({ set: { compression: chosen } })}
        more={
          property?.source === 'local' && mayNot === null && !dataset.system ? (
            <Button
              variant="link"
              onClick={() =>
                change.mutate(
                  { inherit: ['compression'] },
                  {
                    onSuccess: (after) => setChosen(after.compression),
                  },
                )
              }
            >
              Reset to inherited
            </Button>
          ) : undefined
        }
      >
        <CompressionField
          value={chosen}
          onChange={setChosen}
          {...(!all.some(({ name }) => name === present) && { above: [present, present] })}
        />
        <p className="cistern-quiet">
          It applies to what is written from then on; existing data stays as it is.
          {property?.source === 'inherited' && ` Now inherited from ${property.from}.`}
        </p>
      </FormShell>
      <section>
        <h2>Before you choose</h2>
        <p>Samples of this dataset’s own blocks are compressed with each choice, the way ZFS would do it.</p>
        <div className="cistern-actions">
          <Explained why={mayNotEstimate}>
            <Button
              variant="secondary"
              isAriaDisabled={mayNotEstimate !== null || running}
              isLoading={running}
              onClick={() => estimate.mutate()}
            >
              Estimate
            </Button>
          </Explained>
        </div>
        <ProblemAlert error={estimate.error ?? error} />
        {running && (
          <div role="status">
            <Progress aria-label="Estimating" title={job?.step ?? 'Starting'} value={job?.percent ?? 0} size="sm" />
          </div>
        )}
        {result && <Levels estimate={result} present={present} />}
      </section>
      {dataset.encrypted && (
        <Alert component="p" isInline isPlain variant="info" title="Blocks are compressed before they are encrypted." />
      )}
    </div>
  );
}
