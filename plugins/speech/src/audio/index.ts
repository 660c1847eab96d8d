// Exports of this folder for tests. Sources import the files directly.
export { convert, samplesOf } from './ffmpeg.ts'
export { formatOf } from './formats.ts'
export { normalised, rms } from './loudness.ts'
export { resample } from './resample.ts'
export { findSpeech as voiced } from './voice-activity.ts'
export { readWav } from './wav.ts'
export { joined, windowsOf } from './windows.ts'
