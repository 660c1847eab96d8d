export type Preprocessing = 'none' | 'peak_normalize' | 'rms_normalize'

/** Target root mean square of speech: 20 dB below full scale. */
const TARGET_RMS = 0.1
/** Peak amplitude below which a recording is treated as silence and not amplified. */
const MIN_PEAK = 1e-4

/** Normalises the loudness. All samples stay between -1 and 1. */
export function normalised(samples: Float32Array, preprocessing: Preprocessing): Float32Array {
  if (preprocessing === 'none') return samples
  const peak = samples.reduce((max, value) => Math.max(max, Math.abs(value)), 0)
  if (peak < MIN_PEAK) return samples
  const gain = preprocessing === 'peak_normalize' ? 1 / peak : Math.min(TARGET_RMS / rms(samples), 1 / peak)
  return samples.map(value => value * gain)
}

/** Returns the root mean square; 0 if there are no samples. */
export function rms(samples: Float32Array): number {
  const sum = samples.reduce((total, value) => total + value * value, 0)
  return samples.length === 0 ? 0 : Math.sqrt(sum / samples.length)
}
