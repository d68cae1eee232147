// Another side for a disk or a mirror. Of the system pool: a second disk that the appliance starts from.
import { Modal, ModalBody, ModalHeader, Radio } from '@patternfly/react-core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { answerOf, client } from '../../api/client.ts';
import { disksQuery } from '../../api/queries.ts';
import { FormShell } from '../../forms/FormShell.tsx';
import { bytes, exactBytes } from '../../words/format.ts';
import { diskName } from '../disks/DiskTile.tsx';
import { type Disk, deviceOf, type Pool, type Vdev } from './queries.ts';
import { useStorageRead } from './usePoolAction.ts';

export function AttachDisk({ pool, beside, onClose }: { pool: Pool; beside: Vdev; onClose: () => void }) {
  const read = useStorageRead();
  const disks = useQuery({ ...disksQuery, refetchInterval: 3_000 }).data?.items ?? [];
  const old = disks.find(({ id }) => id === beside.diskId);
  const [wanted, setWanted] = useState<string | null>(null);
  const fits = (disk: Disk) => old === undefined || disk.bytes >= old.bytes;
  const free = disks.filter(({ state }) => state === 'available').sort((a, b) => a.bytes - b.bytes);
  const chosen = free.find((disk) => disk.id === wanted && fits(disk)) ?? free.find(fits);
  const attach = useMutation({
    mutationFn: (disk: string) =>
      answerOf(
        client.POST('/api/pools/{name}/attach', {
          params: { path: { name: pool.name } },
          body: { device: deviceOf(beside), disk },
        }),
      ),
    onSuccess: onClose,
    onSettled: read,
  });
  const name = old ? diskName(old) : beside.name;
  return (
    <Modal isOpen variant="medium" onClose={onClose} aria-labelledby="attach-title">
      <ModalHeader
        title={pool.system ? 'Add a second system disk' : `Attach another disk beside ${name}`}
        labelId="attach-title"
      />
      <ModalBody>
        <FormShell
          submit={pool.system ? 'Add the disk' : 'Attach the disk'}
          busy={attach.isPending}
          error={attach.error}
          mayNot={chosen === undefined ? 'No free disk is large enough.' : null}
          onSubmit={() => chosen && attach.mutate(chosen.id)}
          cancel={onClose}
        >
          <p>
            {pool.system
              ? `It gets a copy of everything on ${name}, and the appliance then starts from either. When one fails, it runs on.`
              : `It gets a copy of everything on ${name}: the data then survive the loss of one disk more.`}{' '}
            Everything on the chosen disk is erased.
          </p>
          <fieldset className="cistern-choices">
            <legend>Disk</legend>
            {free.map((disk) => (
              <Radio
                key={disk.id}
                id={`attach-${disk.id}`}
                name="attach"
                className="cistern-choice"
                label={
                  <>
                    <strong>{diskName(disk)}</strong> <span title={exactBytes(disk.bytes)}>{bytes(disk.bytes)}</span>
                  </>
                }
                description={
                  fits(disk)
                    ? `${disk.model}, ${disk.path}`
                    : `It holds ${bytes(disk.bytes)}; ${bytes(old?.bytes ?? 0)} are needed.`
                }
                isChecked={disk.id === chosen?.id}
                isDisabled={!fits(disk)}
                onChange={() => setWanted(disk.id)}
              />
            ))}
            {free.length === 0 && <p>No disk is free. Add one to the machine; it appears here automatically.</p>}
          </fieldset>
        </FormShell>
      </ModalBody>
    </Modal>
  );
}
