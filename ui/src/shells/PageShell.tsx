// A page: its head, its parts side by side, the way back to what it lies in, and what is shown.
import { Breadcrumb, BreadcrumbItem, PageSection } from '@patternfly/react-core';
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import type { Condition } from '../words/ConditionIcon.tsx';
import { PageHead } from './PageHead.tsx';

export type Crumb = readonly [text: string, path: string];

/** `here`: what is shown, the last of the way and no link. */
export function Crumbs({ way, here }: { way: readonly Crumb[]; here: string }) {
  return (
    <Breadcrumb className="cistern-crumbs">
      {way.map(([text, path]) => (
        <BreadcrumbItem key={path}>
          <Link to={path}>{text}</Link>
        </BreadcrumbItem>
      ))}
      <BreadcrumbItem isActive>{here}</BreadcrumbItem>
    </Breadcrumb>
  );
}

export function PageShell(props: {
  title: string;
  state?: Condition | undefined;
  sentence?: ReactNode;
  actions?: ReactNode;
  /** From the list that it is in. */
  way?: readonly Crumb[];
  /** What it is called at the end of the way, where that is not the title. */
  here?: string;
  /** PartTabs. */
  tabs?: ReactNode;
  children: ReactNode;
}) {
  const { title, state, sentence, actions, way, tabs } = props;
  return (
    <>
      <PageHead title={title} state={state} sentence={sentence} actions={actions} />
      {tabs}
      <PageSection>
        {way && <Crumbs way={way} here={props.here ?? title} />}
        {props.children}
      </PageSection>
    </>
  );
}
