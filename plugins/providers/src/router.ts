import type {
  FilledChatRequest,
  InferenceChatEvent,
  InferenceChatRequest,
  InferenceEndpoint,
  InferenceProviders,
  LocalLane,
  RemoteModel
} from '@svc/contracts'
import { defined, isSvcError, type Logger } from '@svc/plugin-sdk'
import { type CategoryName, categoryOf } from './choice/categories.ts'
import { type Attempts, type Choice, choose, fallback } from './choice/choose.ts'
import { type ExplainedFailure, explain } from './explain.ts'
import { chatHosted } from './hosted-chat.ts'
import type { Plan, Planner } from './planner.ts'
import { isAllowed } from './provider-access.ts'
import { HOSTED } from './provider-list.ts'
import { type ModelEntry, nameOf, priceOf, toEntry } from './registry/entry.ts'
import type { Selections } from './selections.ts'
import { profileOf, type Settings, usesLocalServers } from './settings.ts'
import type { UsageLedger } from './usage/ledger.ts'
import { GeminiWire } from './wires/gemini.ts'

type Done = Extract<InferenceChatEvent, { type: 'done' }>

export interface RouterParts {
  readonly settings: () => Settings
  readonly planner: Planner
  readonly ledger: UsageLedger
  readonly selections: Selections
  readonly log: Logger
}

/** Maximum cool-down that a provider can cause. */
const MAX_COOL_DOWN_MS = 86_400_000

/** Errors of the local server after which a hosted model may answer. */
const LOCAL_RETRYABLE: ReadonlySet<string> = new Set(['ICL_UNREACHABLE', 'ICL_BUSY', 'ICL_BROKEN_OFF'])

/** Sends each request to the chosen model, and to the next one if that fails before its answer begins. */
export class ProviderRouter implements InferenceProviders {
  readonly #parts: RouterParts
  readonly #gemini = new GeminiWire()

  constructor(parts: RouterParts) {
    this.#parts = parts
  }

  get usesLocal(): boolean {
    const settings = this.#parts.settings()
    return usesLocalServers(profileOf(settings)) && isAllowed(settings, 'ollama')
  }

  async endpoint(): Promise<InferenceEndpoint | null> {
    const access = await this.#parts.planner.access()
    // A custom provider may have addresses only in models.toml.
    const [first] = access.usable().filter(name => access.hasAddress(name))
    if (first === undefined) return null
    const url = access.url({ url: null, provider: first })
    return { url: new URL(url).origin, api: 'openai', setting: HOSTED[first].variable }
  }

  async models(): Promise<readonly RemoteModel[]> {
    const access = await this.#parts.planner.access()
    if (access.usable().length === 0) return []
    const { models } = await this.#parts.planner.load('')
    return models
      .filter(({ provider }) => provider !== 'ollama' && access.hasKey(provider) && access.isAllowed(provider))
      .map(entry => ({ ...UNKNOWN, name: nameOf(entry), family: entry.provider }))
  }

  async *chat(request: InferenceChatRequest, local: LocalLane): AsyncGenerator<InferenceChatEvent, void> {
    if (await this.#isPlain(request, local)) {
      yield* this.#chatLocally(request, local)
      return
    }
    const plan = await this.#parts.planner.plan(request, local)
    const choice = choose(plan.input)
    if (choice.warning !== null) this.#parts.log.warn(choice.warning, { model: nameOf(choice.entry) })
    const attempts: Attempts = { tried: new Set(), routes: new Set() }
    for (let next: Choice | null = choice; next !== null; ) {
      const entry: ModelEntry = next.entry
      attempts.tried.add(nameOf(entry))
      let began = false
      try {
        for await (const event of this.#attempt(entry, request, plan, local)) {
          began = true
          yield event.type === 'done' ? this.#accountChosen(event, entry, request, plan) : event
        }
        return
      } catch (error) {
        request.signal?.throwIfAborted()
        const failure = this.#explain(error, entry, began, plan)
        this.#mark(failure, entry)
        // A request that names its model gets this model, or the error.
        const other: ModelEntry | null =
          !failure.isRetryable || choice.rule === 'requested' ? null : fallback(entry, attempts, plan.input)
        if (other === null) throw failure.error
        const facts = { from: nameOf(entry), to: nameOf(other), reason: failure.error }
        this.#parts.log.warn('a request goes to another model', facts)
        next = { entry: other, rule: 'fallback', warning: null }
      }
    }
  }

