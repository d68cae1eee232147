// Ready forms of what a rule watches, as the PromQL they mean. What a form says is evaluated, previewed and drawn like
// any expression: there is one way through the telemetry store, and whoever wants more edits the expression itself.
import { fail } from '../../base/problems/problem.ts';
import type { RuleForm } from './schema.ts';

/** A metric name, with labels or without; names with dots are `{"checkout.time"}`. Nothing that ends a selector early. */
const SELECTOR = /^(?:[a-zA-Z_:][a-zA-Z0-9_:]*)?\s*(?:\{[^{}]*\})?$/;
const LABEL = /^[a-zA-Z_][a-zA-Z0-9_]*$/;

function selector(text: string, path: string): string {
  const trimmed = text.trim();
  if (trimmed !== '' && SELECTOR.test(trimmed)) return trimmed;
  const message = 'must be one metric, as requests_total or requests_total{site="north"}';
  throw fail('invalid_request', `The rule was refused: “${text}” ${message}.`, undefined, [{ path, message }]);
}

/** As “5m”; a form's times are whole seconds. */
function range(seconds: number): string {
  if (seconds % 3600 === 0) return `${seconds / 3600}h`;
  return seconds % 60 === 0 ? `${seconds / 60}m` : `${seconds}s`;
}

function grouping(by: readonly string[]): string {
  by.forEach((label, at) => {
    if (LABEL.test(label)) return;
    const message = 'must be the name of a label';
    throw fail('invalid_request', `The rule was refused: “${label}” ${message}.`, undefined, [
      { path: `/form/by/${at}`, message },
    ]);
  });
  return by.length === 0 ? '' : ` by (${by.join(', ')})`;
}

/** Throws a problem that names the field. */
export function expressionOf(form: RuleForm): string {
  const over = range(form.overSeconds);
  const by = grouping(form.by);
  const of = selector(form.metric, '/form/metric');
  switch (form.kind) {
    case 'rate':
      return form.by.length === 0 ? `rate(${of}[${over}])` : `sum${by} (rate(${of}[${over}]))`;
    case 'ratio': {
      // Of what has no denominator there is no ratio: it gives no value, and not infinity.
      const to = selector(form.to ?? '', '/form/to');
      return `sum${by} (rate(${of}[${over}])) / (sum${by} (rate(${to}[${over}])) > 0)`;
    }
    case 'change':
      return form.by.length === 0 ? `delta(${of}[${over}])` : `sum${by} (delta(${of}[${over}]))`;
    case 'over-limit': {
      if (form.slowerThan === undefined) {
        const message = 'is missing';
        throw fail('invalid_request', 'The rule was refused: slowerThan is missing.', undefined, [
          { path: '/form/slowerThan', message },
        ]);
      }
      const all = `sum${by} (increase(${of}[${over}]))`;
      // The inverse quantile: the share that was not slower is a fraction of the merged histogram, which is exact.
      return `(1 - histogram_fraction(-Inf, ${form.slowerThan}, ${all})) * histogram_count(${all})`;
    }
  }
}
