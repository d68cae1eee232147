// What a person says of a metric that its sender does not: unit, description, limit line.
import { Button, Form, Modal, ModalBody, ModalFooter, ModalHeader } from '@patternfly/react-core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useId, useState } from 'react';
import { answerOf, client, type Schemas } from '../../api/client.ts';
import { keepTyped, useEdited } from '../../api/edits.ts';
import { asProblem, fieldMessage } from '../../api/problem.ts';
import type { Metric } from '../../api/telemetry.ts';
import { TextField } from '../../forms/Field.tsx';
import { parseQuantity, quantity } from '../../words/format.ts';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { CHOICES, limitExample } from '../../words/units.ts';

type Meaning = Schemas['MetricMeaning'];
type Typed = { unit: string; description: string; limit: string };

const typedOf = ({ unit, description, limit }: Meaning): Typed => ({
  ...{ unit, description, limit: limit === null ? '' : quantity(limit, unit || 'count') },
});

const meaningQuery = (name: string) => ({
  queryKey: ['metric-meanings', name],
  queryFn: ({ signal }: { signal: AbortSignal }) =>
    answerOf(client.GET('/api/metric-meanings/{name}', { params: { path: { name } }, signal })),
});

function Fields({ metric, meaning, onClose }: { metric: Metric; meaning: Meaning; onClose: () => void }) {
  const form = useId();
  const choices = useId();
  const queries = useQueryClient();
  const [typed, setTyped] = useState(() => typedOf(meaning));
  const path = { name: metric.name };
  const edit = useEdited({
    now: meaning,
    read: () => answerOf(client.GET('/api/metric-meanings/{name}', { params: { path } })),
    onLoad: (current, before) => setTyped((mine) => keepTyped(mine, typedOf(before), typedOf(current))),
  });
  const unit = typed.unit.trim() || (metric.unitFrom === 'person' ? '' : metric.unit) || 'count';
  const limit = typed.limit.trim() === '' ? null : parseQuantity(typed.limit, unit);
  const done = async () => {
    await Promise.all(['metric-meanings', 'metrics'].map((topic) => queries.invalidateQueries({ queryKey: [topic] })));
    onClose();
  };
  const save = useMutation({
    mutationFn: (body: Schemas['MetricMeaningInput']) =>
      edit.guard(answerOf(client.PUT('/api/metric-meanings/{name}', { params: { path, header: edit.header }, body }))),
    onSuccess: done,
  });
  const clear = useMutation({
    mutationFn: () =>
      edit.guard(answerOf(client.DELETE('/api/metric-meanings/{name}', { params: { path, header: edit.header } }))),
    onSuccess: done,
  });
  const said = meaning.unit !== '' || meaning.description !== '' || meaning.limit !== null;
  const problem = save.error ? asProblem(save.error) : null;
  const sender = metric.unitFrom === 'person' ? undefined : metric.unit;
  return (
    <>
      <ModalBody>
        <ProblemAlert error={save.error ?? clear.error} />
        <Form
          id={form}
          onSubmit={(event) => {
            event.preventDefault();
            const { unit: word, description } = typed;
            if (limit !== undefined) save.mutate({ unit: word.trim(), description: description.trim(), limit });
          }}
        >
          <TextField
            label="Unit"
            value={typed.unit}
            onChange={(value) => setTyped({ ...typed, unit: value })}
            placeholder={sender ?? 'not known'}
            list={choices}
            help="One of the list, or a word of your own. Left empty, the unit is what the sender or the name says."
            error={fieldMessage(problem, '/unit')}
          />
          <datalist id={choices}>
            {CHOICES.map((one) => (
              <option key={one} value={one} />
            ))}
          </datalist>
          <TextField
            label="Description"
            value={typed.description}
            onChange={(value) => setTyped({ ...typed, description: value })}
            help="Stands above its charts."
            error={fieldMessage(problem, '/description')}
            autoComplete="off"
          />
          <TextField
            label="Limit line"
            value={typed.limit}
            onChange={(value) => setTyped({ ...typed, limit: value })}
            placeholder={`none, or for instance ${limitExample(unit)}`}
            help="Is drawn into its charts. For a message when it is exceeded, make a threshold."
            error={limit === undefined ? 'A number, as 1.5, 250 ms or 80 %' : fieldMessage(problem, '/limit')}
            autoComplete="off"
          />
        </Form>
      </ModalBody>
      <ModalFooter>
        <Button type="submit" form={form} isDisabled={limit === undefined} isLoading={save.isPending}>
          Save
        </Button>
        {said && (
          <Button variant="secondary" isLoading={clear.isPending} onClick={() => clear.mutate()}>
            Take it back
          </Button>
        )}
        <Button variant="link" onClick={onClose}>
          Cancel
        </Button>
      </ModalFooter>
    </>
  );
}

export function MeaningForm({ metric, onClose }: { metric: Metric; onClose: () => void }) {
  const { data, error, refetch } = useQuery(meaningQuery(metric.name));
  const title = useId();
  return (
    <Modal isOpen variant="small" onClose={onClose} aria-labelledby={title}>
      <ModalHeader title={`What ${metric.name} means`} labelId={title} />
      {data === undefined ? (
        <ModalBody>
          {error ? <ProblemAlert error={error} retry={() => void refetch()} /> : <p>Reading what is known…</p>}
        </ModalBody>
      ) : (
        <Fields metric={metric} meaning={data} onClose={onClose} />
      )}
    </Modal>
  );
}
