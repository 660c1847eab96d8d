import type { DatabaseStore, InferenceChatEvent, InferencePurpose } from '@svc/contracts'
import { errorMessage, type Logger } from '@svc/plugin-sdk'

type Done = Extract<InferenceChatEvent, { type: 'done' }>

export interface CostRowsParts {
  /** Undefined while the database is disabled; answers are then not recorded. */
  readonly store: () => Pick<DatabaseStore, 'execute'> | undefined
  readonly log: Pick<Logger, 'warn'>
}

const WARN_EVERY_MS = 60_000
/** Agent of calls without an agent, as for the chats of a session. */
const DEFAULT_AGENT = '0'

/**
 * Writes one row of `cost_records` for each answer, in the background, unless the caller charges the answer itself. Never
 * fails a request to a model.
 */
export class CostRows {
  readonly #parts: CostRowsParts
  #queue: Promise<void> = Promise.resolve()
  #warnedAt = -Infinity

  constructor(parts: CostRowsParts) {
    this.#parts = parts
  }

  /** `provider`: provider of an answer that names none. */
  record({ model, usage, costUsd = 0, ...done }: Done, purpose: InferencePurpose, provider: string): void {
    if (purpose.charged === true) return
    const { promptTokens, completionTokens } = usage
    const values = [
      agentNumber(purpose.agent),
      purpose.session ?? null,
      done.provider ?? provider,
      model,
      promptTokens,
      completionTokens,
      costUsd
    ]
    this.#queue = this.#queue.then(async () => {
      try {
        await this.#parts
          .store()
          ?.execute(
            'INSERT INTO cost_records (agent_id, session_id, provider, model, input_tokens, output_tokens, cost_usd) VALUES (?, ?, ?, ?, ?, ?, ?)',
            values
          )
      } catch (error) {
        this.#warn(error)
      }
    })
  }

  /** Resolves when everything that was recorded is stored. */
  flush(): Promise<void> {
    return this.#queue
  }

  #warn(error: unknown): void {
    if (performance.now() - this.#warnedAt < WARN_EVERY_MS) return
    this.#warnedAt = performance.now()
    this.#parts.log.warn('costs of model calls are not recorded', { reason: errorMessage(error) })
  }
}

/** Returns the number of a label such as `A-01`, as `cost_records` stores it. */
function agentNumber(label: string | undefined): string {
  const digits = /^A-(\d+)$/.exec(label ?? '')?.[1]
  return digits === undefined ? (label ?? DEFAULT_AGENT) : String(Number(digits))
}
