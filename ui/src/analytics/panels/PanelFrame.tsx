// The frame of every panel: a title, its state, its controls and actions, and its content.
import { Button } from '@patternfly/react-core';
import SlidersHIcon from '@patternfly/react-icons/dist/esm/icons/sliders-h-icon';
import { type ReactNode, useId, useState } from 'react';

export function PanelFrame(props: {
  title: string;
  state: ReactNode;
  controls: ReactNode;
  actions: ReactNode;
  children: ReactNode;
  crumbs?: ReactNode;
}) {
  const id = useId();
  const [options, setOptions] = useState(false);
  return (
    <section className="cistern-panel cistern-chartpanel" aria-labelledby={id} data-options={options}>
      <div className="cistern-charthead">
        <h2 id={id}>{props.title}</h2>
        {props.state}
        <span className="cistern-grow" />
        <Button
          variant="plain"
          className="cistern-optionsbutton"
          aria-label={`Options of ${props.title}`}
          aria-expanded={options}
          icon={<SlidersHIcon />}
          onClick={() => setOptions(!options)}
        />
        {props.controls}
        {props.actions}
      </div>
      {props.crumbs}
      {props.children}
    </section>
  );
}
