import type { Logger } from '@svc/plugin-sdk'
import type { Completions } from './completions.ts'
import type { Grammars } from './grammars.ts'
import type { ServedModel } from './served-model.ts'
import type { UnknownModels } from './unknown-models.ts'

/** What the routes of every API stand on. */
export interface WireServices {
  readonly served: ServedModel
  readonly completions: Completions
  readonly grammars: Grammars
  readonly log: Logger
  readonly unknownModels: UnknownModels
  /** Version of this plugin, shown by `/api/version`. */
  readonly version: string
  /** Address that the listener is bound to. */
  readonly host: string
  readonly apiKey: string | undefined
  readonly maxBodyBytes: number
  /** Milliseconds that a client may stop reading. */
  stallMs(): number
}
