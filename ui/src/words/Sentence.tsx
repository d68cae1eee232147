// The head of a page: its name, and the answer in one sentence before any detail.
import { Content, Flex, FlexItem, Icon, PageSection, Title } from '@patternfly/react-core';
import CheckCircleIcon from '@patternfly/react-icons/dist/esm/icons/check-circle-icon';
import ExclamationCircleIcon from '@patternfly/react-icons/dist/esm/icons/exclamation-circle-icon';
import ExclamationTriangleIcon from '@patternfly/react-icons/dist/esm/icons/exclamation-triangle-icon';
import InfoCircleIcon from '@patternfly/react-icons/dist/esm/icons/info-circle-icon';
import type { ReactNode } from 'react';

export type Condition = 'ok' | 'info' | 'warning' | 'critical';
const icons = {
  ok: { icon: CheckCircleIcon, status: 'success', words: 'Well' },
  info: { icon: InfoCircleIcon, status: 'info', words: 'For information' },
  warning: { icon: ExclamationTriangleIcon, status: 'warning', words: 'Warning' },
  critical: { icon: ExclamationCircleIcon, status: 'danger', words: 'Critical' },
} as const;

export function ConditionIcon({ state }: { state: Condition }) {
  const { icon: Shape, status, words } = icons[state];
  return (
    <Icon status={status} title={words}>
      <Shape aria-label={words} role="img" />
    </Icon>
  );
}

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
        </FlexItem>
        {props.actions && <FlexItem>{props.actions}</FlexItem>}
      </Flex>
    </PageSection>
  );
}
