import { type Signal, signal } from '@preact/signals'

/** Log probability of a token and its most probable alternatives, as `model.chat` reports them. */
export interface TokenEntry {
  readonly token: string
  /** Natural logarithm of the probability. */
  readonly logprob: number
  readonly top_logprobs: readonly { readonly token: string; readonly logprob: number }[]
}

export interface ToolCall {
  readonly id: string
  readonly name: string
  /** JSON text. */
  readonly arguments: string
  /** Text that the person entered as the function's result. */
  readonly result: string
}

export interface StepError {
  readonly code: string
  readonly message: string
  readonly hint?: string
  readonly requestId?: string
}

/** Measurements of a finished step. Times in milliseconds. */
export interface StepFigures {
  /** From sending the request to its first event, as the page measured. */
  readonly firstTokenMs: number | null
  readonly totalMs: number
  readonly promptTokens: number | null
  readonly completionTokens: number | null
  /** As the server measured: generated tokens by time of generation. */
  readonly tokensPerSecond: number | null
}

export type StepStatus = 'running' | 'done' | 'length' | 'calls' | 'stopped' | 'failed'

interface StepData {
  readonly thinking: string
  readonly content: string
  readonly calls: readonly ToolCall[]
  readonly tokens: readonly TokenEntry[]
  readonly status: StepStatus
  readonly error: StepError | null
  readonly figures: StepFigures | null
}

/** Text beyond which a growing answer is drawn at intervals: parsing its Markdown for each token is then too slow. */
const DRAW_EACH_TOKEN_BELOW = 4_000
const DRAW_INTERVAL_MS = 100

/** Answer of a model to one request. A tool's results lead to a further step. */
export class Step {
  readonly thinking: Signal<string>
  readonly content: Signal<string>
  readonly calls: Signal<readonly ToolCall[]>
  readonly tokens: Signal<readonly TokenEntry[]>
  readonly status: Signal<StepStatus>
  readonly error: Signal<StepError | null>
  readonly figures: Signal<StepFigures | null>
  #text: string
  #drawing: ReturnType<typeof setTimeout> | undefined

  constructor(data: Partial<StepData> = {}) {
    this.#text = data.content ?? ''
    this.thinking = signal(data.thinking ?? '')
    this.content = signal(this.#text)
    this.calls = signal(data.calls ?? [])
    this.tokens = signal(data.tokens ?? [])
    this.status = signal(data.status ?? 'running')
    this.error = signal(data.error ?? null)
    this.figures = signal(data.figures ?? null)
  }

  append(text: string): void {
    this.#text += text
    if (this.#text.length < DRAW_EACH_TOKEN_BELOW) this.content.value = this.#text
    else this.#drawing ??= setTimeout(() => this.flush(), DRAW_INTERVAL_MS)
  }

  /** Shows all text that was appended. */
  flush(): void {
    clearTimeout(this.#drawing)
    this.#drawing = undefined
    this.content.value = this.#text
  }

  edit(text: string): void {
    this.#text = text
    this.content.value = text
    this.tokens.value = []
  }

  data(): StepData {
    const status = this.status.value
    return {
      thinking: this.thinking.value,
      content: this.#text,
      calls: this.calls.value,
      tokens: this.tokens.value,
      status: status === 'running' ? 'stopped' : status,
      error: this.error.value,
      figures: this.figures.value
    }
  }
}

/** Answer of one column to one message: steps, of which all but the last end with calls of tools. */
export type Answer = Signal<readonly Step[]>

/** Message of the person, and the answer of each column. */
export interface Turn {
  readonly id: number
  readonly text: Signal<string>
  /** By column; undefined if the column did not exist then. */
  readonly answers: Signal<readonly (Answer | undefined)[]>
}

export interface TurnData {
  readonly text: string
  readonly answers: readonly (readonly StepData[] | null)[]
}

let lastId = 0

export function newTurn(text: string, answers: readonly (Answer | undefined)[] = []): Turn {
  return { id: ++lastId, text: signal(text), answers: signal(answers) }
}

export function turnData({ text, answers }: Turn): TurnData {
  return {
    text: text.value,
    answers: answers.value.map(answer => answer?.value.map(step => step.data()) ?? null)
  }
}

export function turnOf({ text, answers }: TurnData): Turn {
  const restored = answers.map(steps => (steps === null ? undefined : signal(steps.map(step => new Step(step)))))
  return newTurn(text, restored)
}

export function isRunning(turns: readonly Turn[]): boolean {
  return turns.some(({ answers }) =>
    answers.value.some(answer => answer?.value.some(step => step.status.value === 'running') ?? false)
  )
}
