/** Files that a process has open beside its connections. */
const others = 200;

interface Report {
  readonly userLimits?: { readonly open_files?: { readonly soft: number | 'unlimited' } };
}

/** @throws Error, one line, where this process may not open so many connections. Node has raised the soft limit already. */
export function assertOpenFiles(connections: number): void {
  const { userLimits } = process.report.getReport() as Report;
  const limit = userLimits?.open_files?.soft;
  if (typeof limit !== 'number' || limit >= connections + others) return;
  throw new Error(
    `${connections} connections are more than the ${limit} files a process may open here: raise the limit with ulimit -n ${connections + others}`,
  );
}
