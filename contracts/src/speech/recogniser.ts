import { service } from '@svc/plugin-sdk'

/** Turns recordings into text. */
export const speechRecogniser = service<SpeechRecogniser>('speech.recogniser@1')

export interface SpeechRecogniser {
  /** Whether recordings can be recognised now; looks at the model's files and loads nothing. */
  state(): Promise<SpeechState>
  /**
   * Recognises one recording; the first call loads the model. Text files are their own transcripts.
   *
   * Throws `SPC_PATH_OUTSIDE`, `SPC_FILE_NOT_FOUND`, `SPC_AUDIO_UNSUPPORTED`, `SPC_AUDIO_INVALID`, `SPC_NO_MODEL`,
   * `SPC_BACKEND_UNAVAILABLE`, `SPC_MODEL_INVALID`, `SPC_BUSY`, `SPC_TIMEOUT` (data: outcome) and `SPC_RECOGNISER_FAILED`;
   * and the signal's reason when it is aborted.
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
  /** One sentence for a person. */
  readonly detail: string
  /** Name in the settings. */
  readonly model: string
  /** Folder of the model's files, or null if none was found. */
  readonly folder: string | null
  /** Files that the model lacks. */
  readonly missing: readonly string[]
  /** Whether the model supports more than English; null without a model. */
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
  /** The same after the rules and the lexicon. */
  readonly refined: string
  /** From 0 to 1. */
  readonly confidence: number
  /** Other readings, refined, best first; without `refined` itself. */
  readonly alternatives: readonly string[]
  /** Changes from `raw` to `refined`. */
  readonly corrections: readonly { readonly from: string; readonly to: string }[]
  /** Language of the speech; null when unknown, as for texts. */
  readonly language: string | null
  /** Length of the recording in milliseconds; null for texts. */
  readonly durationMs: number | null
}
