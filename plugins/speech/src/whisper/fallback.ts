import { deflateSync } from 'node:zlib'
import type { Decoded } from './decoding.ts'

/** Temperatures, in the order in which they are tried. */
export const TEMPERATURES = [0, 0.2, 0.4, 0.6, 0.8, 1] as const

/** Thresholds at which a reading is rejected, as in OpenAI's code. */
export interface Thresholds {
  /** Maximum compression ratio of a text; repetitions have a higher one. */
  readonly compressionRatio: number
  /** Minimum mean log probability of the tokens; a guess has a lower one. */
  readonly averageLogProbability: number
  readonly noSpeech: number
}

export const DEFAULT_THRESHOLDS: Thresholds = { compressionRatio: 2.4, averageLogProbability: -1, noSpeech: 0.6 }

export interface Reading extends Decoded {
  readonly text: string
  readonly temperature: number
}

/** True for silence: the model predicts no speech, and its text is not confident. */
export function isSilence(reading: Decoded, thresholds: Thresholds): boolean {
  return (
    reading.noSpeechProbability > thresholds.noSpeech &&
    reading.averageLogProbability < thresholds.averageLogProbability
  )
}

/** True if another temperature should be tried. */
export function isDoubtful(reading: Reading, thresholds: Thresholds): boolean {
  if (isSilence(reading, thresholds)) return false
  return (
    compressionRatio(reading.text) > thresholds.compressionRatio ||
    reading.averageLogProbability < thresholds.averageLogProbability
  )
}

function compressionRatio(text: string): number {
  const bytes = Buffer.from(text)
  return bytes.length === 0 ? 1 : bytes.length / deflateSync(bytes).length
}
