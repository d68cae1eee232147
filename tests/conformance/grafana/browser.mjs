// What Grafana's packages expect of a browser and find nowhere in Node: a document, and what jsdom leaves out of one.
import { registerHooks } from 'node:module';
import { JSDOM } from 'jsdom';

const { window } = new JSDOM('<!doctype html><html><body></body></html>', {
  url: 'http://grafana.invalid/',
  pretendToBeVisual: true,
});

class Observer {
  observe() {}
  unobserve() {}
  disconnect() {}
}
window.ResizeObserver = Observer;
window.IntersectionObserver = Observer;
window.matchMedia = () => ({
  matches: false,
  addListener() {},
  removeListener() {},
  addEventListener() {},
  removeEventListener() {},
});
window.HTMLCanvasElement.prototype.getContext = () => ({ measureText: () => ({ width: 0 }) });

// Node has some of these itself, which jsdom's windows do not take.
const ours = new Set([
  'navigator',
  'Event',
  'CustomEvent',
  'EventTarget',
  'MessageEvent',
  'localStorage',
  'sessionStorage',
]);
for (const name of Object.getOwnPropertyNames(window)) {
  if (name in globalThis && !ours.has(name)) continue;
  Object.defineProperty(globalThis, name, { configurable: true, writable: true, value: window[name] });
}
globalThis.window = window;
globalThis.self = window;

// A bundler makes style sheets, and the editor that queries are written in, of what Node cannot load; neither asks anything.
const nothing = new URL('./nothing.cjs', import.meta.url).href;
registerHooks({
  resolve: (specifier, context, next) =>
    /^monaco-(editor|promql)\b|\.css$/.test(specifier)
      ? { url: nothing, format: 'commonjs', shortCircuit: true }
      : next(specifier, context),
});
