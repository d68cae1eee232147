// What is wrong with an expression, and where.
/** PromQL's error message, with a mark at its place. */
export function ExpressionFault(props: {
  expression: string;
  error: string;
  at: { line: number; column: number } | null;
}) {
  const { expression, error, at } = props;
  const line = at === null ? undefined : expression.split('\n')[at.line - 1];
  return (
    <div className="cistern-bad">
      <p>
        {error.replace(/^\d+:\d+: /, '')}
        {at && `, at column ${at.column}${expression.includes('\n') ? ` of line ${at.line}` : ''}`}
      </p>
      {at && line !== undefined && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard must reach it
        <pre className="cistern-exchange" role="log" tabIndex={0} aria-label="Where it is wrong">
          {line}
          {'\n'}
          {' '.repeat(Math.max(0, at.column - 1))}^
        </pre>
      )}
    </div>
  );
}
