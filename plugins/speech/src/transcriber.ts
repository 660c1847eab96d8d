import { readFile, stat } from 'node:fs/promises'
import { basename } from 'node:path'
import {
  type SpeechOptions,
  type SpeechRecogniser,
  type SpeechSource,
  type SpeechState,
  speechErrors,
  type Transcript
} from '@svc/contracts'
import { convert } from './audio/ffmpeg.ts'
import { formatOf, READABLE } from './audio/formats.ts'
import { withinDeadlines } from './deadline.ts'
import { languageHint } from './language-hint.ts'
import { locateModel, type ModelLocation } from './model-location.ts'
import type { Proofreader } from './proofreader.ts'
import { confidenceOf } from './refine/confidence.ts'
import type { LexiconFile } from './refine/lexicon.ts'
import { type Refined, refine } from './refine/refine.ts'
import type { Settings } from './settings.ts'
import type { Tunables } from './tunables.ts'
import { hasCudaProvider } from './whisper/cuda-provider.ts'
import { isMultilingual, type ModelFiles } from './whisper/model-files.ts'
import { RATE } from './whisper/recognition.ts'
import type { WhisperThread } from './whisper/whisper-thread.ts'
import type { Plan, RecognitionResult, Recording } from './whisper/worker-protocol.ts'
import type { Workspace } from './workspace.ts'

const MAX_TEXT_BYTES = 33_554_432

export interface TranscriberParts {
  readonly settings: Settings
  readonly tunables: Tunables
  readonly location: ModelLocation
  readonly workspace: Workspace
  readonly lexicon: LexiconFile
  readonly thread: WhisperThread
  /** null if there is no language model. */
  readonly proofreader: Proofreader | null
}

/** Transcribes recordings: finds the model, runs it and refines the text. */
export class Transcriber implements SpeechRecogniser {
  readonly #parts: TranscriberParts

  constructor(parts: TranscriberParts) {
    this.#parts = parts
  }

  async state(): Promise<SpeechState> {
    const { settings, location } = this.#parts
    const { backend, model } = settings
    if (backend === 'sherpa') {
      const detail = 'the recogniser sherpa is not part of this installation'
      return { status: 'unavailable', detail, model, folder: null, missing: [], multilingual: null }
    }
    const found = await locateModel(location)
    if (found.complete) {
      const { folder } = found.files
      const multilingual = await isMultilingual(found.files).catch(() => null)
      return { status: 'ready', detail: `${model} in ${folder}`, model, folder, missing: [], multilingual }
    }
    const { folder, missing } = found
    const detail = `the model ${model} is incomplete: ${folder} lacks ${missing.join(', ')}`
    return { status: 'no_model', detail, model, folder: null, missing, multilingual: null }
  }

  /** Transcribes a recording. `started` is the time of `performance.now()` when the recording began to arrive. */
  async transcribe(
    source: SpeechSource,
    options: SpeechOptions = {},
    started = performance.now()
  ): Promise<Transcript> {
    const { tunables } = this.#parts
    return withinDeadlines(tunables, started, options.signal, signal =>
      this.#transcribe(source, options.language, signal)
    )
  }

