import { rms } from './loudness.ts'

/** A segment of samples. */
export interface Segment {
  readonly start: number
  readonly end: number
}

export interface VoiceOptions {
  /** Minimum root mean square of a frame with speech. */
  readonly threshold: number
  /** Maximum pause inside a segment, in milliseconds; at least twice the padding applies. */
  readonly mergeGapMs: number
  readonly rate: number
}

const FRAME_MS = 30
/** Padding around a segment in milliseconds, because words begin and end softly. */
const PADDING_MS = 120

/** Finds segments with speech by the energy of frames. The segments are in order and do not overlap. */
export function findSpeech(samples: Float32Array, { threshold, mergeGapMs, rate }: VoiceOptions): readonly Segment[] {
  const frame = Math.round((FRAME_MS / 1000) * rate)
  const padding = Math.round((PADDING_MS / 1000) * rate)
  const gap = Math.max(2 * padding, Math.round((mergeGapMs / 1000) * rate))
  const found: { start: number; end: number }[] = []
  for (let at = 0; at < samples.length; at += frame) {
    const end = Math.min(samples.length, at + frame)
    if (rms(samples.subarray(at, end)) < threshold) continue
    const last = found.at(-1)
    if (last !== undefined && at - last.end <= gap) last.end = end
    else found.push({ start: at, end })
  }
  return found.map(({ start, end }) => ({
    start: Math.max(0, start - padding),
    end: Math.min(samples.length, end + padding)
  }))
}
