// What a worksheet is called and who may see it; and a note at a moment.
import {
  Button,
  Checkbox,
  Form,
  FormGroup,
  Modal,
  ModalBody,
  ModalFooter,
  ModalHeader,
  TextArea,
} from '@patternfly/react-core';
import { type ReactNode, use, useState } from 'react';
import type { Schemas } from '../../api/client.ts';
import { SessionContext } from '../../api/session.ts';
import { TextField } from '../../forms/Field.tsx';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import type { Worksheet } from './sheet.ts';

type Head = Pick<Worksheet, 'name' | 'description' | 'shared'>;

function Dialog(props: {
  title: string;
  action: string;
  missing: string | null;
  onClose: () => void;
  onDone: () => Promise<unknown>;
  children: ReactNode;
}) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const done = async () => {
    if (props.missing !== null || busy) return;
    setBusy(true);
    try {
      await props.onDone();
      props.onClose();
    } catch (thrown) {
      setError(thrown);
      setBusy(false);
    }
  };
  return (
    <Modal isOpen variant="small" onClose={props.onClose} aria-labelledby="worksheet-dialog">
      <ModalHeader title={props.title} labelId="worksheet-dialog" />
      <ModalBody>
        <Form
          id="worksheet-form"
          onSubmit={(event) => {
            event.preventDefault();
            void done();
          }}
        >
          {props.children}
        </Form>
        <ProblemAlert error={error} />
      </ModalBody>
      <ModalFooter>
        <Button type="submit" form="worksheet-form" isAriaDisabled={props.missing !== null} isLoading={busy}>
          {props.action}
        </Button>
        <Button variant="link" onClick={props.onClose}>
          Cancel
        </Button>
        {props.missing !== null && <span className="cistern-quiet">{props.missing}</span>}
      </ModalFooter>
    </Modal>
  );
}

export function WorksheetForm(props: {
  title: string;
  action: string;
  start: Head;
  onClose: () => void;
  onDone: (head: Head) => Promise<unknown>;
}) {
  const [name, setName] = useState(props.start.name);
  const [description, setDescription] = useState(props.start.description);
  const [shared, setShared] = useState(props.start.shared);
  return (
    <Dialog
      title={props.title}
      action={props.action}
      missing={name.trim() === '' ? 'Give it a name.' : null}
      onClose={props.onClose}
      onDone={() => props.onDone({ name: name.trim(), description, shared })}
    >
      <TextField label="Name" value={name} onChange={setName} autoFocus />
      <FormGroup label="Description" fieldId="worksheet-description">
        <TextArea
          id="worksheet-description"
          value={description}
          onChange={(_event, value) => setDescription(value)}
          maxLength={2000}
          rows={3}
        />
      </FormGroup>
      <Checkbox
        id="worksheet-shared"
        label="Everyone may view it"
        isChecked={shared}
        onChange={(_event, value) => setShared(value)}
      />
    </Dialog>
  );
}

export function NoteForm(props: {
  time: number;
  onClose: () => void;
  onDone: (note: Schemas['Annotation']) => Promise<unknown>;
}) {
  const [text, setText] = useState('');
  const user = use(SessionContext);
  const at = new Date(props.time * 1000);
  return (
    <Dialog
      title={`A note at ${at.toLocaleString()}`}
      action="Add"
      missing={text.trim() === '' ? 'Write something.' : null}
      onClose={props.onClose}
      onDone={() => props.onDone({ time: at.toISOString(), text: text.trim(), by: user.name })}
    >
      <TextField label="Note" value={text} onChange={setText} autoFocus />
    </Dialog>
  );
}
