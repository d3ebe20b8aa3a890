import { compactJson, itemsOf, membersOf } from '../json/raw.ts';
import { JsonView } from './json-view.tsx';
import { Pairs, Table } from './table.tsx';

/** A value in a cell: a string as itself, anything else as JSON. */
function cell(text: string | undefined): string {
  if (text === undefined) return '';
  return text.startsWith('"') ? (JSON.parse(text) as string) : compactJson(text);
}

/**
 * The data of an error: a list of objects as rows, an object as pairs, anything else as JSON.
 *
 * @param data JSON text
 */
export function DataTable({ data, label }: { readonly data: string; readonly label: string }) {
  const rows = itemsOf(data)?.map(membersOf) ?? [];
  if (rows.length > 0 && rows.every((row) => row !== undefined)) {
    const columns = [...new Set(rows.flatMap((row) => [...row.keys()]))];
    return (
      <Table
        label={label}
        rows={rows}
        keyOf={(_, index) => index}
        columns={columns.map((head) => ({
          head,
          cell: (row: ReadonlyMap<string, string>) => <code>{cell(row.get(head))}</code>,
        }))}
      />
    );
  }
  const pairs = membersOf(data);
  if (pairs === undefined || pairs.size === 0) return <JsonView text={data} label={label} />;
  return (
    <div class="box" role="group" aria-label={label} tabIndex={0}>
      <Pairs pairs={Array.from(pairs, ([name, value]) => [name, cell(value)] as const)} />
    </div>
  );
}
