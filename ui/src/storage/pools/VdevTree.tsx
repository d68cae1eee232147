// A pool drawn as it is built: each mirror its disks side by side, each raidz its row, single disks as they are.
import type { ReactNode } from 'react';
import type { Schemas } from '../../api/client.ts';
import { DiskTile, LightDot, lightOf, stateWords } from '../disks/DiskTile.tsx';

type Disk = Schemas['Disk'];
type Vdev = Schemas['Vdev'];

const meaning: Record<string, string> = {
  mirror: 'Each disk holds the same data: all but one may fail.',
  raidz1: 'One disk may fail.',
  raidz2: 'Any two disks may fail.',
  raidz3: 'Any three disks may fail.',
  replacing: 'The old disk and its replacement, until the resilver is done.',
  spare: 'A spare that stands in.',
};

/** What can be done with a device, given the group that it is in; or with a group. */
export type Actions = (vdev: Vdev, parent: Vdev | null) => ReactNode;

interface GroupProps {
  vdev: Vdev;
  parent: Vdev | null;
  disks: readonly Disk[];
  actions?: Actions | undefined;
}

function Group({ vdev, parent, disks, actions }: GroupProps) {
  if (vdev.children.length === 0) {
    return (
      <DiskTile vdev={vdev} disk={disks.find(({ id }) => id === vdev.diskId)}>
        {actions?.(vdev, parent)}
      </DiskTile>
    );
  }
  return (
    <figure className={`cistern-vdev cistern-vdev-${lightOf(vdev.state)}`}>
      <figcaption title={meaning[vdev.type]}>
        <LightDot light={lightOf(vdev.state)} /> {vdev.name}
        {vdev.state !== 'ONLINE' && <em> {stateWords(vdev.state)}</em>}
        {actions?.(vdev, parent)}
      </figcaption>
      <div>
        {vdev.children.map((child) => (
          <Group key={child.name} vdev={child} parent={vdev} disks={disks} actions={actions} />
        ))}
      </div>
    </figure>
  );
}

export function VdevTree(props: { vdevs: readonly Vdev[]; disks: readonly Disk[]; actions?: Actions }) {
  const { vdevs, disks, actions } = props;
  return (
    <div className="cistern-vdevs">
      {vdevs.map((vdev) => (
        <Group key={vdev.name} vdev={vdev} parent={null} disks={disks} actions={actions} />
      ))}
    </div>
  );
}
