// What is destroyed with it, by number and size; and what must be destroyed first.
import { Button, Modal, ModalBody, ModalFooter, ModalHeader } from '@patternfly/react-core';
import { useQuery } from '@tanstack/react-query';
import { answerOf, client } from '../../api/client.ts';
import { ifMatch } from '../../api/edits.ts';
import { ConfirmByName } from '../../forms/ConfirmByName.tsx';
import { bytes, plural } from '../../words/format.ts';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { hindrancesQuery } from './queries.ts';

export function DestroyDataset(props: {
  name: string;
  etag: string | undefined;
  onClose: () => void;
  onDone: () => void;
}) {
  const { name, onClose } = props;
  const { data, error } = useQuery({ ...hindrancesQuery(name), staleTime: 0 });
  if (data === undefined || data.refused !== null || data.items.length > 0) {
    return (
      <Modal isOpen variant="small" onClose={onClose} aria-labelledby="hinder-title">
        <ModalHeader title={`“${name}” cannot be destroyed yet`} labelId="hinder-title" />
        <ModalBody>
          {error ? (
            <ProblemAlert error={error} />
          ) : data === undefined ? (
            'Looking at what depends on it …'
          ) : (
            <>
              <p>{data.refused ?? 'Something still depends on it. Release or destroy this first:'}</p>
              <ul className="cistern-list">
                {data.items.slice(0, 50).map((item) => (
                  <li key={item.path + item.message}>
                    <strong>{item.path}</strong> {item.message}
                  </li>
                ))}
              </ul>
              {data.items.length > 50 && <p>And {plural(data.items.length - 50, 'more')}.</p>}
            </>
          )}
        </ModalBody>
        <ModalFooter>
          <Button onClick={onClose}>Close</Button>
        </ModalFooter>
      </Modal>
    );
  }
  const along = [
    ...(data.datasets > 0 ? [`${plural(data.datasets, 'dataset')} below it`] : []),
    ...(data.snapshots > 0 ? [plural(data.snapshots, 'snapshot')] : []),
  ].join(' and ');
  return (
    <ConfirmByName
      title={`Destroy “${name}”?`}
      name={name}
      action="Destroy the dataset"
      onClose={onClose}
      onConfirm={async () => {
        await answerOf(
          client.DELETE('/api/datasets/{name}', {
            params: { path: { name }, header: ifMatch(props) },
            body: { confirm: name, recursive: data.datasets + data.snapshots > 0 },
          }),
        );
        // Away from its page first: reading it again would only fail.
        props.onDone();
      }}
    >
      <p>
        {bytes(data.bytes)} are lost{along && `, with ${along}`}. This cannot be undone.
      </p>
    </ConfirmByName>
  );
}
