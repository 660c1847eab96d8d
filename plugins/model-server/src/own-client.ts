import type { InferenceClient } from '@svc/contracts'
import { type Health, isSvcError, type Logger, type Ref } from '@svc/plugin-sdk'
import { isLoopback } from './guard.ts'
import { quoted, type ServedModel } from './served-model.ts'
import { shownName } from './shown-name.ts'

export interface Listening {
  readonly host: string
  readonly port: number
}

const WILDCARDS: readonly string[] = ['0.0.0.0', '::']

/** The client that runs in this very process, if one does: it may ask this server for a model that is not here. */
export class OwnClient {
  readonly #client: Ref<InferenceClient> | undefined
  readonly #served: ServedModel
  readonly #listening: Listening
  #told: string | null = null

  constructor(client: Ref<InferenceClient> | undefined, served: ServedModel, listening: Listening) {
    this.#client = client
    this.#served = served
    this.#listening = listening
  }

  /** What is wrong; null when it asks another server, when nobody has chosen a model, or when the model is here. */
  problem(): string | null {
    const target = this.#target()
    const url = target?.urls.find(each => reaches(new URL(each), this.#listening))
    const model = target?.model ?? null
    if (model === null || url === undefined || this.#served.has(model)) return null
    return (
      `INFER_MODEL asks for ${shownName(model)}, but the model server of this process at ${url} has ` +
      `${quoted(this.#served.names())}: set INFER_MODEL to one of these, or plugins.model-server.model_name to that name`
    )
  }

  health(): Health {
    const problem = this.problem()
    return problem === null ? { status: 'ok' } : { status: 'degraded', detail: problem }
  }

  /** Tells the log what is wrong, unless that was the last thing it told. */
  tell(log: Logger): void {
    const problem = this.problem()
    if (problem !== null && problem !== this.#told) log.warn(problem)
    this.#told = problem
  }

  #target() {
    try {
      return this.#client?.current.target()
    } catch (error) {
      // It is off, or its own settings are wrong, which it says itself.
      if (isSvcError(error)) return undefined
      throw error
    }
  }
}

/** An address that is bound everywhere is reached by this machine's own. */
function reaches(url: URL, { host, port }: Listening): boolean {
  const asked = Number(url.port || (url.protocol === 'https:' ? 443 : 80))
  const name = url.hostname.replace(/^\[(.*)\]$/, '$1')
  return asked === port && (name === host || (isLoopback(name) && (isLoopback(host) || WILDCARDS.includes(host))))
}
