import { service } from '@svc/plugin-sdk'

/** Speech recogniser: transcribes recordings. */
export const speechRecogniser = service<SpeechRecogniser>('speech.recogniser@1')

export interface SpeechRecogniser {
  /** Returns whether recordings can be recognised now. Checks the model's files without loading them. */
  state(): Promise<SpeechState>
  /**
   * Recognises one recording; the first call loads the model. Text files are their own transcripts.
   *
   * Throws `SPC_PATH_OUTSIDE`, `SPC_FILE_NOT_FOUND`, `SPC_AUDIO_UNSUPPORTED`, `SPC_AUDIO_INVALID`, `SPC_NO_MODEL`,
   * `SPC_BACKEND_UNAVAILABLE`, `SPC_MODEL_INVALID`, `SPC_BUSY`, `SPC_TIMEOUT` (data: outcome) and
   * `SPC_RECOGNISER_FAILED`; and the reason of an aborted signal.
   */
  transcribe(source: SpeechSource, options?: SpeechOptions): Promise<Transcript>
}

/**
 * `ready`; `no_model`: files are missing; `unavailable`: the settings name a recogniser that is not part of this
 * installation.
 */
export type SpeechStatus = 'ready' | 'no_model' | 'unavailable'

export interface SpeechState {
  readonly status: SpeechStatus
  /** One human-readable sentence. */
  readonly detail: string
  /** Name in the settings. */
  readonly model: string
  /** Folder of the model's files, or null if none was found. */
  readonly folder: string | null
  /** Files that the model lacks. */
  readonly missing: readonly string[]
  /** Whether the model supports languages other than English; null if no model was found. */
  readonly multilingual: boolean | null
}

/** A file of the workspace, or mono samples at 16 kHz from -1 to 1. */
export type SpeechSource =
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'samples'; readonly samples: Float32Array }

export interface SpeechOptions {
  /** Spoken language, for example `en`; an unknown one is ignored. Default: the model detects it. */
  readonly language?: string
  readonly signal?: AbortSignal
}

export interface Transcript {
  /** Text as recognised. */
  readonly raw: string
  /** Text after corrections by rules and lexicon. */
  readonly refined: string
  /** From 0 to 1. */
  readonly confidence: number
  /** Other refined hypotheses, best first; without `refined` itself. */
  readonly alternatives: readonly string[]
  /** Changes from `raw` to `refined`. */
  readonly corrections: readonly { readonly from: string; readonly to: string }[]
  /** Language of the speech; null if unknown, as for text files. */
  readonly language: string | null
  /** Duration of the recording in milliseconds; null for text files. */
  readonly durationMs: number | null
}
