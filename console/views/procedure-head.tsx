import type { ProcedureSchema } from '../state/registry.ts';
import { urls } from '../state/urls.ts';

/** What a procedure is: its name, signature, words and properties. */
export function ProcedureHead({ procedure }: { readonly procedure: ProcedureSchema }) {
  const { name, doc, is_async, effects, group, stream, errors } = procedure;
  const statuses = urls.value.get(name)?.statuses;
  const tags = [
    stream === undefined ? undefined : 'stream',
    is_async ? 'async' : 'sync',
    group === undefined ? undefined : `group ${group}`,
    effects?.readOnly === true ? 'read only' : undefined,
    effects?.idempotent === true ? 'idempotent' : undefined,
  ].filter((tag) => tag !== undefined);
  return (
    <header class="procedure-head">
      <a class="back" href="#/">
        ‹ All procedures
      </a>
      <h1 id="procedure-title">{name}</h1>
      <p class="hint">
        <code>{signatureOf(procedure)}</code>
      </p>
      <p class="row">
        {tags.map((tag) => (
          <span key={tag} class="tag">
            {tag}
          </span>
        ))}
        {effects?.destructive === true && <span class="tag warn">destructive</span>}
      </p>
      {doc !== null && <p class="doc">{doc}</p>}
      {errors !== undefined && (
        <details>
          <summary>Errors it declares ({Object.keys(errors).length})</summary>
          <table>
            <tbody>
              {Object.entries(errors).map(([error, { code, message }]) => (
                <tr key={error}>
                  <th scope="row">{error}</th>
                  <td>
                    <code>{code}</code>
                  </td>
                  {statuses !== undefined && <td>HTTP {statuses[error]}</td>}
                  <td>{message}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </details>
      )}
    </header>
  );
}

/** `(a: number, b?: number)`, and what comes of it. */
function signatureOf(procedure: ProcedureSchema): string {
  const params = procedure.parameters.map(
    ({ name, type, required }) => `${name}${required ? '' : '?'}: ${type}`,
  );
  const yields = procedure.yield_type === undefined ? '' : ` yields ${procedure.yield_type}`;
  return `(${params.join(', ')})${yields} → ${procedure.return_type}`;
}