  /** True if only the local server can answer, so that nothing has to be chosen. */
  async #isPlain({ model, purpose, signal }: InferenceChatRequest, local: LocalLane): Promise<boolean> {
    if (!this.usesLocal || (model !== undefined && model !== local.model)) return false
    if ((await this.#parts.planner.access(signal)).usable().length > 0) return false
    return (await this.#parts.selections.of(purpose?.session)) === null
  }

  async *#chatLocally(request: InferenceChatRequest, local: LocalLane): AsyncGenerator<InferenceChatEvent, void> {
    for await (const event of local.chat(request)) {
      if (event.type !== 'done') yield event
      else {
        const { models } = await this.#parts.planner.load(local.model)
        const own = models.find(({ provider, id }) => provider === 'ollama' && id === event.model)
        const entry = own ?? toEntry({ providerType: 'ollama', id: event.model })
        yield this.#account(event, entry, request, categoryOf(request.purpose?.category))
      }
    }
  }

  async *#attempt(
    entry: ModelEntry,
    request: InferenceChatRequest,
    plan: Plan,
    local: LocalLane
  ): AsyncGenerator<InferenceChatEvent, void> {
    const { provider } = entry
    if (provider === 'ollama') {
      yield* local.chat(entry.id === local.model ? { ...request, model: local.model } : { ...request, model: entry.id })
      return
    }
    const settings = this.#parts.settings()
    const { temperature, maxTokens: defaultTokens } = local.defaults
    const maxTokens = Math.min(request.maxTokens ?? defaultTokens, settings.max_output_tokens, entry.maxTokens)
    const filled: FilledChatRequest = { temperature, ...defined(request), model: entry.id, maxTokens }
    const tapped = await this.#tapped(filled, local)
    const parts = { settings, access: plan.access, local, gemini: this.#gemini }
    yield* chatHosted({ ...entry, provider }, tapped, parts)
  }

  async #tapped(request: FilledChatRequest, local: LocalLane): Promise<FilledChatRequest> {
    try {
      return await local.hooks.request(request)
    } catch (error) {
      throw new TapError(error)
    }
  }

  #explain(error: unknown, entry: ModelEntry, began: boolean, { access }: Plan): ExplainedFailure {
    if (error instanceof TapError) return { error: error.reason, isRetryable: false, mark: null, retryAfterMs: null }
    const { provider, id: model } = entry
    if (provider === 'ollama') {
      const isRetryable = !began && isSvcError(error) && LOCAL_RETRYABLE.has(error.code)
      if (isSvcError(error, 'ICL_UNREACHABLE')) this.#parts.planner.prober.failed()
      return { error, isRetryable, mark: null, retryAfterMs: null }
    }
    const coolDownMs = this.#parts.settings().cool_down_ms
    return explain(error, { provider, model, apiKey: access.key(provider), began, coolDownMs })
  }

  #mark({ mark, retryAfterMs }: ExplainedFailure, entry: ModelEntry): void {
    if (mark === null) return
    const coolDownMs = Math.min(retryAfterMs ?? this.#parts.settings().cool_down_ms, MAX_COOL_DOWN_MS)
    this.#parts.ledger.mark(entry, mark, coolDownMs)
  }

  #accountChosen(event: Done, entry: ModelEntry, request: InferenceChatRequest, { input, standings }: Plan): Done {
    const { ledger, selections } = this.#parts
    if (standings.wasMarked(entry)) ledger.clear(entry)
    if (input.requested === null) selections.remember(request.purpose?.session, nameOf(entry))
    return this.#account(event, entry, request, input.category)
  }

  /** Counts an answer, and adds provider and price to its last event. */
  #account(event: Done, entry: ModelEntry, request: InferenceChatRequest, category: CategoryName): Done {
    const { ledger, planner } = this.#parts
    const { purpose = {} } = request
    const { promptTokens, completionTokens } = event.usage
    const estimatedUsd = priceOf(entry, promptTokens, completionTokens)
    const reportedUsd = event.costUsd ?? null
    ledger.record({
      entry,
      category,
      agent: purpose.agent ?? null,
      inputTokens: promptTokens,
      outputTokens: completionTokens,
      estimatedUsd,
      reportedUsd,
      requestId: event.requestId ?? null
    })
    if (reportedUsd !== null) planner.registry.observe(entry, promptTokens + completionTokens, reportedUsd)
    if (entry.provider === 'ollama') {
      // A price only from models.toml: callers may know another one for the configured server.
      return entry.pricingSource === 'user_config' && reportedUsd === null
        ? { ...event, costUsd: tollOf(entry, event) }
        : event
    }
    return { ...event, provider: entry.provider, costUsd: reportedUsd ?? estimatedUsd }
  }
}

/** Price of an answer of the local server, which models.toml may give for a server that is not free. */
function tollOf({ costPer1kInput, costPer1kOutput }: ModelEntry, { usage }: Done): number {
  return (usage.promptTokens * costPer1kInput + usage.completionTokens * costPer1kOutput) / 1_000
}

/** Error of a tap, which is no fault of a provider. */
class TapError extends Error {
  readonly reason: unknown

  constructor(reason: unknown) {
    super('a tap rejected the request')
    this.reason = reason
  }
}

const UNKNOWN = {
  sizeBytes: null,
  modifiedAt: null,
  digest: null,
  family: null,
  parameters: null,
  quantization: null
}
