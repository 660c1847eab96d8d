import { type DatabaseStore, insertMetric } from '@svc/contracts'
import { errorMessage, type Logger } from '@svc/plugin-sdk'

/** Rows that wait for the database; further ones are dropped. */
const MAX_WAITING = 256

/** Name of a row of the type `mesh_control_event`. */
export type MeshEvent =
  | 'local_registry_publish'
  | 'mesh_http_join_ok'
  | 'mesh_http_join_err'
  | 'orchestrator_status_snapshot'
  | 'mesh_exec_lease_reconcile'

export interface TelemetryOptions {
  /** Null: nothing is written. */
  readonly database: Pick<DatabaseStore, 'execute'> | null
  /** Value of SVC_MESH_CODEX_TELEMETRY at the time of the event. */
  readonly enabled: () => boolean
  readonly repositoryId: string
  readonly log: Logger
}

/** Writes rows `mesh_control_event` of the session `mesh:REPOSITORY`. Details must not contain a token. */
export class Telemetry {
  readonly #options: TelemetryOptions
  #waiting = 0
  #last: Promise<void> = Promise.resolve()

  constructor(options: TelemetryOptions) {
    this.#options = options
  }

  record(name: MeshEvent, details: Readonly<Record<string, unknown>>): void {
    const { database, enabled, repositoryId, log } = this.#options
    if (database === null || !enabled() || this.#waiting >= MAX_WAITING) return
    this.#waiting += 1
    const metadata = { name, repository_id: repositoryId, details }
    this.#last = this.#last
      .then(() => {
        const row = { session: `mesh:${repositoryId}`, type: 'mesh_control_event', value: null, metadata }
        const { sql, parameters } = insertMetric(row)
        return database.execute(sql, parameters)
      })
      .then(
        () => {},
        error => log.debug('a telemetry row could not be written', { name, reason: errorMessage(error) })
      )
      .finally(() => {
        this.#waiting -= 1
      })
  }

  /** Resolves when all rows so far are written or have failed. */
  async flush(): Promise<void> {
    await this.#last
  }
}
