/** A subject of the suite. It uses inputs that were made before, so that making them costs no subject anything. */
export interface HopSubject {
  /** Makes the nth call. @throws Error where the answer is wrong */
  call(n: number): Promise<void> | void;
}

export const variety = 1024;

export function assertRight(right: boolean): void {
  if (!right) throw new Error('a wrong answer');
}
