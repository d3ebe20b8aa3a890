/** What `npm run test:languages` runs. */
export interface Suite {
  /** Programs, and what brings them. */
  readonly needs: Readonly<Record<string, string>>;
  /** Installs and runs it. @throws Error with the output of what failed */
  run(): Promise<void>;
}
