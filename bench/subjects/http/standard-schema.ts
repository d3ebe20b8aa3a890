/** https://standardschema.dev, which oRPC takes: an interface that is copied and not imported. */
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

/** The same compiled check as everywhere. */
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
