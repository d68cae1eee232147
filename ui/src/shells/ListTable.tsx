// A list as a table; on a phone each row is a card that repeats the columns' titles.
import { Table, Tbody, Td, type TdProps, Th, Thead, type ThProps, Tr } from '@patternfly/react-table';
import type { Key, ReactNode } from 'react';

export interface Column<Row> {
  readonly title: string;
  /** Where two columns may have the same title. */
  readonly id?: string;
  readonly cell: (row: Row) => ReactNode;
  readonly className?: string | ((row: Row) => string);
  readonly head?: Omit<ThProps, 'ref'>;
  readonly modifier?: TdProps['modifier'];
  /**
   * Of buttons or boxes: the title is for screen readers. On a card `actions` stand beside the values, which leaves room for
   * one or two short ones; `buttons` stand below them.
   */
  readonly control?: 'actions' | 'buttons' | 'choice';
}

export function ListTable<Row>(props: {
  label: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  keyOf: (row: Row, index: number) => Key;
  variant?: 'compact' | undefined;
  /** Below this width rows are cards. */
  cardsBelow?: 'grid-md' | 'grid-lg';
}) {
  const { label, columns, rows, keyOf, variant = 'compact', cardsBelow = 'grid-md' } = props;
  return (
    <Table aria-label={label} variant={variant} gridBreakPoint={cardsBelow}>
      <Thead>
        <Tr>
          {columns.map(({ title, id = title, head, control }) =>
            control === undefined ? (
              <Th key={id} {...head}>
                {title}
              </Th>
            ) : (
              <Th key={id} {...head} screenReaderText={title} />
            ),
          )}
        </Tr>
      </Thead>
      <Tbody>
        {rows.map((row, index) => (
          <Tr key={keyOf(row, index)}>
            {columns.map(({ title, id = title, cell, className, modifier, control }) => (
              <Td
                key={id}
                {...(control === undefined && { dataLabel: title })}
                {...(control === 'actions' && { isActionCell: true })}
                {...(modifier && { modifier })}
                {...(className && { className: typeof className === 'string' ? className : className(row) })}
              >
                {cell(row)}
              </Td>
            ))}
          </Tr>
        ))}
      </Tbody>
    </Table>
  );
}
