import type { Logger } from '@svc/plugin-sdk'
import type { Completions } from './completions.ts'
import type { Grammars } from './grammars.ts'
import type { ModelUse } from './kept-weights.ts'
import type { ServedModel } from './served-model.ts'
import type { UnknownModels } from './unknown-models.ts'

/** The weights of the served model, as requests need them. */
export interface ServedWeights {
  /**
   * Has the model loaded, and stay so until the signal is aborted. `keepMs`: milliseconds that it is to stay afterwards.
   * Throws `MSV_MODEL_FAILED`, or the reason of the signal.
   */
  use(signal: AbortSignal, keepMs?: number): Promise<ModelUse>
  /** Lets go of the model as soon as nobody uses it. */
  unload(): Promise<void>
  /** When it will be unloaded; null for never. */
  readonly expiresAt: Date | null
}

/** What the routes of every API stand on. */
export interface WireServices {
  readonly served: ServedModel
  readonly weights: ServedWeights
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
