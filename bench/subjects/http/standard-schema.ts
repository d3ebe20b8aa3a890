/** https://standardschema.dev: the interface that oRPC takes. It is meant to be copied, not imported. */
interface StandardSchema<Output> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (
      value: unknown,
    ) => { readonly value: Output } | { readonly issues: readonly { readonly message: string }[] };
    readonly types?: { readonly input: Output; readonly output: Output } | undefined;
  };
}

/** Wraps the compiled check that all subjects use. */
export function standardSchema<Output>(check: (value: unknown) => Output): StandardSchema<Output> {
  return {
    '~standard': {
      version: 1,
      vendor: 'bench',
      validate: (value) => {
        try {
          return { value: check(value) };
        } catch {
          return { issues: [{ message: 'invalid params' }] };
        }
      },
    },
  };
}
