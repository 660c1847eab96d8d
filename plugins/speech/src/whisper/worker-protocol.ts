import type { Preprocessing } from '../audio/loudness.ts'
import type { ModelFiles } from './model-files.ts'
import type { BiasOptions } from './phrase-bias.ts'
import type { OpenOptions } from './sessions.ts'

/** Options for the recognition of a recording. */
export interface Plan {
  readonly model: ModelFiles
  readonly open: OpenOptions
  readonly language: string | null
  readonly task: 'transcribe' | 'translate'
  readonly preprocessing: Preprocessing
  /** Settings for finding speech; null to treat the whole recording as speech. */
  readonly voice: { readonly threshold: number; readonly mergeGapMs: number } | null
  readonly chunkSeconds: number
  readonly overlapSeconds: number
  readonly bias: BiasOptions
}

/** A WAV file with its absolute path, or mono samples at 16 kHz. `name` is used in messages. */
export type Recording =
  | { readonly kind: 'wav'; readonly path: string; readonly name: string }
  | { readonly kind: 'samples'; readonly samples: Float32Array }

export interface JobRequest {
  readonly kind: 'job'
  readonly id: number
  readonly plan: Plan
  readonly recording: Recording
  /** The first element becomes 1 when the result is no longer needed. */
  readonly cancelled: Int32Array
}

export type WorkerRequest = JobRequest | { readonly kind: 'end' }

export interface RecognitionResult {
  readonly text: string
  readonly language: string | null
  readonly alternatives: readonly string[]
  readonly durationMs: number
  /** `cpu` or `cuda`. */
  readonly device: string
}

export type WorkerReply =
  | { readonly id: number; readonly result: RecognitionResult }
  | {
      readonly id: number
      readonly error: { readonly code: string | null; readonly message: string; readonly hint?: string }
    }
