// A disk with data of another system is erased only after its name was typed: what is on it is not known.
import { answerOf, client } from '../../api/client.ts';
import { ConfirmByName } from '../../forms/ConfirmByName.tsx';
import { bytes } from '../../words/format.ts';
import { useStorageRead } from '../pools/usePoolAction.ts';

export interface EraseDiskProps {
  disk: { id: string; bytes: number };
  /** What it is known to carry. */
  reason: string | null;
  onClose: () => void;
}

export function EraseDisk({ disk, reason, onClose }: EraseDiskProps) {
  const read = useStorageRead();
  return (
    <ConfirmByName
      title="Erase this disk?"
      name={disk.id}
      action="Erase the disk"
      onClose={onClose}
      onConfirm={async () => {
        await answerOf(
          client.POST('/api/disks/{id}/wipe', { params: { path: { id: disk.id } }, body: { confirm: disk.id } }),
        );
        await read();
      }}
    >
      <p className="cistern-name">
        {reason} What is on <strong>{disk.id}</strong> ({bytes(disk.bytes)}) is lost. This cannot be undone.
      </p>
    </ConfirmByName>
  );
}
