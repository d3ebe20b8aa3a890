/** The members that are not undefined, in their order. */
export function defined<T extends object>(members: { [K in keyof T]: T[K] | undefined }): T {
  const given = Object.entries(members).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given) as T;
}
