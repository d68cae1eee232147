// Light, dark, or as the system says. public/theme.js does this before the first paint; this follows later changes.
import { useSyncExternalStore } from 'react';

export type ThemeChoice = 'light' | 'dark' | 'system';
const KEY = 'cistern.theme';
const system = matchMedia('(prefers-color-scheme: dark)');
const listeners = new Set<() => void>();

function stored(): ThemeChoice {
  try {
    const value = localStorage.getItem(KEY);
    return value === 'light' || value === 'dark' ? value : 'system';
  } catch {
    return 'system'; // a browser that stores nothing still has a theme
  }
}

let choice = stored();

function apply(): void {
  document.documentElement.classList.toggle('pf-v6-theme-dark', isDark());
  for (const listener of listeners) listener();
}
// Only its event is asked after this: Chromium does not fire it when `matches` was read since the change, and the
// page would stay half light and half dark.
let systemIsDark = system.matches;
system.addEventListener('change', (event) => {
  systemIsDark = event.matches;
  apply();
});

export function isDark(): boolean {
  return choice === 'dark' || (choice === 'system' && systemIsDark);
}

export function chooseTheme(next: ThemeChoice): void {
  choice = next;
  try {
    localStorage.setItem(KEY, next);
  } catch {}
  apply();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
export const useThemeChoice = (): ThemeChoice => useSyncExternalStore(subscribe, () => choice);
export const useDark = (): boolean => useSyncExternalStore(subscribe, isDark);
