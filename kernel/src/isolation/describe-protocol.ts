import type { EncodedError } from './remote-error.ts'

/** File descriptor for replies of a describer. Its standard output may contain output of plugins. */
export const REPLY_DESCRIPTOR = 3

/** Message from the host to a describer: one JSON document per line. */
export type DescriberMessage =
  | { readonly type: 'warm'; readonly root: string; readonly specifiers: readonly string[] }
  | {
      readonly type: 'describe'
      readonly id: number
      readonly name: string
      readonly root: string
      readonly version: string
      /** CommonJS with an inline source map. */
      readonly text: string
      readonly timeoutMs: number
    }

/**
 * Reply of a describer: one JSON document per line. `begun` starts the time limit, since a process may start slowly.
 */
export type DescriberReply =
  | { readonly type: 'ready' }
  | { readonly type: 'begun'; readonly id: number }
  | { readonly type: 'manifest'; readonly id: number; readonly manifest: unknown }
  | { readonly type: 'failure'; readonly id: number; readonly error: EncodedError }
