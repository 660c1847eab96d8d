import type { SqlResult } from '@svc/contracts'
import { WorkerConnection } from '../store/worker-connection.ts'
import type { BoundStatement, EngineInfo, SqlOutcome } from '../worker/protocol.ts'
import { RemoteConnection, type RemoteOptions } from './remote-connection.ts'

const SELECT_ONE: BoundStatement = { sql: 'SELECT 1', values: [], verb: 'SELECT' }

/**
 * Connection to a replica. The binding waits for the primary without a time limit, and a waiting thread cannot be
 * terminated. So the primary is first probed with a time limit.
 */
export class ReplicaConnection extends WorkerConnection {
  readonly #primary: RemoteConnection

  constructor(file: string, busyTimeoutMs: number, primary: RemoteOptions) {
    const { url, token } = primary
    const replicaOf = { url, token }
    super({ engine: 'libsql', file, readOnly: false, busyTimeoutMs, synchronous: 'normal', replicaOf }, file)
    this.#primary = new RemoteConnection(primary)
  }

  override async open(): Promise<EngineInfo> {
    await this.#assertReachable()
    return super.open()
  }

  override async group(statements: readonly BoundStatement[]): Promise<readonly SqlOutcome[]> {
    await this.#assertReachable()
    return super.group(statements)
  }

  override async batch(statements: readonly BoundStatement[]): Promise<readonly SqlResult[]> {
    await this.#assertReachable()
    return super.batch(statements)
  }

  override async standalone(statement: BoundStatement): Promise<SqlResult> {
    await this.#assertReachable()
    return super.standalone(statement)
  }

  override async begin(): Promise<void> {
    await this.#assertReachable()
    return super.begin()
  }

  override async sync(): Promise<void> {
    await this.#assertReachable()
    return super.sync()
  }

  override async close(): Promise<void> {
    await this.#primary.close()
    return super.close()
  }

  async #assertReachable(): Promise<void> {
    await this.#primary.query(SELECT_ONE)
  }
}
