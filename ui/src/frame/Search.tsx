// `/` from anywhere: pages, hosts and metrics, by name.
import { Modal, ModalBody, ModalHeader, TextInput } from '@patternfly/react-core';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useId, useState } from 'react';
import { useNavigate } from 'react-router';
import { answerOf, client } from '../api/client.ts';
import { listMetrics } from '../api/telemetry.ts';
import { places } from './places.ts';

interface Hit {
  readonly title: string;
  readonly about: string;
  readonly to: string;
}
const MAX_SHOWN = 12;

export function Search({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const navigate = useNavigate();
  const listId = useId();
  const metrics = useQuery({
    queryKey: ['metrics', 'search', text],
    // What is sent here comes before the appliance's own.
    queryFn: async ({ signal }) => {
      const asked = (['sent', 'own'] as const).map((of) => listMetrics({ match: text, of, limit: MAX_SHOWN }, signal));
      return (await Promise.all(asked)).flatMap((found) => found.metrics);
    },
    retry: false,
    placeholderData: (before) => before,
  });
  const hosts = useQuery({
    queryKey: ['hosts', 'search', text],
    queryFn: async ({ signal }) => {
      const query = { search: text.trim(), limit: MAX_SHOWN };
      return (await answerOf(client.GET('/api/hosts', { params: { query }, signal }))).items;
    },
    enabled: text.trim() !== '',
    retry: false,
    placeholderData: (before) => before,
  });
  const wanted = text.trim().toLowerCase();
  const hits: Hit[] = [
    ...places
      .filter((place) => `${place.title} ${place.about}`.toLowerCase().includes(wanted))
      .map((place) => ({ title: place.title, about: place.about, to: place.path })),
    ...(wanted === '' ? [] : (hosts.data ?? []))
      .filter(({ name }) => name.toLowerCase().includes(wanted))
      .map(({ name, state }) => ({ title: name, about: `host, ${state}`, to: `/hosts/${encodeURIComponent(name)}` })),
    ...(metrics.data ?? [])
      .filter((metric) => metric.name.toLowerCase().includes(wanted))
      .map((metric) => ({
        title: metric.name,
        about: metric.type,
        to: `/analytics/explore?metric=${encodeURIComponent(metric.name)}`,
      })),
  ].slice(0, MAX_SHOWN);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new text starts again at the first hit
  useEffect(() => setAt(0), [text]);

  const go = (hit: Hit | undefined) => {
    if (hit === undefined) return;
    onClose();
    void navigate(hit.to);
  };
  return (
    <Modal isOpen variant="medium" onClose={onClose} aria-label="Search" elementToFocus="#cistern-search">
      <ModalHeader title="Search pages, hosts and metrics" />
      <ModalBody>
        <TextInput
          id="cistern-search"
          type="search"
          aria-label="Search pages, hosts and metrics"
          role="combobox"
          aria-expanded
          aria-controls={listId}
          aria-activedescendant={hits.length > 0 ? `${listId}-${at}` : undefined}
          value={text}
          onChange={(_event, value) => setText(value)}
          onKeyDown={(event) => {
            if (event.key === 'ArrowDown') setAt((now) => Math.min(now + 1, hits.length - 1));
            else if (event.key === 'ArrowUp') setAt((now) => Math.max(now - 1, 0));
            else if (event.key === 'Enter') go(hits[at]);
            else return;
            event.preventDefault();
          }}
        />
        <div role="listbox" id={listId} aria-label="Found" className="cistern-hits">
          {hits.map((hit, index) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the text field above has the keys
            <div
              key={hit.to}
              id={`${listId}-${index}`}
              role="option"
              tabIndex={-1}
              aria-selected={index === at}
              onClick={() => go(hit)}
            >
              <span>{hit.title}</span> <small>{hit.about}</small>
            </div>
          ))}
        </div>
        {hits.length === 0 && <p>Nothing is called “{text}”.</p>}
      </ModalBody>
    </Modal>
  );
}
