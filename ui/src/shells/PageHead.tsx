// The head of a page: its name, and the answer in one sentence before any detail.
import { Content, Flex, FlexItem, PageSection, Title } from '@patternfly/react-core';
import type { ReactNode } from 'react';
import { type Condition, ConditionIcon } from '../words/ConditionIcon.tsx';
import { Age } from './Age.tsx';

export function PageHead(props: {
  title: string;
  state?: Condition | undefined;
  sentence?: ReactNode;
  actions?: ReactNode;
}) {
  return (
    <PageSection className="cistern-head">
      <Flex alignItems={{ default: 'alignItemsFlexStart' }} justifyContent={{ default: 'justifyContentSpaceBetween' }}>
        <FlexItem flex={{ default: 'flex_1' }}>
          <Title headingLevel="h1">{props.title}</Title>
          {props.sentence !== undefined && (
            <Content component="p" className="cistern-sentence" aria-live="polite">
              {props.state && (
                <>
                  <ConditionIcon state={props.state} />{' '}
                </>
              )}
              {props.sentence}
            </Content>
          )}
          <Age />
        </FlexItem>
        {props.actions && <FlexItem>{props.actions}</FlexItem>}
      </Flex>
    </PageSection>
  );
}
