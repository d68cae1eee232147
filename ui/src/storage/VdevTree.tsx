// A pool drawn as it is built: each mirror its disks side by side, each raidz its row, single disks as they are.
import type { Schemas } from '../api/client.ts';
import { DiskTile, LightDot, lightOf, stateWords } from './DiskTile.tsx';

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

function Group({ vdev, disks }: { vdev: Vdev; disks: readonly Disk[] }) {
  if (vdev.children.length === 0) return <DiskTile vdev={vdev} disk={disks.find(({ id }) => id === vdev.diskId)} />;
  return (
    <figure className={`cistern-vdev cistern-vdev-${lightOf(vdev.state)}`}>
      <figcaption title={meaning[vdev.type]}>
        <LightDot light={lightOf(vdev.state)} /> {vdev.name}
        {vdev.state !== 'ONLINE' && <em> {stateWords(vdev.state)}</em>}
      </figcaption>
      <div>
        {vdev.children.map((child) => (
          <Group key={child.name} vdev={child} disks={disks} />
        ))}
      </div>
    </figure>
  );
}

export function VdevTree({ vdevs, disks }: { vdevs: readonly Vdev[]; disks: readonly Disk[] }) {
  return (
    <div className="cistern-vdevs">
      {vdevs.map((vdev) => (
        <Group key={vdev.name} vdev={vdev} disks={disks} />
      ))}
    </div>
  );
}
