import { service } from '@svc/plugin-sdk'

/** Watches the space of disks and memory. */
export const resourceLimits = service<ResourceLimits>('resources.limits@1')

export interface ResourceLimits {
  /**
   * Why writes are refused now, as a part of a sentence: the disk of the state folder is nearly full. Null: they are
   * not. Reading it costs no system call.
   */
  readonly refusal: string | null
}
