import type { EncodedError } from './remote-error.ts'

/** The file descriptor on which a describer answers; plugins print to its standard output. */
export const ANSWER_DESCRIPTOR = 3

/** Message from the host to a describer, one JSON text per line. */
export type Question =
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

/** Message from a describer to the host, one JSON text per line. `begun` starts the time limit, since a process may start slowly. */
export type DescriberReply =
  | { readonly type: 'ready' }
  | { readonly type: 'begun'; readonly id: number }
  | { readonly type: 'manifest'; readonly id: number; readonly manifest: unknown }
  | { readonly type: 'failure'; readonly id: number; readonly error: EncodedError }
