import { batch, computed, type Signal, signal } from '@preact/signals'
import type { ConsoleApi } from '@svc/contracts'
import {
  type Answer,
  isRunning,
  newTurn,
  Step,
  type StepError,
  type TokenEntry,
  type ToolCall,
  type Turn,
  type TurnData,
  turnData,
  turnOf
} from './conversation.ts'
import { type Choice, chatBody, keyOf } from './request.ts'
import { invalidFields, newSettings, type Settings, type SettingsData, settingsData } from './settings.ts'

const MEMORY_KEY = 'playground 1'

/** Event of a running `model.chat` call. */
type Piece =
  | { readonly type: 'text'; readonly text: string; readonly logprobs?: readonly TokenEntry[] }
  | { readonly type: 'thinking'; readonly text: string }
  | { readonly type: 'call'; readonly index: number; readonly id: string; readonly name: string }
  | { readonly type: 'arguments'; readonly index: number; readonly text: string }

interface ChatOutput {
  readonly message: {
    readonly tool_calls?: readonly {
      readonly id: string
      readonly function: { readonly name: string; readonly arguments: string }
    }[]
  }
  readonly finish_reason: 'stop' | 'length' | 'tool_calls'
  readonly usage: { readonly prompt_tokens: number; readonly completion_tokens: number }
  readonly timing: { readonly completion_ms: number | null }
}

interface ListOutput {
  readonly models: readonly {
    readonly name: string
    readonly status: string
    readonly detail: string
    readonly adapters?: readonly string[]
    readonly url?: string
    readonly key_required: boolean
    readonly tools?: boolean
    readonly thinking?: boolean
  }[]
}

interface ChoicesOutput {
  readonly models: readonly Choice[]
  readonly problem?: string
}

interface Snapshot {
  readonly settings: SettingsData
  readonly turns: readonly TurnData[]
  readonly columns: readonly string[]
  readonly draft: string
}

