// How the chosen disks are put together, with what each way leaves usable and survives.
import { Alert, Radio } from '@patternfly/react-core';
import type { Schemas } from '../../api/client.ts';
import { bytes, plural } from '../../words/format.ts';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';

type Layout = Schemas['Layout'];

function LayoutChoice(props: { layout: Layout; recommended: boolean; chosen: boolean; onChoose: () => void }) {
  const { layout } = props;
  return (
    <Radio
      id={`layout-${layout.id}`}
      name="layout"
      className="cistern-choice"
      label={
        <>
          <strong>{layout.title}</strong>
          {props.recommended && <em> recommended</em>}
        </>
      }
      description={
        layout.allowed
          ? `${layout.explanation} ${bytes(layout.usableBytes)} usable; ${
              layout.survives === 0
                ? 'any lost disk loses the pool'
                : `survives the loss of ${layout.survives === 1 ? 'any one disk' : `any ${plural(layout.survives, 'disk')}`}`
            }.`
          : (layout.reason ?? 'Not possible with these disks.')
      }
      isChecked={props.chosen}
      isDisabled={!layout.allowed}
      onChange={props.onChoose}
    />
  );
}

export function LayoutField(props: {
  layouts: readonly Layout[];
  recommended: string | undefined;
  chosen: Layout | undefined;
  onChange: (id: Layout['id']) => void;
  warnings: readonly string[] | undefined;
  error: unknown;
}) {
  return (
    <fieldset className="cistern-choices">
      <legend>Layout</legend>
      <ProblemAlert error={props.error} />
      {props.layouts.map((one) => (
        <LayoutChoice
          key={one.id}
          layout={one}
          recommended={one.id === props.recommended}
          chosen={one.id === props.chosen?.id}
          onChoose={() => props.onChange(one.id)}
        />
      ))}
      {props.warnings?.map((warning) => (
        <Alert key={warning} component="p" isInline isPlain variant="warning" title={warning} />
      ))}
    </fieldset>
  );
}
