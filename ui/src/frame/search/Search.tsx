// `/` from anywhere: pages, alerts, hosts, metrics, settings, worksheets and the manual, by name; with the keys alone.
import { Modal, ModalBody, ModalHeader, TextInput } from '@patternfly/react-core';
import { useId, useRef, useState } from 'react';
import { useNavigate } from 'react-router';
import { type Hit, ranked } from './ranking.ts';
import { useFound } from './sources.ts';

/** Of each kind at first; the others are behind a line that says how many there are. */
const FEW = 4;
const WHAT = 'Search pages, alerts, hosts, metrics, settings, worksheets and the manual';

/** A line that can be chosen: something that was found, or the rest of its kind. */
type Line = { readonly key: string; readonly kind: string } & ({ readonly hit: Hit } | { readonly more: string });

const keyOf = (kind: string, { title, about, to }: Hit) => [kind, title, about, to].join('\n');

export function Search({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState('');
  // What is chosen, not its place: answers that come in later move it.
  const [chosen, setChosen] = useState<string | null>(null);
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set());
  const navigate = useNavigate();
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  const { kinds, busy, failed } = useFound(text);
  const searching = text.trim() !== '';

  const found = ranked(kinds, text);
  const groups = found.map(({ kind, hits, cut }) => {
    const open = !searching || opened.has(kind);
    const shown = open ? hits : hits.slice(0, FEW);
    const lines: Line[] = shown.map((hit) => ({ key: keyOf(kind, hit), kind, hit }));
    const more = hits.length - shown.length;
    if (more > 0) lines.push({ key: `${kind}\nmore`, kind, more: cut ? 'More' : `${more} more` });
    return { kind, lines, cut: cut && open };
  });
  const lines = groups.flatMap((group) => group.lines);
  const at = Math.max(
    0,
    lines.findIndex(({ key }) => key === chosen),
  );
  const choose = (to: number) => {
    const line = lines[Math.min(Math.max(to, 0), lines.length - 1)];
    if (line === undefined) return;
    setChosen(line.key);
    list.current?.querySelector(`[data-line="${CSS.escape(line.key)}"]`)?.scrollIntoView({ block: 'nearest' });
  };
  const go = (line: Line | undefined) => {
    if (line === undefined) return;
    if ('more' in line) {
      const first = found.find(({ kind }) => kind === line.kind)?.hits[FEW];
      setOpened(new Set([...opened, line.kind]));
      setChosen(first === undefined ? null : keyOf(line.kind, first));
      return;
    }
    onClose();
    // The manual works without the rest of the page, which stays where it is.
    if (line.hit.to.startsWith('/docs/')) window.open(line.hit.to, '_blank', 'noopener');
    else void navigate(line.hit.to);
  };
  return (
    <Modal isOpen variant="medium" onClose={onClose} aria-label="Search" elementToFocus="#cistern-search">
      <ModalHeader title="Search" />
      <ModalBody>
        <TextInput
          id="cistern-search"
          type="search"
          aria-label={WHAT}
          placeholder="A page, an alert, a host, a metric, a setting, a worksheet, the manual"
          role="combobox"
          aria-expanded
          aria-controls={id}
          aria-activedescendant={lines.length > 0 ? `${id}-${at}` : undefined}
          autoComplete="off"
          value={text}
          onChange={(_event, value) => {
            setText(value);
            // A new text starts again at what fits best.
            setChosen(null);
            setOpened(new Set());
          }}
          onKeyDown={(event) => {
            if (event.key === 'ArrowDown') choose(at + 1);
            else if (event.key === 'ArrowUp') choose(at - 1);
            else if (event.key === 'Enter') go(lines[at]);
            else return;
            event.preventDefault();
          }}
        />
        <div ref={list} role="listbox" id={id} aria-label="Found" aria-busy={busy} className="cistern-hits">
          {groups.map((group) => (
            // biome-ignore lint/a11y/useSemanticElements: a listbox has groups, and no fieldsets
            <div key={group.kind} role="group" aria-labelledby={`${id}-${group.kind}`}>
              <div id={`${id}-${group.kind}`} role="presentation" className="cistern-hits-kind">
                {group.kind}
              </div>
              {group.lines.map((line) => {
                const index = lines.indexOf(line);
                return (
                  // biome-ignore lint/a11y/useKeyWithClickEvents: the text field above has the keys
                  <div
                    key={line.key}
                    data-line={line.key}
                    id={`${id}-${index}`}
                    role="option"
                    tabIndex={-1}
                    aria-selected={index === at}
                    onClick={() => go(line)}
                  >
                    {'more' in line ? (
                      <span className="cistern-hits-more">{line.more}</span>
                    ) : (
                      <>
                        <span>{line.hit.title}</span> <small>{line.hit.about}</small>
                      </>
                    )}
                  </div>
                );
              })}
              {group.cut && (
                <small role="presentation" className="cistern-hits-cut">
                  There are more than these: type more of the name.
                </small>
              )}
            </div>
          ))}
        </div>
        {failed.length > 0 && (
          <p role="status">{failed.join(', ')} could not be searched: the part that knows them did not answer.</p>
        )}
        {lines.length === 0 && failed.length === 0 && (
          <p role="status">{busy ? 'Looking …' : `Nothing is called “${text}”.`}</p>
        )}
      </ModalBody>
    </Modal>
  );
}
