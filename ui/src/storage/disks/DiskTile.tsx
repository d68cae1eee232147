// A disk as a tile with a light: what it is, how it is, and when it has errors, how many.
import type { ReactNode } from 'react';
import type { Schemas } from '../../api/client.ts';
import { bytes, exactBytes } from '../../words/format.ts';

type Disk = Schemas['Disk'];
type Vdev = Schemas['Vdev'];

export type Light = 'good' | 'warning' | 'bad' | 'off';
const lights: Record<string, Light> = {
  ONLINE: 'good',
  AVAIL: 'good',
  DEGRADED: 'warning',
  FAULTED: 'bad',
  REMOVED: 'bad',
  UNAVAIL: 'bad',
  SUSPENDED: 'bad',
  OFFLINE: 'off',
};
export function lightOf(state: string): Light {
  return lights[state] ?? 'off';
}
const words: Record<string, string> = {
  ONLINE: 'online',
  AVAIL: 'ready to stand in',
  INUSE: 'stands in',
  DEGRADED: 'degraded',
  FAULTED: 'faulted: too many errors',
  REMOVED: 'removed',
  UNAVAIL: 'cannot be opened',
  SUSPENDED: 'suspended',
  OFFLINE: 'switched off',
};
export function stateWords(state: string): string {
  return words[state] ?? state.toLowerCase();
}

export function LightDot({ light }: { light: Light }) {
  return <i className={`cistern-light cistern-light-${light}`} aria-hidden />;
}

/** A disk’s name for its operator: the serial number printed on it, else its stable name. */
export function diskName(disk: Pick<Disk, 'id' | 'serial'>): string {
  return disk.serial || disk.id;
}

export function DiskTile(props: { vdev: Vdev; disk: Disk | undefined; children?: ReactNode }) {
  const { vdev, disk, children } = props;
  const errors = vdev.readErrors + vdev.writeErrors + vdev.checksumErrors;
  return (
    <div className={`cistern-disk cistern-disk-${lightOf(vdev.state)}`}>
      <LightDot light={lightOf(vdev.state)} />
      <strong title={vdev.name}>{disk ? diskName(disk) : vdev.name}</strong>
      <span>{stateWords(vdev.state)}</span>
      {disk && <small title={exactBytes(disk.bytes)}>{`${bytes(disk.bytes)} ${disk.model}`}</small>}
      {errors > 0 && (
        <small className="cistern-bad" title="Read, write and checksum errors since the pool was imported or cleared">
          {vdev.readErrors} read, {vdev.writeErrors} write, {vdev.checksumErrors} checksum errors
        </small>
      )}
      {children}
    </div>
  );
}
