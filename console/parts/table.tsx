import type { ComponentChildren } from 'preact';

/** A column of a table: its head, and what stands in it of a row. */
export type Column<Row> = { readonly head: string } & (
  | { readonly name: (row: Row) => ComponentChildren }
  | { readonly cell: (row: Row) => ComponentChildren; readonly class?: string }
  | {
      /** NaN: nobody knows it. */
      readonly number: (row: Row) => number;
      readonly text?: (value: number) => string;
      /** It counts what should not be. */
      readonly isOfFaults?: boolean;
    }
);

interface TableProps<Row> {
  readonly rows: readonly Row[];
  readonly columns: readonly Column<Row>[];
  readonly keyOf: (row: Row, index: number) => string | number;
  readonly label: string;
}

/** A table that may be wider than the page, and is then moved by keyboard too. */
export function Table<Row>({ rows, columns, keyOf, label }: TableProps<Row>) {
  return (
    <div class="box" role="group" aria-label={label} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.head} scope="col" class={'number' in column ? 'number' : undefined}>
                {column.head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={keyOf(row, index)}>
              {columns.map((column) => (
                <Cell key={column.head} column={column} row={row} />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Cell<Row>({ column, row }: { readonly column: Column<Row>; readonly row: Row }) {
  if ('name' in column) return <th scope="row">{column.name(row)}</th>;
  if ('cell' in column) return <td class={column.class}>{column.cell(row)}</td>;
  const { number, text = countText, isOfFaults } = column;
  const value = number(row);
  return (
    <td class={isOfFaults && value > 0 ? 'number fault' : 'number'}>
      {Number.isNaN(value) ? '–' : text(value)}
    </td>
  );
}

function countText(count: number): string {
  return count.toLocaleString('en');
}

/** Names with their values. */
export function Pairs({ pairs }: { readonly pairs: Iterable<readonly [string, string]> }) {
  return (
    <table class="pairs">
      <tbody>
        {Array.from(pairs, ([name, value]) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td>
              <code>{value}</code>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
