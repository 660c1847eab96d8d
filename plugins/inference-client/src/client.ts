import type {
  InferenceChatEvent,
  InferenceChatRequest,
  InferenceClient,
  InferenceEndpoint,
  InferenceProviders,
  InferenceTarget,
  LocalLane,
  ModelCheck,
  ModelHooks,
  RemoteModel,
  RunningModel
} from '@svc/contracts'
import {
  checkImages,
  imagesOf,
  inferenceErrors,
  isOffered,
  NO_MODEL,
  NO_MODEL_HOOKS,
  textModelNames,
  unlessChosen,
  WireFailure
} from '@svc/contracts'
import { defined, errorMessage, isSvcError, withTimeout } from '@svc/plugin-sdk'
import { candidates, type ServerCandidate } from './address.ts'
import { Connector, type InferenceConnection, unauthorized } from './connection.ts'
import type { CostRows } from './cost-rows.ts'
import { OpenAiWire } from './openai-wire.ts'
import type { Settings } from './settings.ts'
import { type FilledRequest, headersOf, type WireOptions } from './wire.ts'

type Done = Extract<InferenceChatEvent, { type: 'done' }>

interface ClientOptions {
  /** Path of the setting that holds the URL, if it belongs to another plugin. */
  readonly named?: string
  /** Returns the address of svc's own model server; default: port 11435 on this machine. */
  readonly own?: () => string
  /** Returns the address of the router; null if the router is disabled. */
  readonly router?: () => string | null
  readonly hooks?: ModelHooks
  readonly passFor?: WireOptions['passFor']
  /** Records the costs of answers. */
  readonly costs?: Pick<CostRows, 'record'>
  /** Returns the plugin that chooses between this server and hosted providers; undefined if it is disabled. */
  readonly providers?: () => InferenceProviders | undefined
}

/** Maximum models whose capabilities are requested to find one for images. */
const MAX_ASKED = 16

/** Default retry delay if a busy server sends none. */
const DEFAULT_RETRY_MS = 1_000

export class ModelServerClient implements InferenceClient {
  readonly #settings: () => Settings
  readonly #connector: Connector
  readonly #hooks: ModelHooks
  readonly #own: (() => string) | undefined
  readonly #router: (() => string | null) | undefined
  readonly #passFor: WireOptions['passFor']
  readonly #costs: Pick<CostRows, 'record'> | undefined
  readonly #providers: () => InferenceProviders | undefined

  /** `settings` is called on each use, because some settings change at run time. */
  constructor(
    settings: () => Settings,
    { named, own, router, hooks = NO_MODEL_HOOKS, passFor, costs, providers = () => undefined }: ClientOptions = {}
  ) {
    this.#providers = providers
    this.#hooks = hooks
    this.#settings = settings
    this.#own = own
    this.#router = router
    this.#passFor = passFor
    this.#costs = costs
    this.#connector = new Connector(settings, defined({ named, own, router, passFor }))
  }

  get model(): string {
    return this.#settings().model
  }

