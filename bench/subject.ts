/** `ours` is what targets and comparisons judge; a `floor` does less than any server could. */
export type Role = 'ours' | 'rival' | 'floor';

/** Something that is measured beside others. */
export interface Subject {
  /** What `--against` takes. */
  readonly id: string;
  readonly label: string;
  readonly role: Role;
}
