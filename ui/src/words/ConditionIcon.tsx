// A condition as an icon, with its name for screen readers.
import { Icon } from '@patternfly/react-core';
import CheckCircleIcon from '@patternfly/react-icons/dist/esm/icons/check-circle-icon';
import ExclamationCircleIcon from '@patternfly/react-icons/dist/esm/icons/exclamation-circle-icon';
import ExclamationTriangleIcon from '@patternfly/react-icons/dist/esm/icons/exclamation-triangle-icon';
import InfoCircleIcon from '@patternfly/react-icons/dist/esm/icons/info-circle-icon';

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
