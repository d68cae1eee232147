// What can be done with one device of a pool. What cannot be done now is there all the same and says why.
import { Dropdown, DropdownItem, DropdownList, MenuToggle } from '@patternfly/react-core';
import EllipsisVIcon from '@patternfly/react-icons/dist/esm/icons/ellipsis-v-icon';
import { useState } from 'react';
import { useNavigate } from 'react-router';
import { answerOf, client } from '../../api/client.ts';
import { useMayNot } from '../../api/session.ts';
import { Confirm } from '../../forms/Confirm.tsx';
import { diskName } from '../disks/DiskTile.tsx';
import { AttachDisk } from './AttachDisk.tsx';
import { type Disk, deviceOf, diskPath, type Pool, replacePath, type Vdev } from './queries.ts';
import { useStorageRead } from './usePoolAction.ts';

const OUTSIDE = new Set(['spare', 'log', 'cache']);

/** Why the data would not survive without the device; the appliance would refuse it with the same words. */
function whyNotWithout(vdev: Vdev, parent: Vdev | null): string | null {
  if (parent === null) return 'The pool keeps nothing of it twice.';
  if (OUTSIDE.has(parent.type) || parent.type === 'replacing') return null;
  const sound = parent.children.filter((other) => other !== vdev && other.state === 'ONLINE').length;
  const parity = /^raidz(\d)$/.exec(parent.type)?.[1];
  const needed = parity === undefined ? 1 : parent.children.length - Number(parity);
  return sound >= needed ? null : `Without it ${parent.name} would not hold all data any more.`;
}

interface Deed {
  readonly title: string;
  readonly why: string | null;
  readonly run: () => void;
}

type Asked = 'offline' | 'detach' | 'remove' | 'attach';

export interface DeviceMenuProps {
  pool: Pool;
  vdev: Vdev;
  parent: Vdev | null;
  disk: Disk | undefined;
  /** Does at once what needs no question; who shows the menu shows the refusal. */
  act: (work: () => Promise<unknown>) => void;
}

export function DeviceMenu({ pool, vdev, parent, disk, act }: DeviceMenuProps) {
  const navigate = useNavigate();
  const read = useStorageRead();
  const asAdministrator = useMayNot('administrator');
  const asOperator = useMayNot('operator');
  const [open, setOpen] = useState(false);
  const [asked, setAsked] = useState<Asked | null>(null);
  const device = deviceOf(vdev);
  const name = disk ? diskName(disk) : device;
  const path = { params: { path: { name: pool.name } } };
  const errors = vdev.readErrors + vdev.writeErrors + vdev.checksumErrors;
  const outside = parent !== null && OUTSIDE.has(parent.type);
  const on = ['ONLINE', 'DEGRADED', 'AVAIL'].includes(vdev.state);
  const sideOf = parent !== null && ['mirror', 'replacing', 'spare'].includes(parent.type) && vdev.state !== 'AVAIL';

  const online = () => answerOf(client.POST('/api/pools/{name}/online', { ...path, body: { device } }));
  const clear = () => answerOf(client.POST('/api/pools/{name}/clear', { ...path, body: { device } }));
  const deeds: Deed[] = [
    ...(outside
      ? [
          {
            title: 'Take out of the pool…',
            why: asAdministrator,
            run: () => setAsked('remove'),
          },
        ]
      : [
          {
            title: 'Replace…',
            why:
              asAdministrator ??
              (pool.system
                ? 'It also starts the machine. Add another system disk, then detach this one.'
                : parent?.type === 'replacing'
                  ? 'It is being replaced already.'
                  : null),
            run: () => void navigate(replacePath(pool.name, device)),
          },
          on
            ? {
                title: 'Switch off…',
                why: asAdministrator ?? whyNotWithout(vdev, parent),
                run: () => setAsked('offline'),
              }
            : {
                title: 'Take into use again',
                why: asOperator ?? (disk === undefined ? 'The disk is not there. Plug it in again first.' : null),
                run: () => act(online),
              },
          {
            title: 'Attach another disk…',
            why:
              asAdministrator ??
              (parent === null || parent.type === 'mirror'
                ? null
                : 'Only a single disk or a mirror can get another side.'),
            run: () => setAsked('attach'),
          },
          {
            title: 'Detach…',
            why:
              asAdministrator ??
              (sideOf ? whyNotWithout(vdev, parent) : 'Only a side of a mirror can be detached, and it is none.'),
            run: () => setAsked('detach'),
          },
        ]),
    {
      title: 'Clear errors',
      why: asOperator ?? (errors === 0 && vdev.state !== 'FAULTED' ? 'It has made none.' : null),
      run: () => act(clear),
    },
    {
      title: 'Disk details',
      why: disk === undefined ? 'The disk is not there.' : null,
      run: () => void navigate(diskPath(device)),
    },
  ];
  return (
    <>
      <div className="cistern-disk-menu">
        <Dropdown
          isOpen={open}
          onOpenChange={setOpen}
          onSelect={() => setOpen(false)}
          popperProps={{ position: 'right', appendTo: 'inline' }}
          toggle={(ref) => (
            <MenuToggle
              ref={ref}
              variant="plain"
              size="sm"
              icon={<EllipsisVIcon />}
              isExpanded={open}
              onClick={() => setOpen(!open)}
              aria-label={`What to do with ${name}`}
            />
          )}
        >
          <DropdownList>
            {deeds.map(({ title, why, run }) => (
              <DropdownItem
                key={title}
                isAriaDisabled={why !== null}
                // Below its name, so that a finger can read it as well as a pointer.
                description={why}
                onClick={() => why === null && run()}
              >
                {title}
              </DropdownItem>
            ))}
          </DropdownList>
        </Dropdown>
      </div>
      {asked === 'offline' && (
        <Confirm
          title={`Switch off ${name}?`}
          action="Switch it off"
          onClose={() => setAsked(null)}
          onConfirm={async () => {
            await answerOf(client.POST('/api/pools/{name}/offline', { ...path, body: { device } }));
            await read();
          }}
        >
          <p>
            The pool works on without it, with fewer copies of the data. When it is taken into use again, a resilver
            copies what was written meanwhile.
          </p>
        </Confirm>
      )}
      {asked === 'detach' && (
        <Confirm
          title={`Detach ${name} from ${parent?.name}?`}
          action="Detach it"
          danger
          onClose={() => setAsked(null)}
          onConfirm={async () => {
            await answerOf(client.POST('/api/pools/{name}/detach', { ...path, body: { device } }));
            await read();
          }}
        >
          <p>
            {parent?.type === 'mirror' && parent.children.length === 2
              ? 'One copy of the data remains, on the other disk: when that one fails, the pool is lost.'
              : 'The other disks keep all data.'}{' '}
            The disk is free afterwards. Nothing on the pool is lost.
          </p>
        </Confirm>
      )}
      {asked === 'remove' && (
        <Confirm
          title={`Take ${name} out of “${pool.name}”?`}
          action="Take it out"
          onClose={() => setAsked(null)}
          onConfirm={async () => {
            await answerOf(client.POST('/api/pools/{name}/remove', { ...path, body: { vdev: device } }));
            await read();
          }}
        >
          <p>The disk is free afterwards. Nothing on the pool is lost.</p>
        </Confirm>
      )}
      {asked === 'attach' && <AttachDisk pool={pool} beside={vdev} onClose={() => setAsked(null)} />}
    </>
  );
}
