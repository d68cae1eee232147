// A rule file of Prometheus: chosen or pasted; what of it was not taken is named.
import { Alert, Button, Form, Modal, ModalBody, ModalFooter, ModalHeader, TextArea } from '@patternfly/react-core';
import { useMutation } from '@tanstack/react-query';
import { type ChangeEvent, useRef, useState } from 'react';
import { answerOf, client } from '../../api/client.ts';
import { Field } from '../../forms/Field.tsx';
import { plural } from '../../words/format.ts';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';

export function ImportDialog(props: { onClose: () => void; onDone: () => Promise<unknown> }) {
  const [text, setText] = useState('');
  const chooser = useRef<HTMLInputElement>(null);
  const taking = useMutation({
    mutationFn: () => answerOf(client.POST('/api/recording-rules/import', { body: { text } })),
    onSuccess: props.onDone,
  });
  const { data } = taking;
  const empty = text.trim() === '';
  return (
    <Modal isOpen variant="medium" onClose={props.onClose} aria-labelledby="import-rules">
      <ModalHeader title="Import a rule file" labelId="import-rules" />
      <ModalBody>
        {data === undefined ? (
          <Form
            id="import-rules-form"
            onSubmit={(event) => {
              event.preventDefault();
              if (!empty && !taking.isPending) taking.mutate();
            }}
          >
            <p>The recording rules of a rule file of Prometheus are added. What cannot be taken is named.</p>
            <div>
              <Button variant="secondary" onClick={() => chooser.current?.click()}>
                Choose a file
              </Button>{' '}
              <span className="cistern-quiet">or paste its text.</span>
              <input
                ref={chooser}
                type="file"
                accept=".yml,.yaml,.rules"
                hidden
                aria-label="Rule file"
                onChange={async (event: ChangeEvent<HTMLInputElement>) => {
                  const [chosen] = event.target.files ?? [];
                  if (chosen !== undefined) setText(await chosen.text());
                }}
              />
            </div>
            <Field label="Text of the rule file" required>
              {(id) => (
                <TextArea
                  id={id}
                  value={text}
                  rows={12}
                  resizeOrientation="vertical"
                  spellCheck={false}
                  className="cistern-code"
                  onChange={(_event, content) => setText(content)}
                />
              )}
            </Field>
            <ProblemAlert error={taking.error} />
          </Form>
        ) : (
          <div className="cistern-stack">
            <Alert
              isInline
              variant={data.items.length > 0 ? 'success' : 'warning'}
              title={`${plural(data.items.length, 'rule')} added`}
            />
            {data.notTaken.length > 0 && (
              <section>
                <h2>Not taken</h2>
                <ul aria-label="Not taken">
                  {data.notTaken.map(({ line, what, reason }) => (
                    <li key={`${line} ${what} ${reason}`}>
                      {line !== null && <>Line {line}: </>}
                      {what}: {reason}
                    </li>
                  ))}
                </ul>
              </section>
            )}
          </div>
        )}
      </ModalBody>
      <ModalFooter>
        {data === undefined ? (
          <>
            <Button type="submit" form="import-rules-form" isAriaDisabled={empty} isLoading={taking.isPending}>
              Import
            </Button>
            <Button variant="link" onClick={props.onClose}>
              Cancel
            </Button>
            {empty && <span className="cistern-quiet">Choose a file first.</span>}
          </>
        ) : (
          <Button onClick={props.onClose}>Close</Button>
        )}
      </ModalFooter>
    </Modal>
  );
}
