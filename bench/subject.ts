/** Targets and comparisons judge `ours`. A `floor` does less than any real server could do. */
export type Role = 'ours' | 'rival' | 'floor';

/** Something that is measured beside others. */
export interface Subject {
  /** What `--against` takes. */
  readonly id: string;
  readonly label: string;
  readonly role: Role;
}
