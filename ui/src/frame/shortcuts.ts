// Keys that work on every page: `/` searches, `g` and a letter goes, `?` lists them.
import { useEffect } from 'react';
import { useNavigate } from 'react-router';
import { navigation } from './places.ts';

/** How long after `g` the letter counts. */
const WINDOW_MS = 1500;

function isTyping(target: EventTarget | null): boolean {
  const element = target as HTMLElement | null;
  return !!element?.closest?.('input, textarea, select, [contenteditable], [role="dialog"]');
}

export function useShortcuts(openSearch: () => void): void {
  const navigate = useNavigate();
  useEffect(() => {
    let goAt = 0;
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      if (event.key === '/') {
        event.preventDefault();
        openSearch();
      } else if (event.key === 'g') {
        goAt = event.timeStamp;
      } else if (goAt > 0 && event.timeStamp - goAt < WINDOW_MS) {
        goAt = 0;
        const place = navigation.find(({ key }) => key === event.key);
        if (place !== undefined) {
          event.preventDefault();
          void navigate(place.path);
        }
      }
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, [navigate, openSearch]);
}