  async #transcribe(source: SpeechSource, language: string | undefined, signal: AbortSignal): Promise<Transcript> {
    if (source.kind === 'samples') return this.#recognise(source, language, signal)
    const { workspace, settings } = this.#parts
    const path = await workspace.file(source.path)
    const name = basename(source.path)
    const format = formatOf(path)
    if (format === null)
      throw speechErrors.create('SPC_AUDIO_UNSUPPORTED', `${name} has an unsupported format; supported: ${READABLE}`)
    if (format === 'text') return this.#text(path, name)
    const model = await this.#model()
    if (format === 'wav') return this.#recognise({ kind: 'wav', path, name }, language, signal, model)
    const samples = await convert({ ffmpeg: settings.ffmpeg, path, name, rate: RATE, signal })
    return this.#recognise({ kind: 'samples', samples }, language, signal, model)
  }

  /** Returns the content of a text file as transcript. */
  async #text(path: string, name: string): Promise<Transcript> {
    const { size } = await stat(path)
    if (size > MAX_TEXT_BYTES)
      throw speechErrors.create(
        'SPC_AUDIO_INVALID',
        `${name} has ${size} bytes; the limit of a text file is ${MAX_TEXT_BYTES} bytes`
      )
    let text: string
    try {
      text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(await readFile(path))
    } catch (cause) {
      throw speechErrors.create('SPC_AUDIO_INVALID', `${name} is not UTF-8`, { cause })
    }
    const confidence = this.#parts.tunables.refine_confidence_max
    return {
      raw: text,
      refined: text,
      confidence,
      alternatives: [],
      corrections: [],
      language: null,
      durationMs: null
    }
  }

  async #recognise(
    recording: Recording,
    language: string | undefined,
    signal: AbortSignal,
    knownModel?: ModelFiles
  ): Promise<Transcript> {
    const { settings, tunables, thread, lexicon, proofreader } = this.#parts
    const model = knownModel ?? (await this.#model())
    const words = await lexicon.current()
    if (thread.load >= settings.max_waiting)
      throw speechErrors.create(
        'SPC_BUSY',
        `the limit of ${settings.max_waiting} running and waiting recordings is reached`,
        {
          hint: 'try again later, or raise plugins.speech.max_waiting'
        }
      )
    const recognised = await thread.recognise(recording, this.#plan(model, language, words.phrases), signal)
    const refined = refine(recognised.text, words, settings.refine_profile)
    const transcript = this.#transcript(recognised, refined, alternative =>
      refine(alternative, words, settings.refine_profile)
    )
    if (proofreader === null || transcript.confidence >= tunables.llm_min_confidence || refined.text === '')
      return transcript
    const corrected = await proofreader.correct(refined.text, signal)
    if (corrected === refined.text) return transcript
    const corrections = [...refined.corrections, { from: refined.text, to: corrected }]
    const confidence = confidenceOf(settings.refine_profile, corrections.length, tunables)
    return { ...transcript, refined: corrected, corrections, confidence }
  }

  #transcript(recognised: RecognitionResult, refined: Refined, refineText: (text: string) => Refined): Transcript {
    const { settings, tunables } = this.#parts
    const others = recognised.alternatives.map(text => refineText(text).text)
    return {
      raw: recognised.text,
      refined: refined.text,
      confidence: confidenceOf(settings.refine_profile, refined.corrections.length, tunables),
      alternatives: [...new Set(others)].filter(text => text !== refined.text),
      corrections: refined.corrections,
      language: recognised.language,
      durationMs: recognised.durationMs
    }
  }

  #plan(model: ModelFiles, language: string | undefined, phrases: readonly string[]): Plan {
    const { settings, tunables } = this.#parts
    const { acoustic_preprocess: preprocess } = settings
    return {
      model,
      open: { threads: settings.threads, cuda: settings.cuda && hasCudaProvider() },
      language: languageHint(language) ?? settings.language ?? null,
      task: settings.task,
      preprocessing: preprocess === '1' ? 'peak_normalize' : preprocess,
      voice:
        settings.vad === 'off'
          ? null
          : { threshold: settings.vad_energy_threshold, mergeGapMs: settings.vad_merge_gap_ms },
      chunkSeconds: settings.chunk_sec,
      overlapSeconds: settings.chunk_overlap_sec,
      bias: { phrases, strength: tunables.logit_bias_strength, maxTokens: tunables.logit_bias_max_tokens }
    }
  }

  async #model(): Promise<ModelFiles> {
    const { settings, location } = this.#parts
    if (settings.backend === 'sherpa')
      throw speechErrors.create('SPC_BACKEND_UNAVAILABLE', 'the recogniser sherpa is not part of this installation', {
        hint: 'set plugins.speech.backend (SVC_ORATIO_BACKEND) to auto'
      })
    const found = await locateModel(location)
    if (found.complete) return found.files
    const { folder, missing } = found
    throw speechErrors.create(
      'SPC_NO_MODEL',
      `the model ${settings.model} is incomplete: ${folder} lacks ${missing.join(', ')}`,
      {
        data: { model: settings.model, folder, missing },
        hint: 'run svc speech download, or set SVC_ORATIO_MODEL to the folder of an ONNX export'
      }
    )
  }
}
