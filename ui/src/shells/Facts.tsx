// The facts of one thing: terms and their values.
import {
  DescriptionList,
  DescriptionListDescription,
  DescriptionListGroup,
  type DescriptionListProps,
  DescriptionListTerm,
} from '@patternfly/react-core';
import type { ReactNode } from 'react';

export type Fact = readonly [term: string, value: ReactNode];

export function Facts(props: { facts: readonly Fact[] } & Omit<DescriptionListProps, 'children' | 'ref'>) {
  const { facts, ...options } = props;
  return (
    <DescriptionList {...options}>
      {facts.map(([term, value]) => (
        <DescriptionListGroup key={term}>
          <DescriptionListTerm>{term}</DescriptionListTerm>
          <DescriptionListDescription>{value}</DescriptionListDescription>
        </DescriptionListGroup>
      ))}
    </DescriptionList>
  );
}
