// Runs before the first paint, so that a dark page never flashes white. A file of its own because the content security
// policy forbids inline scripts. frame/theme.ts does the same later, when the choice changes.
(() => {
  let choice = 'system';
  try {
    choice = localStorage.getItem('cistern.theme') || 'system';
  } catch {}
  const dark = choice === 'dark' || (choice === 'system' && matchMedia('(prefers-color-scheme: dark)').matches);
  document.documentElement.classList.toggle('pf-v6-theme-dark', dark);
})();