/** State of the playground: the conversation, its settings, and one column for each compared model. */
export class Playground {
  readonly api: ConsoleApi
  readonly settings: Settings
  readonly turns: Signal<readonly Turn[]>
  /** Key of each column's choice; one or two. An empty key means the first model. */
  readonly columns: Signal<readonly string[]>
  readonly draft: Signal<string>
  readonly choices = computed(() => [...this.#own.value, ...this.#project.value])
  /** Problem of the list of models. */
  readonly problem = signal<string | null>(null)
  /** State of the own model, if it is not ready. */
  readonly notice = signal<string | null>(null)
  readonly running = computed(() => isRunning(this.turns.value))
  /** Field of the settings that the person must correct. */
  readonly invalid = signal<keyof SettingsData | null>(null)
  readonly #own = signal<readonly Choice[]>([])
  readonly #project = signal<readonly Choice[]>([])
  readonly #runs = new Set<AbortController>()

  constructor(api: ConsoleApi) {
    this.api = api
    const kept = api.memory.get(MEMORY_KEY) as Snapshot | undefined
    this.settings = newSettings(kept?.settings)
    this.turns = signal(kept?.turns.map(turnOf) ?? [])
    const { model } = api.route
    this.columns = signal(model === undefined ? (kept?.columns ?? ['']) : [keyOf({ server: 'own', model })])
    this.draft = signal(kept?.draft ?? '')
  }

  /** Loads the models, and follows their state until the page closes. */
  start(): void {
    this.api.watch(
      'model.list',
      {},
      output => this.#setOwn(output as ListOutput),
      error => {
        this.problem.value = error.message
      }
    )
    this.api.call('model.choices', {}, { signal: this.api.signal }).then(
      output => {
        const { models, problem } = output as ChoicesOutput
        this.#project.value = models.filter(({ server }) => server === 'project')
        this.problem.value = problem ?? null
      },
      error => {
        if (!this.api.signal.aborted) this.problem.value = (error as Error).message
      }
    )
  }

  /** Keeps the conversation for the next version of this page's code. */
  save(): void {
    const snapshot: Snapshot = {
      settings: settingsData(this.settings),
      turns: this.turns.value.map(turnData),
      columns: this.columns.value,
      draft: this.draft.value
    }
    this.api.memory.set(MEMORY_KEY, snapshot)
  }

  /** Returns the model of a column; undefined until the models are known. */
  choice(column: number): Choice | undefined {
    const key = this.columns.value[column] ?? ''
    const choices = this.choices.value
    return choices.find(each => keyOf(each) === key) ?? choices[0]
  }

  /** Returns the heading of a compared column: its model, and the temperature if the columns differ in it. */
  title(column: number): string {
    const { temperature, secondTemperature } = this.settings
    const model = this.choice(column)?.model ?? `Model ${column + 1}`
    if (secondTemperature.value === '') return model
    const own = column > 0 ? secondTemperature.value : temperature.value
    return `${model}, temperature ${own === '' ? 'as the model decides' : own}`
  }

  choose(column: number, key: string): void {
    this.columns.value = this.columns.value.map((each, index) => (index === column ? key : each))
  }

  compare(on: boolean): void {
    const [first = ''] = this.columns.value
    const chosen = this.choice(0)
    const other = this.choices.value.find(each => chosen !== undefined && keyOf(each) !== keyOf(chosen)) ?? chosen
    this.columns.value = on && other !== undefined ? [first, keyOf(other)] : [first]
  }

  clear(): void {
    this.stop()
    this.turns.value = []
    this.save()
  }

  /** Sends the message to the model of each column. Returns false if it cannot be sent. */
  send(text: string): boolean {
    if (text.trim() === '' || !this.#canSend()) return false
    const turn = newTurn(text)
    this.turns.value = [...this.turns.value, turn]
    this.#answerAll(turn)
    return true
  }

  /** Replaces a message, removes what follows it, and sends it. Returns false if it cannot be sent. */
  resend(turn: Turn, text: string): boolean {
    if (text.trim() === '' || !this.#canSend()) return false
    this.stop()
    const index = this.turns.value.indexOf(turn)
    batch(() => {
      turn.text.value = text
      turn.answers.value = []
      this.turns.value = this.turns.value.slice(0, index + 1)
    })
    this.#answerAll(turn)
    return true
  }

  /** Requests another answer to the last message. */
  regenerate(turn: Turn, column: number): void {
    if (!this.#canSend()) return
    this.#answer(turn, column)
  }

  /** Continues an answer with the results of its calls. */
  sendResults(turn: Turn, column: number): void {
    const answer = turn.answers.value[column]
    if (answer === undefined || !this.#canSend()) return
    void this.#runStep(turn, column, answer)
  }

  stop(): void {
    for (const run of this.#runs) run.abort()
  }

  /** Returns the request that produced, or will produce, a step. */
  request(turn: Turn, column: number, stepIndex: number) {
    const choice = this.choice(column)
    if (choice === undefined) return undefined
    const turns = this.turns.value.slice(0, this.turns.value.indexOf(turn) + 1)
    return { choice, body: chatBody(this.settings, choice, turns, column, stepIndex) }
  }

  #canSend(): boolean {
    const isCompared = this.columns.value.length > 1
    const [invalid = null] = invalidFields(this.settings).filter(name => isCompared || name !== 'secondTemperature')
    this.invalid.value = invalid
    return invalid === null && this.choices.value.length > 0 && this.api.may('model.chat')
  }

  #answerAll(turn: Turn): void {
    for (const column of this.columns.value.keys()) this.#answer(turn, column)
    this.save()
  }

  #answer(turn: Turn, column: number): void {
    const answer: Answer = signal([])
    const answers = [...turn.answers.value]
    answers[column] = answer
    turn.answers.value = answers
    void this.#runStep(turn, column, answer)
  }

  async #runStep(turn: Turn, column: number, answer: Answer): Promise<void> {
    const request = this.request(turn, column, answer.value.length)
    if (request === undefined) return
    const step = new Step()
    answer.value = [...answer.value, step]
    const run = new AbortController()
    this.#runs.add(run)
    const started = performance.now()
    let firstTokenMs: number | null = null
    const onEvent = (event: unknown): void => {
      firstTokenMs ??= performance.now() - started
      addPiece(step, event as Piece)
    }
    try {
      const input = { ...request.body, server: request.choice.server }
      const output = (await this.api.call('model.chat', input, { signal: run.signal, onEvent })) as ChatOutput
      const { prompt_tokens, completion_tokens } = output.usage
      const { completion_ms } = output.timing
      batch(() => {
        step.flush()
        step.calls.value = (output.message.tool_calls ?? []).map(({ id, function: made }) => ({
          id,
          ...made,
          result: ''
        }))
        step.status.value = statusOf(output)
        step.figures.value = {
          firstTokenMs,
          totalMs: performance.now() - started,
          promptTokens: prompt_tokens,
          completionTokens: completion_tokens,
          tokensPerSecond:
            completion_ms === null || completion_ms === 0 ? null : (completion_tokens / completion_ms) * 1000
        }
      })
    } catch (error) {
      batch(() => {
        step.flush()
        // A call that was cut off has no valid arguments, so the conversation goes on without it.
        step.calls.value = []
        step.status.value = run.signal.aborted || this.api.signal.aborted ? 'stopped' : 'failed'
        if (step.status.value === 'failed') step.error.value = errorOf(error)
        step.figures.value = {
          firstTokenMs,
          totalMs: performance.now() - started,
          promptTokens: null,
          completionTokens: null,
          tokensPerSecond: null
        }
      })
    } finally {
      this.#runs.delete(run)
      this.save()
    }
  }

  #setOwn({ models }: ListOutput): void {
    this.#own.value = models.flatMap(({ name, adapters = [], url, key_required, tools, thinking }) =>
      [name, ...adapters].map(model => ({
        model,
        server: 'own' as const,
        keyRequired: key_required,
        ...(url === undefined ? {} : { url }),
        ...(tools === undefined ? {} : { tools }),
        ...(thinking === undefined ? {} : { thinking })
      }))
    )
    const waiting = models.find(({ status }) => status === 'loading' || status === 'failed')
    this.notice.value = waiting?.detail ?? null
  }
}

function addPiece(step: Step, piece: Piece): void {
  switch (piece.type) {
    case 'text':
      if (piece.logprobs !== undefined) step.tokens.value = [...step.tokens.value, ...piece.logprobs]
      step.append(piece.text)
      return
    case 'thinking':
      step.thinking.value += piece.text
      return
    case 'call': {
      const call: ToolCall = { id: piece.id, name: piece.name, arguments: '', result: '' }
      step.calls.value = [...step.calls.value, call]
      return
    }
    case 'arguments':
      step.calls.value = step.calls.value.map((call, index) =>
        index === piece.index ? { ...call, arguments: call.arguments + piece.text } : call
      )
  }
}

function statusOf({ finish_reason }: ChatOutput) {
  if (finish_reason === 'tool_calls') return 'calls'
  return finish_reason === 'length' ? 'length' : 'done'
}

function errorOf(error: unknown): StepError {
  const { code = 'UNKNOWN', message, hint, requestId } = error as Error & Partial<StepError>
  return {
    code,
    message,
    ...(hint === undefined ? {} : { hint }),
    ...(requestId === undefined ? {} : { requestId })
  }
}
