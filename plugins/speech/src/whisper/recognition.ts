import { readFile, stat } from 'node:fs/promises'
import { speechErrors } from '@svc/contracts'
import { MAX_SECONDS } from '../audio/ffmpeg.ts'
import { normalised } from '../audio/loudness.ts'
import { resample } from '../audio/resample.ts'
import { findSpeech } from '../audio/voice-activity.ts'
import { readWav } from '../audio/wav.ts'
import { joined, type Window, windowsOf } from '../audio/windows.ts'
import { DEFAULT_THRESHOLDS } from './fallback.ts'
import type { Ort } from './sessions.ts'
import { Whisper, type WindowText } from './whisper.ts'
import type { Plan, RecognitionResult, Recording } from './worker-protocol.ts'

export const RATE = 16_000
/** Maximum size of a recording: more than two hours of stereo in CD quality. */
const MAX_FILE_BYTES = 1_500_000_000
/** Maximum alternative texts of a whole recording. */
const MAX_ALTERNATIVES = 4

/** Converts a recording to text. Keeps one model loaded. */
export class Recognition {
  readonly #ort: Ort
  #loaded: { readonly key: string; readonly whisper: Whisper } | null = null

  constructor(ort: Ort) {
    this.#ort = ort
  }

  /** Recognises a recording. `check` throws when the result is no longer needed. */
  async recognise(recording: Recording, plan: Plan, check: () => void): Promise<RecognitionResult> {
    check()
    const samples = normalised(await samplesOf(recording), plan.preprocessing)
    check()
    const { voice } = plan
    const spoken = voice === null ? [{ start: 0, end: samples.length }] : findSpeech(samples, { ...voice, rate: RATE })
    const windows = windowsOf(spoken, plan.chunkSeconds * RATE, plan.overlapSeconds * RATE)
    const whisper = await this.#model(plan)
    const texts: WindowText[] = []
    let language: string | null = plan.language
    for (const { start, end } of windows) {
      const options = { language, task: plan.task, bias: plan.bias, thresholds: DEFAULT_THRESHOLDS, check }
      const text = await whisper.read(samples.subarray(start, end), options)
      texts.push(text)
      // Later windows use the language of the first one.
      language = text.language
    }
    return {
      text: joinTexts(windows, texts),
      language: texts[0]?.language ?? null,
      alternatives: alternatives(windows, texts),
      durationMs: Math.round((samples.length / RATE) * 1000),
      device: whisper.device
    }
  }

  async close(): Promise<void> {
    const loaded = this.#loaded
    this.#loaded = null
    await loaded?.whisper.close()
  }

  async #model({ model, open }: Plan): Promise<Whisper> {
    const key = `${model.fingerprint} ${open.threads} ${open.cuda}`
    if (this.#loaded?.key === key) return this.#loaded.whisper
    await this.close()
    const whisper = await Whisper.load(this.#ort, model, open)
    this.#loaded = { key, whisper }
    return whisper
  }
}

async function samplesOf(recording: Recording): Promise<Float32Array> {
  if (recording.kind === 'samples') return recording.samples
  const { path, name } = recording
  const { size } = await stat(path)
  if (size > MAX_FILE_BYTES)
    throw speechErrors.create('SPC_AUDIO_INVALID', `${name} has ${size} bytes; the limit is ${MAX_FILE_BYTES} bytes`)
  const sound = readWav(await readFile(path), name)
  if (sound.samples.length > MAX_SECONDS * sound.rate)
    throw speechErrors.create('SPC_AUDIO_INVALID', `${name} is longer than ${MAX_SECONDS} seconds`)
  return resample(sound.samples, sound.rate, RATE)
}

function joinTexts(
  windows: readonly Window[],
  texts: readonly WindowText[],
  other?: { at: number; text: string }
): string {
  return texts.reduce(
    (text, each, at) => joined(text, at === other?.at ? other.text : each.text, windows[at]?.overlaps === true),
    ''
  )
}

/** Returns texts of the whole recording in which one window has an alternative reading. */
function alternatives(windows: readonly Window[], texts: readonly WindowText[]): readonly string[] {
  const others = texts.flatMap((each, at) => each.alternatives.map(text => joinTexts(windows, texts, { at, text })))
  const best = joinTexts(windows, texts)
  return [...new Set(others)].filter(text => text !== best && text !== '').slice(0, MAX_ALTERNATIVES)
}
