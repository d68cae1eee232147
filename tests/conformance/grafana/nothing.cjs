// In place of what only a bundler can load (browser.mjs): style sheets, and Monaco, the editor that queries are typed into.
module.exports = { promLanguageDefinition: { id: 'promql' } };
