// Puts a chart onto a worksheet of one's own, or a new one.
import {
  Button,
  Form,
  FormGroup,
  FormSelect,
  FormSelectOption,
  Modal,
  ModalBody,
  ModalFooter,
  ModalHeader,
  TextInput,
} from '@patternfly/react-core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useNavigate } from 'react-router';
import { answerOf, client } from '../../api/client.ts';
import { ifMatch } from '../../api/edits.ts';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { worksheetsQuery } from './queries.ts';
import { type Chart, newChartId, type Worksheet, type WorksheetInput } from './sheet.ts';

/** Of a worksheet what is written. */
export function inputOf(worksheet: Worksheet): WorksheetInput {
  const { name, description, shared, rangeSeconds, end, charts, annotations, variables } = worksheet;
  return { name, description, shared, rangeSeconds, end, charts, annotations, ...(variables && { variables }) };
}

export function AddToWorksheet({ chart, onClose }: { chart: Chart; onClose: () => void }) {
  const { data } = useQuery(worksheetsQuery);
  const queries = useQueryClient();
  const navigate = useNavigate();
  const own = (data ?? []).filter(({ mayChange }) => mayChange);
  const [chosen, setChosen] = useState('');
  const [name, setName] = useState('');
  const add = useMutation({
    mutationFn: () => {
      const worksheet = own.find(({ id }) => id === chosen);
      if (worksheet === undefined) {
        const body = { shared: false, description: '', rangeSeconds: 300, end: null, annotations: [] };
        return answerOf(
          client.POST('/api/worksheets', { body: { ...body, name: name.trim(), charts: [{ ...chart, id: 'c1' }] } }),
        );
      }
      const charts = [...worksheet.charts, { ...chart, id: newChartId(worksheet.charts) }];
      return answerOf(
        client.PUT('/api/worksheets/{id}', {
          params: { path: { id: worksheet.id }, header: ifMatch(worksheet) },
          body: { ...inputOf(worksheet), charts },
        }),
      );
    },
    onSuccess: ({ id }) => {
      void queries.invalidateQueries({ queryKey: ['worksheets'] });
      onClose();
      void navigate(`/analytics/worksheets/${id}`);
    },
  });
  const missing = chosen === '' && name.trim() === '';
  return (
    <Modal isOpen variant="small" onClose={onClose} aria-labelledby="add-to-worksheet">
      <ModalHeader title="Add to worksheet" labelId="add-to-worksheet" />
      <ModalBody>
        <ProblemAlert error={add.error} />
        <Form
          id="add-to-worksheet-form"
          onSubmit={(event) => {
            event.preventDefault();
            if (!missing) add.mutate();
          }}
        >
          <FormGroup label="Worksheet" fieldId="worksheet">
            <FormSelect id="worksheet" value={chosen} onChange={(_event, value) => setChosen(value)}>
              <FormSelectOption value="" label="A new one" />
              {own.map((worksheet) => (
                <FormSelectOption key={worksheet.id} value={worksheet.id} label={worksheet.name} />
              ))}
            </FormSelect>
          </FormGroup>
          {chosen === '' && (
            <FormGroup label="Its name" fieldId="worksheet-name">
              <TextInput
                id="worksheet-name"
                value={name}
                onChange={(_event, value) => setName(value)}
                maxLength={120}
              />
            </FormGroup>
          )}
        </Form>
      </ModalBody>
      <ModalFooter>
        <Button type="submit" form="add-to-worksheet-form" isDisabled={missing} isLoading={add.isPending}>
          Add
        </Button>
        <Button variant="link" onClick={onClose}>
          Cancel
        </Button>
        {missing && <span className="cistern-quiet">Give the new worksheet a name.</span>}
      </ModalFooter>
    </Modal>
  );
}
