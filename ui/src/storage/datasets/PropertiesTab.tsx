// The properties with where their values come from. What is set here can be reset to what is inherited.
import { Button, FormSelect, FormSelectOption, Label, Modal, ModalBody, ModalHeader } from '@patternfly/react-core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'react-router';
import { answerOf, client, type Schemas } from '../../api/client.ts';
import { useEdited } from '../../api/edits.ts';
import { asProblem, fieldMessage } from '../../api/problem.ts';
import { useMayNot } from '../../api/session.ts';
import { Explained } from '../../forms/Explained.tsx';
import { Field, TextField } from '../../forms/Field.tsx';
import { FormShell } from '../../forms/FormShell.tsx';
import { type Column, ListTable } from '../../shells/ListTable.tsx';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { type DatasetDetail, datasetPath } from './queries.ts';
import { choices, isSize, shown, typed } from './words.ts';

type Property = Schemas['DatasetProperty'];
type Change = Schemas['DatasetChange'];

/** @param editing something is being typed: what it is compared with is the dataset as it was then */
export function useChange(dataset: DatasetDetail, editing = false) {
  const queries = useQueryClient();
  const path = { name: dataset.name };
  const edit = useEdited({
    now: dataset,
    read: () => answerOf(client.GET('/api/datasets/{name}', { params: { path } })),
    onLoad: () => void queries.invalidateQueries({ queryKey: ['datasets'] }),
    editing,
  });
  return useMutation({
    mutationFn: (body: Change) =>
      edit.guard(answerOf(client.PUT('/api/datasets/{name}', { params: { path, header: edit.header }, body }))),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['datasets'] }),
  });
}

function Source({ property }: { property: Property }) {
  switch (property.source) {
    case 'local':
      return (
        <Label isCompact color="blue">
          set here
        </Label>
      );
    case 'inherited':
      return (
        <span className="cistern-quiet">
          inherited from {property.from && <Link to={datasetPath(property.from)}>{property.from}</Link>}
        </span>
      );
    case 'received':
      return <span className="cistern-quiet">came with a replication</span>;
    case 'temporary':
      return <span className="cistern-quiet">until it is unmounted</span>;
    default:
      return <span className="cistern-quiet">{property.source === 'default' ? 'ZFS’ default' : 'fixed'}</span>;
  }
}

function EditProperty(props: { dataset: DatasetDetail; property: Property; onClose: () => void }) {
  const { dataset, property, onClose } = props;
  const [text, setText] = useState(shown(property.name, property.value));
  const change = useChange(dataset, true);
  const known = choices[property.name];
  const [chosen, setChosen] = useState(property.value);
  const value = known ? chosen : typed(property.name, text);
  const problem = change.error ? asProblem(change.error) : null;
  const field = `/set/${property.name}`;
  return (
    <Modal isOpen variant="small" onClose={onClose} aria-labelledby="edit-title">
      <ModalHeader title={`Change ${property.name}`} labelId="edit-title" />
      <ModalBody>
        <FormShell
          submit="Save"
          busy={change.isPending}
          error={change.error}
          fields={[field]}
          mayNot={
            value === undefined
              ? isSize(property.name)
                ? 'Write it as a size, such as 10 GiB.'
                : 'Give a value.'
              : null
          }
          onSubmit={() => change.mutate({ set: { [property.name]: value as string } }, { onSuccess: onClose })}
          cancel={onClose}
        >
          {known ? (
            <Field label={property.name} help={property.explanation} error={fieldMessage(problem, field)}>
              {(id, described) => (
                <FormSelect
                  id={id}
                  value={chosen}
                  aria-describedby={described}
                  onChange={(_event, next) => setChosen(next)}
                >
                  {[...new Set([...known, property.value])].map((one) => (
                    <FormSelectOption key={one} value={one} label={shown(property.name, one)} />
                  ))}
                </FormSelect>
              )}
            </Field>
          ) : (
            <TextField
              label={property.name}
              value={text}
              onChange={setText}
              help={property.explanation}
              error={fieldMessage(problem, field)}
              autoComplete="off"
              autoFocus
            />
          )}
        </FormShell>
      </ModalBody>
    </Modal>
  );
}

const columns: readonly Column<Property>[] = [
  {
    title: 'Property',
    cell: ({ name, explanation }) => (
      <div>
        {name}
        <div className="cistern-quiet">{explanation}</div>
      </div>
    ),
  },
  { title: 'Value', cell: ({ name, value }) => <span className="cistern-name">{shown(name, value)}</span> },
  { title: 'Where from', cell: (property) => <Source property={property} /> },
];

export function PropertiesTab({ dataset }: { dataset: DatasetDetail }) {
  const mayNot = useMayNot('administrator');
  const [editing, setEditing] = useState<Property | null>(null);
  const change = useChange(dataset);
  const whyNot = (property: Property) =>
    mayNot ??
    (dataset.system
      ? 'The appliance itself lives on it.'
      : property.settable
        ? null
        : 'It is decided when the dataset is made.');
  const actions: Column<Property> = {
    title: 'Actions',
    control: 'actions',
    cell: (property) => {
      const why = whyNot(property);
      return (
        <div className="cistern-row-actions">
          <Explained why={why}>
            <Button
              variant="link"
              isInline
              isAriaDisabled={why !== null}
              aria-label={`Change ${property.name}`}
              onClick={() => setEditing(property)}
            >
              Change
            </Button>
          </Explained>
          {property.source === 'local' && property.inheritable && why === null && (
            <Button
              variant="link"
              isInline
              aria-label={`Reset to inherited: ${property.name}`}
              onClick={() => change.mutate({ inherit: [property.name] })}
            >
              Reset to inherited
            </Button>
          )}
        </div>
      );
    },
  };
  // Compression has a page of its own, with what each choice costs.
  const properties = dataset.properties.filter(({ name }) => name !== 'compression');
  return (
    <>
      <ProblemAlert error={change.error} />
      <ListTable label="Properties" columns={[...columns, actions]} rows={properties} keyOf={({ name }) => name} />
      {editing && <EditProperty dataset={dataset} property={editing} onClose={() => setEditing(null)} />}
    </>
  );
}
