import { compactJson, itemsOf, membersOf } from '../json/raw.ts';
import { JsonView } from './json-view.tsx';

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
      <Scroll label={label}>
        <table>
          <thead>
            <tr>
              {columns.map((name) => (
                <th key={name} scope="col">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row, index) => (
              <tr key={index}>
                {columns.map((name) => (
                  <td key={name}>
                    <code>{cell(row.get(name))}</code>
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    );
  }
  const pairs = membersOf(data);
  if (pairs !== undefined && pairs.size > 0) {
    return (
      <Scroll label={label}>
        <table class="pairs">
          <tbody>
            {Array.from(pairs, ([name, value]) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                <td>
                  <code>{cell(value)}</code>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    );
  }
  return <JsonView text={data} label={label} />;
}

/** What may be wider than the page, and is then moved by keyboard too. */
export function Scroll({
  label,
  children,
}: {
  readonly label: string;
  readonly children: preact.ComponentChildren;
}) {
  return (
    <div class="scroll" role="group" aria-label={label} tabIndex={0}>
      {children}
    </div>
  );
}
