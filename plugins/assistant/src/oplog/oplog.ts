import { createHash, randomUUID } from 'node:crypto'
import type { DatabaseStore } from '@svc/contracts'
import { rowsByName } from '@svc/contracts'
import type { InputOf, Logger, OutputOf } from '@svc/plugin-sdk'
import { assistantErrors } from '../errors.ts'
import type { oplog } from './operation.ts'

/** A file that a model wrote. */
export interface FileOperation {
  readonly kind: 'file_edit' | 'file_write'
  readonly agent: number | undefined
  readonly path: string
  readonly request: string
  /** Text before the change; null for a new file. */
  readonly before: string | null
  readonly after: string
  readonly model: string
}

export interface OplogParts {
  readonly database: () => DatabaseStore | undefined
  readonly repositoryId: () => string
  readonly log: Logger
}

const MAX_DESCRIPTION = 240
const INSERT = `INSERT INTO agent_oplog
  (agent_id, operation_id, kind, description, predecessor_hash, model_id, change_id, timestamp_ms, repository_id)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`
const SELECT = `SELECT * FROM agent_oplog WHERE repository_id = :repository
  AND (:agent IS NULL OR agent_id = :agent) AND (:before IS NULL OR id < :before) ORDER BY id DESC LIMIT :limit`

/** Log of files that models wrote, in the table `agent_oplog`. */
export class Oplog {
  readonly #parts: OplogParts

  constructor(parts: OplogParts) {
    this.#parts = parts
  }

  /** Records a change that was made. Never throws: the file is written already. */
  async record({ kind, agent, path, request, before, after, model }: FileOperation): Promise<void> {
    try {
      await this.#parts
        .database()
        ?.execute(INSERT, [
          agent === undefined ? 'assistant' : String(agent),
          `OP-${randomUUID()}`,
          kind,
          `${path}: ${request}`.slice(0, MAX_DESCRIPTION),
          before === null ? null : hashOf(before),
          model,
          hashOf(after),
          Date.now(),
          this.#parts.repositoryId()
        ])
    } catch (error) {
      this.#parts.log.warn('a change of a file could not be recorded', { path, reason: String(error) })
    }
  }

  /** Returns entries, newest first. Throws `ASI_NO_DATABASE`. */
  async list({ agent_id, before, limit }: InputOf<typeof oplog>): Promise<OutputOf<typeof oplog>> {
    const store = this.#parts.database()
    if (store === undefined)
      throw assistantErrors.create('ASI_NO_DATABASE', 'changes are recorded in the database, and there is none', {
        hint: 'enable the plugin database'
      })
    const result = await store.query(SELECT, {
      repository: this.#parts.repositoryId(),
      agent: agent_id === undefined ? null : String(agent_id),
      before: before ?? null,
      limit
    })
    const entries = rowsByName(result).map(row => ({
      id: Number(row.id),
      operation_id: String(row.operation_id),
      kind: String(row.kind),
      agent_id: String(row.agent_id),
      description: String(row.description),
      predecessor_hash: textOrNull(row.predecessor_hash),
      change_id: textOrNull(row.change_id),
      model_id: textOrNull(row.model_id),
      timestamp_ms: Number(row.timestamp_ms),
      undone: Number(row.undone) === 1
    }))
    return { entries }
  }
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}
