import { addHeader, changeHeader, headers, removeHeader } from '../state/headers.ts';
import { loadRegistry } from '../state/registry.ts';

/** Headers that go with each request. @param action what the button says that tries the headers */
export function HeadersForm({ action }: { readonly action: string }) {
  // A form, so that browsers know where the secret belongs; it is never submitted.
  return (
    <form
      class="headers-form"
      onSubmit={(event) => {
        event.preventDefault();
        void loadRegistry();
      }}
    >
      <p class="hint">
        Headers go with each request. Their values stay in the memory of this page, and are gone
        when it is closed.
      </p>
      {headers.value.map(({ id, name, value }) => (
        <div class="header-row" key={id}>
          <input
            type="text"
            aria-label="Name of the header"
            placeholder="authorization"
            autocomplete="off"
            spellcheck={false}
            value={name}
            onInput={(event) => changeHeader(id, { name: event.currentTarget.value })}
          />
          <input
            type="password"
            aria-label={`Value of ${name === '' ? 'the header' : name}`}
            placeholder="Bearer …"
            autocomplete="off"
            value={value}
            onInput={(event) => changeHeader(id, { value: event.currentTarget.value })}
          />
          <button type="button" class="quiet" onClick={() => removeHeader(id)}>
            Remove<span class="unseen"> {name}</span>
          </button>
        </div>
      ))}
      <div class="row actions">
        <button type="submit" class="primary">
          {action}
        </button>
        <button
          type="button"
          onClick={() => addHeader(headers.value.length === 0 ? 'authorization' : '')}
        >
          Add a header
        </button>
      </div>
    </form>
  );
}
