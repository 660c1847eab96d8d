import { type InferenceClient, isLoopback } from '@svc/contracts'
import { type Health, isSvcError, type Logger, type Ref } from '@svc/plugin-sdk'
import { quoted } from './served-model.ts'
import { shownName } from './shown-name.ts'

export interface Listening {
  readonly host: string
  readonly port: number
}

/** Names of the models of this server. */
interface ModelNames {
  has(name: string): boolean
  names(): readonly string[]
}

const WILDCARDS: readonly string[] = ['0.0.0.0', '::']

/** Checks whether the inference client of this process requests a model that this server does not have. */
export class OwnClient {
  readonly #client: Ref<InferenceClient> | undefined
  readonly #served: ModelNames
  readonly #listening: Listening
  #reported: string | null = null

  constructor(client: Ref<InferenceClient> | undefined, served: ModelNames, listening: Listening) {
    this.#client = client
    this.#served = served
    this.#listening = listening
  }

  /** Returns the problem. Null if the client uses another server or names no model, or if its model is served here. */
  problem(): string | null {
    const target = this.#target()
    const url = target?.urls.find(each => reaches(new URL(each), this.#listening))
    const model = target?.model ?? null
    if (model === null || url === undefined || this.#served.has(model)) return null
    return (
      `INFER_MODEL is ${shownName(model)}, but the model server of this process at ${url} has ` +
      `${quoted(this.#served.names())}: set INFER_MODEL to one of these, or plugins.model-server.model_name to that name`
    )
  }

  health(): Health {
    const problem = this.problem()
    return problem === null ? { status: 'ok' } : { status: 'degraded', detail: problem }
  }

  /** Logs the problem, unless it is unchanged since the last call. */
  report(log: Logger): void {
    const problem = this.problem()
    if (problem !== null && problem !== this.#reported) log.warn(problem)
    this.#reported = problem
  }

  #target() {
    try {
      return this.#client?.current.target()
    } catch (error) {
      // The client is disabled, or its settings are invalid; it reports that itself.
      if (isSvcError(error)) return undefined
      throw error
    }
  }
}

/** True if the URL reaches the listener. A wildcard listener is reachable through any loopback name. */
export function reaches(url: URL, { host, port }: Listening): boolean {
  const ownPort = Number(url.port || (url.protocol === 'https:' ? 443 : 80))
  const name = url.hostname.replace(/^\[(.*)\]$/, '$1')
  return ownPort === port && (name === host || (isLoopback(name) && (isLoopback(host) || WILDCARDS.includes(host))))
}
