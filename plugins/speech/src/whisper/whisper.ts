import type { Tensor } from 'onnxruntime-node'
import { decode, detectLanguage } from './decoding.ts'
import { isDoubtful, isSilence, type Reading, TEMPERATURES, type Thresholds } from './fallback.ts'
import { LogMel } from './log-mel.ts'
import { type ModelConfig, readModelConfig } from './model-config.ts'
import type { ModelFiles } from './model-files.ts'
import { type BiasOptions, PhraseBias } from './phrase-bias.ts'
import { type OpenOptions, type Ort, Sessions } from './sessions.ts'
import { WhisperTokens } from './whisper-tokens.ts'

export interface ReadOptions {
  /** Spoken language. If it is null or unknown, the model detects it. */
  readonly language: string | null
  readonly task: 'transcribe' | 'translate'
  readonly bias: BiasOptions
  readonly thresholds: Thresholds
  readonly check: () => void
}

export interface WindowText {
  readonly text: string
  readonly language: string | null
  /** Other readings, from other temperatures. */
  readonly alternatives: readonly string[]
}

/** A loaded Whisper model, which reads windows of up to 30 seconds. */
export class Whisper {
  readonly config: ModelConfig
  readonly #sessions: Sessions
  readonly #tokens: WhisperTokens
  readonly #front: LogMel

  /** Loads a model. Throws `SPC_MODEL_INVALID`, and the errors of ONNX Runtime. */
  static async load(ort: Ort, files: ModelFiles, options: OpenOptions): Promise<Whisper> {
    const config = await readModelConfig(files)
    const tokens = new WhisperTokens(files.tokenizer)
    return new Whisper(config, await Sessions.open(ort, files, config, options), tokens)
  }

  private constructor(config: ModelConfig, sessions: Sessions, tokens: WhisperTokens) {
    this.config = config
    this.#sessions = sessions
    this.#tokens = tokens
    this.#front = new LogMel(config.mel)
  }

  get device(): string {
    return this.#sessions.device
  }

  /** Transcribes mono samples at the model's rate. Ignores samples beyond its window. */
  async read(samples: Float32Array, options: ReadOptions): Promise<WindowText> {
    const { check, thresholds } = options
    check()
    const encoded = await this.#sessions.encode(this.#front.features(samples))
    check()
    const language = await this.#language(encoded, options.language)
    const prompt = this.#prompt(language, options.task)
    const bias = options.bias.phrases.length === 0 ? null : new PhraseBias(this.#tokens, options.bias)
    const readings: Reading[] = []
    for (const [seed, temperature] of TEMPERATURES.entries()) {
      const { noSpeech } = this.#tokens
      const made = await decode(this.#sessions, this.config, encoded, {
        prompt,
        temperature,
        seed,
        noSpeech,
        bias,
        check
      })
      readings.push({ ...made, temperature, text: this.#tokens.decode(made.tokens).trim() })
      const last = readings.at(-1) as Reading
      if (isSilence(last, thresholds)) return { text: '', language, alternatives: [] }
      if (!isDoubtful(last, thresholds)) break
    }
    const confidenceOf = (reading: Reading) => reading.averageLogProbability
    const last = readings.at(-1) as Reading
    // The first accepted reading, else the most confident one.
    const best = isDoubtful(last, thresholds)
      ? readings.reduce((a, b) => (confidenceOf(b) > confidenceOf(a) ? b : a))
      : last
    const others = readings.filter(({ text }) => text !== best.text).sort((a, b) => confidenceOf(b) - confidenceOf(a))
    return { text: best.text, language, alternatives: [...new Set(others.map(({ text }) => text))] }
  }

  close(): Promise<void> {
    return this.#sessions.close()
  }

  async #language(encoded: Tensor, requested: string | null): Promise<string | null> {
    const { languages } = this.config
    if (languages.size === 0) return 'en'
    if (requested !== null && languages.has(requested)) return requested
    // The model has no tokens for regions, such as pt-br.
    const [main = ''] = requested?.split('-') ?? []
    return languages.has(main) ? main : detectLanguage(this.#sessions, this.config, encoded)
  }

  #prompt(language: string | null, task: string): readonly number[] {
    const { start, languages, tasks, noTimestamps } = this.config
    return [
      start,
      languages.get(language ?? ''),
      languages.size === 0 ? undefined : tasks.get(task),
      noTimestamps
    ].filter(token => token !== undefined && token !== null)
  }
}
