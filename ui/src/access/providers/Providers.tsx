// The identity providers: directories and OpenID Connect.
import { Button } from '@patternfly/react-core';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from 'react-router';
import { ListTable } from '../../shells/ListTable.tsx';
import { Waiting } from '../../shells/Waiting.tsx';
import { KINDS } from './provider.ts';
import { providersQuery } from './queries.ts';

export function Providers() {
  const list = useQuery(providersQuery);
  const navigate = useNavigate();
  return (
    <div className="cistern-stack">
      <div>
        <Button variant="secondary" onClick={() => void navigate('/settings/providers/new')}>
          New identity provider
        </Button>
      </div>
      {list.data === undefined ? (
        <Waiting on={list} />
      ) : list.data.length === 0 ? (
        <p className="cistern-sentence">
          None: everybody signs in with an account of this appliance. With a directory or OpenID Connect the people of
          your company sign in as they do elsewhere, with the role that their groups give. Accounts of this appliance
          always work.
        </p>
      ) : (
        <ListTable
          label="Identity providers"
          rows={list.data}
          keyOf={({ id }) => id}
          columns={[
            { title: 'Name', cell: ({ id, name }) => <Link to={`/settings/providers/${id}`}>{name}</Link> },
            { title: 'Kind', cell: ({ kind }) => KINDS[kind] },
            { title: 'State', cell: ({ enabled }) => (enabled ? 'on' : 'off: nobody signs in by it') },
            { title: 'Users', cell: ({ users }) => users },
          ]}
        />
      )}
    </div>
  );
}
