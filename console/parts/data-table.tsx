import { JsonView } from './json-view.tsx';

function cell(value: unknown): string {
  if (value === undefined) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The data of an error: a list of objects as rows, an object as pairs, anything else as JSON. */
export function DataTable({ data, label }: { readonly data: unknown; readonly label: string }) {
  if (Array.isArray(data) && data.length > 0 && data.every(isRecord)) {
    const rows: readonly Readonly<Record<string, unknown>>[] = data;
    const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
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
                    <code>{cell(row[name])}</code>
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    );
  }
  if (isRecord(data)) {
    return (
      <Scroll label={label}>
        <table class="pairs">
          <tbody>
            {Object.entries(data).map(([name, value]) => (
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
  return <JsonView text={JSON.stringify(data)} label={label} />;
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
