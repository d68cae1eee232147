// From a page about a pool back to the pool, and to all of them.
import { Breadcrumb, BreadcrumbItem } from '@patternfly/react-core';
import { Link } from 'react-router';
import { poolPath } from './queries.ts';

export function PoolCrumbs({ name, last }: { name: string; last?: string }) {
  return (
    <Breadcrumb className="cistern-crumbs">
      <BreadcrumbItem>
        <Link to="/storage">Storage</Link>
      </BreadcrumbItem>
      <BreadcrumbItem isActive={last === undefined}>
        {last === undefined ? name : <Link to={poolPath(name)}>{name}</Link>}
      </BreadcrumbItem>
      {last !== undefined && <BreadcrumbItem isActive>{last}</BreadcrumbItem>}
    </Breadcrumb>
  );
}