  target(): InferenceTarget {
    const { model } = this
    return { model: model === NO_MODEL ? null : model, urls: this.#candidates().map(({ url }) => url) }
  }

  at(url: string, setting: string): InferenceClient {
    return new ModelServerClient(() => settingsAt(url, this.#settings(), this.#candidates()), {
      named: setting,
      hooks: this.#hooks,
      ...defined({ passFor: this.#passFor, costs: this.#costs })
    })
  }

  #candidates(): readonly ServerCandidate[] {
    return candidates(this.#settings(), { own: this.#own, router: this.#router })
  }

  endpoint(signal?: AbortSignal): Promise<InferenceEndpoint> {
    const local = async () => (await this.#connector.connect(signal)).endpoint
    return this.#localOr(local, providers => providers.endpoint())
  }

  models(signal?: AbortSignal): Promise<readonly RemoteModel[]> {
    const hosted = async (providers: InferenceProviders) => {
      const models = await providers.models()
      return models.length === 0 ? null : models
    }
    return this.#localOr(() => this.#connector.models(signal), hosted)
  }

  /** Returns the local result; that of hosted providers if the local server is unreachable or excluded. */
  async #localOr<A>(local: () => Promise<A>, hosted: (providers: InferenceProviders) => Promise<A | null>): Promise<A> {
    const providers = this.#providers()
    if (providers !== undefined && !providers.usesLocal) {
      const found = await hosted(providers)
      if (found !== null) return found
    }
    try {
      return await local()
    } catch (error) {
      if (providers === undefined || !isSvcError(error, 'ICL_UNREACHABLE')) throw error
      const found = await hosted(providers)
      if (found === null) throw error
      return found
    }
  }

  async running(signal?: AbortSignal): Promise<readonly RunningModel[]> {
    const connection = await this.#connector.connect(signal)
    const { endpoint, wire } = connection
    if (wire.running === undefined) throw runningUnknown(endpoint, `speaks the OpenAI format`)
    const { probe_timeout_ms } = this.#settings()
    const running = wire.running.bind(wire)
    try {
      return await withTimeout(probe_timeout_ms, running, { signal })
    } catch (error) {
      signal?.throwIfAborted()
      const status = error instanceof WireFailure ? error.status : 0
      if (WITHOUT_ROUTE.has(status)) throw runningUnknown(endpoint, `responds to GET /api/ps with ${status}`)
      throw await this.#explain(error, connection, this.model, false)
    }
  }

  async check({ model = this.model, signal }: { model?: string; signal?: AbortSignal } = {}): Promise<ModelCheck> {
    try {
      this.#connector.forget()
      const offered = textModelNames(await this.#connector.models(signal))
      const { endpoint } = await this.#connector.connect(signal)
      const requested = unlessChosen(model, offered)
      const problem = isOffered(requested, offered) ? null : mismatch(requested, offered, endpoint, this.model)
      return { ok: problem === null, model: requested, endpoint, offered, problem }
    } catch (error) {
      if (!isSvcError(error)) throw error
      const problem = error.hint === undefined ? error.message : `${error.message}; ${error.hint}`
      return { ok: false, model, endpoint: null, offered: [], problem }
    }
  }

  async *chat(request: InferenceChatRequest): AsyncGenerator<InferenceChatEvent, void> {
    checkImages(request)
    for await (const event of this.#providers()?.chat(request, this.local) ?? this.#chat(request)) {
      if (event.type === 'done') await this.#account(event, request)
      yield event
    }
  }

  async #account(event: Done, { purpose = {} }: InferenceChatRequest): Promise<void> {
    if (this.#costs === undefined) return
    // The connection of a local answer is known, so that nothing is searched.
    const local = () =>
      this.#connector.connect().then(
        ({ endpoint }) => endpoint.api,
        () => 'local'
      )
    this.#costs.record(event, purpose, event.provider ?? (await local()))
  }

  /** This server without hosted providers. */
  get local(): LocalLane {
    const settings = this.#settings
    return {
      get model() {
        return settings().model
      },
      get defaults() {
        const { temperature, max_tokens } = settings()
        return { temperature, maxTokens: max_tokens }
      },
      hooks: this.#hooks,
      connection: async signal => {
        const { url, api } = (await this.#connector.connect(signal)).endpoint
        return { url, api, headers: headersOf({ url, apiKey: settings().api_key, passFor: this.#passFor }) }
      },
      models: signal => this.#connector.models(signal),
      sees: (model, signal) => this.#sees(model, signal),
      chat: request => this.#chat(request),
      openAi: ({ apiKey, ...hosted }, request, signal) =>
        new OpenAiWire({ url: hosted.chatUrl, apiKey, hosted }).chat(request, signal)
    }
  }

  async *#chat(request: InferenceChatRequest): AsyncGenerator<InferenceChatEvent, void> {
    const { temperature, max_tokens, model } = this.#settings()
    const wanted = { model, temperature, maxTokens: max_tokens, ...defined(request) } as FilledRequest
    const controller = new AbortController()
    const abort = (): void => controller.abort(request.signal?.reason)
    if (request.signal?.aborted) abort()
    request.signal?.addEventListener('abort', abort)
    let began = false
    try {
      const connection = await this.#connector.connect(controller.signal)
      const filled = await this.#hooks.request({
        ...wanted,
        model: await this.#requireModel(wanted.model, connection.endpoint, controller.signal)
      })
      if (imagesOf(filled).length > 0) await this.#requireVision(filled.model, connection, controller.signal)
      try {
        for await (const event of this.#hooks.answer(filled.model, connection.wire.chat(filled, controller.signal))) {
          began = true
          yield event
          if (event.type === 'done') return
        }
        throw new WireFailure(502, 'the stream ended without a final event')
      } catch (error) {
        request.signal?.throwIfAborted()
        throw await this.#explain(error, connection, filled.model, began)
      }
    } finally {
      // If the consumer stops reading, the server must stop generating.
      controller.abort()
      request.signal?.removeEventListener('abort', abort)
    }
  }

  /** Returns the model to request. Throws only if a fresh model list lacks it: the cached list may be outdated. */
  async #requireModel(model: string, endpoint: InferenceEndpoint, signal: AbortSignal): Promise<string> {
    const names = async () => textModelNames(await this.#connector.models(signal))
    const known = await names()
    if (isOffered(unlessChosen(model, known), known)) return unlessChosen(model, known)
    this.#connector.forget()
    const offered = await names()
    const requested = unlessChosen(model, offered)
    if (!isOffered(requested, offered)) throw this.#unknown(requested, offered, endpoint)
    return requested
  }

  async #sees(model: string, signal?: AbortSignal): Promise<boolean | null> {
    const { wire } = await this.#connector.connect(signal)
    const { probe_timeout_ms } = this.#settings()
    const sees = wire.sees?.bind(wire)
    if (sees === undefined) return null
    try {
      return await withTimeout(probe_timeout_ms, stop => sees(model, stop), { signal })
    } catch {
      // A server that does not report it may still accept images, or its error says why not.
      signal?.throwIfAborted()
      return null
    }
  }

  /** Throws `ICL_REFUSED` if the server reports that the model does not accept images. */
  async #requireVision(model: string, { endpoint }: InferenceConnection, signal: AbortSignal): Promise<void> {
    if ((await this.#sees(model, signal)) !== false) return
    const others = (await this.#connector.models(signal)).map(({ name }) => name).slice(0, MAX_ASKED)
    const answers = await Promise.all(others.map(name => this.#sees(name, signal)))
    const able = others.find((_, at) => answers[at] === true) ?? null
    throw inferenceErrors.create(
      'ICL_REFUSED',
      `the model "${model}" of the server at ${endpoint.url} does not support images`,
      {
        data: { status: 400, model, alternative: able },
        hint:
          able === null
            ? 'no other model of the server does; svc models list --all shows hosted ones'
            : `request the model "${able}"`
      }
    )
  }

  async #explain(error: unknown, { endpoint }: InferenceConnection, model: string, began: boolean): Promise<unknown> {
    const { url } = endpoint
    if (!(error instanceof WireFailure)) {
      this.#connector.forget()
      if (isSvcError(error)) return error
      const why = errorMessage(error)
      return began
        ? inferenceErrors.create('ICL_BROKEN_OFF', `the answer of ${url} ended early: ${why}`, { cause: error })
        : inferenceErrors.create('ICL_UNREACHABLE', `the model server at ${url} is not reachable: ${why}`, {
            cause: error
          })
    }
    const { status, message, retryAfterMs } = error
    if (began) return inferenceErrors.create('ICL_BROKEN_OFF', `the answer of ${url} ended early: ${message}`)
    if (status === 401 || status === 403) return unauthorized(url, error, this.#settings().api_key !== undefined)
    if (status === 404) {
      this.#connector.forget()
      return this.#unknown(
        model,
        (await this.#connector.models().catch(() => [])).map(({ name }) => name),
        endpoint
      )
    }
    if (status === 429 || status === 503) {
      return inferenceErrors.create('ICL_BUSY', `the model server at ${url} is busy: ${message}`, {
        data: { retryAfterMs: retryAfterMs ?? DEFAULT_RETRY_MS }
      })
    }
    return inferenceErrors.create(
      'ICL_REFUSED',
      `the model server at ${url} rejected the request (${status}): ${message}`,
      {
        data: { status }
      }
    )
  }

  #unknown(model: string, offered: readonly string[], endpoint: InferenceEndpoint): Error {
    return inferenceErrors.create('ICL_MODEL_UNKNOWN', mismatch(model, offered, endpoint, this.model), {
      at: { path: 'plugins.inference-client.model' },
      data: { model, offered, url: endpoint.url }
    })
  }
}

/** Returns the settings for another server. The key is kept only if that server has a configured origin. */
function settingsAt(url: string, settings: Settings, known: readonly ServerCandidate[]): Settings {
  const { api_key, alternate_url: _, alternate_host: __, ...rest } = settings
  const own = known.some(candidate => URL.canParse(url) && sameOrigin(candidate.url, url))
  return { ...rest, url, ...(own && api_key !== undefined ? { api_key } : {}) }
}

function sameOrigin(one: string, other: string): boolean {
  return new URL(one).origin === new URL(other).origin
}

/** Status codes of servers that do not implement the route. */
const WITHOUT_ROUTE = new Set([404, 405, 501])

function runningUnknown({ url, api }: InferenceEndpoint, because: string): Error {
  const message = `the model server at ${url} ${because}, so it does not list its loaded models`
  return inferenceErrors.create('ICL_RUNNING_UNKNOWN', message, {
    data: { url, api },
    hint: 'svc model list shows its models'
  })
}

function mismatch(model: string, offered: readonly string[], { url }: InferenceEndpoint, configured: string): string {
  const requested = model === configured ? `INFER_MODEL is "${model}"` : `the request names the model "${model}"`
  const cause = model === NO_MODEL && model === configured ? 'INFER_MODEL is not set' : requested
  const models = offered.length === 0 ? 'no models' : offered.map(name => `"${name}"`).join(', ')
  const remedy = offered.length === 0 ? '' : `; set INFER_MODEL to one of these, or start the server with --model-name`
  return `${cause}, but the model server at ${url} offers ${models}${remedy}`
}
