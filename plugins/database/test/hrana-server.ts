// A test server for Hrana over HTTP (version 3, JSON), on the engine of local files.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

interface Value {
  readonly type: 'null' | 'integer' | 'float' | 'text' | 'blob'
  readonly value?: string | number
  readonly base64?: string
}
interface Stmt {
  readonly sql: string
  readonly args?: readonly Value[]
}
interface Condition {
  readonly type: 'ok' | 'error' | 'not' | 'and' | 'or' | 'is_autocommit'
  readonly step?: number
  readonly cond?: Condition
  readonly conds?: readonly Condition[]
}
interface Stream {
  readonly database: any
  baton: string
  texts: Map<number, string>
}

export interface HranaServer {
  readonly url: string
  /** Number of requests, including rejected ones. */
  readonly requests: number
  /** Fault of the next requests; `none` serves them. */
  fault: 'none' | 'drop' | 'drop-after' | 'hang' | 'unauthorized' | 'broken' | 'forbidden'
  close(): Promise<void>
}

/** Starts the server. `file`: the database; `token`: the required bearer token. */
export async function startHranaServer(file: string, token: string): Promise<HranaServer> {
  const Database = createRequire(import.meta.url)('libsql') as new (file: string) => any
  new Database(file).exec('PRAGMA journal_mode = WAL')
  const streams = new Map<string, Stream>()
  const hanging = new Set<ServerResponse>()
  let batons = 0
  let requests = 0

  const streamOf = (baton: string | null): Stream => {
    const known = baton === null ? undefined : streams.get(baton)
    if (baton !== null && known === undefined) throw { message: 'the stream has expired', code: 'STREAM_EXPIRED' }
    return known ?? { database: new Database(file), baton: '', texts: new Map() }
  }
  const answer = async (request: any, stream: Stream): Promise<any> => {
    switch (request.type) {
      case 'execute':
        return { type: 'execute', result: await execute(stream, request.stmt) }
      case 'batch':
        return { type: 'batch', result: await batch(stream, request.batch.steps) }
      case 'sequence':
        stream.database.exec(request.sql ?? stream.texts.get(request.sql_id))
        return { type: 'sequence' }
      case 'store_sql':
        stream.texts.set(request.sql_id, request.sql)
        return { type: 'store_sql' }
      case 'close_sql':
        stream.texts.delete(request.sql_id)
        return { type: 'close_sql' }
      case 'get_autocommit':
        return { type: 'get_autocommit', is_autocommit: !stream.database.inTransaction }
      case 'close':
        return { type: 'close' }
      default:
        throw { message: `unknown request ${request.type}`, code: 'PROTO' }
    }
  }
  const pipeline = async (body: any): Promise<any> => {
    const stream = streamOf(body.baton ?? null)
    streams.delete(stream.baton)
    const results: any[] = []
    let closed = false
    for (const request of body.requests) {
      try {
        results.push({ type: 'ok', response: await answer(request, stream) })
      } catch (error) {
        const { message, code } = error as { message: string; code?: string }
        results.push({ type: 'error', error: { message, code: code ?? 'SQLITE_ERROR' } })
      }
      closed ||= request.type === 'close'
    }
    if (closed) {
      end(stream.database)
      return { baton: null, base_url: null, results }
    }
    stream.baton = `b${(batons += 1)}`
    streams.set(stream.baton, stream)
    return { baton: stream.baton, base_url: null, results }
  }
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    requests += 1
    const { fault } = handle
    if (fault === 'drop') {
      // As if the server's time limit for idle streams had passed.
      for (const { database } of streams.values()) end(database)
      streams.clear()
      return void request.socket.destroy()
    }
    if (fault === 'hang') return void hanging.add(response)
    if (fault === 'broken') return void response.writeHead(502).end('bad gateway')
    if (fault === 'forbidden') return void response.writeHead(403).end('{"error":"read only"}')
    if (fault === 'unauthorized' || request.headers.authorization !== `Bearer ${token}`)
      return void response.writeHead(401).end('{"error":"no such token"}')
    if (request.method === 'GET') return void response.writeHead(request.url === '/v3' ? 200 : 404).end()
    const result = await pipeline(JSON.parse(Buffer.concat(chunks).toString())).catch(error => error)
    if (fault === 'drop-after') return void request.socket.destroy()
    if (result.results === undefined) return void response.writeHead(400).end(JSON.stringify(result))
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(result))
  }
  const server = createServer((request, response) => void serve(request, response))
  server.keepAliveTimeout = 75_000
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const handle: HranaServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get requests() {
      return requests
    },
    fault: 'none',
    close: () =>
      new Promise(resolve => {
        for (const { database } of streams.values()) end(database)
        server.close(() => resolve())
        server.closeAllConnections()
      })
  }
  return handle
}

/**
 * Closes a database and frees its locks: statements that are not finalised would keep them until they are collected.
 */
function end(database: any): void {
  if (database.inTransaction) database.exec('ROLLBACK')
  database.close()
}

async function execute({ database, texts }: Stream, stmt: Stmt & { sql_id?: number }): Promise<any> {
  const sql = stmt.sql ?? texts.get(stmt.sql_id ?? -1)
  for (let tries = 0; ; tries += 1) {
    try {
      const statement = database.prepare(sql).safeIntegers(true)
      const values = (stmt.args ?? []).map(fromHrana)
      const rows = statement.reader ? statement.raw(true).all(values) : []
      if (!statement.reader) statement.run(values)
      const cols = statement.reader ? statement.columns().map(({ name }: { name: string }) => ({ name })) : []
      const [changed, last] = database.prepare('SELECT changes(), last_insert_rowid()').raw().all([])[0]
      return {
        cols,
        rows: rows.map((row: unknown[]) => row.map(toHrana)),
        affected_row_count: changed,
        last_insert_rowid: String(last)
      }
    } catch (error) {
      if (!String((error as { code?: string }).code).startsWith('SQLITE_BUSY') || tries > 500) throw error
      await sleep(5)
    }
  }
}

async function batch(
  stream: Stream,
  steps: readonly { readonly condition?: Condition; readonly stmt: Stmt }[]
): Promise<any> {
  const step_results: any[] = []
  const step_errors: any[] = []
  const holds = (condition: Condition | undefined | null): boolean => {
    if (condition === undefined || condition === null) return true
    const { type, step = 0, cond, conds = [] } = condition
    if (type === 'ok') return step_results[step] !== null
    if (type === 'error') return step_errors[step] !== null
    if (type === 'not') return !holds(cond)
    if (type === 'and') return conds.every(holds)
    if (type === 'or') return conds.some(holds)
    return !stream.database.inTransaction
  }
  for (const { condition, stmt } of steps) {
    let result: any = null
    let error: any = null
    if (holds(condition)) {
      try {
        result = await execute(stream, stmt)
      } catch (caught) {
        const { message, code } = caught as { message: string; code?: string }
        error = { message, code: code ?? 'SQLITE_ERROR' }
      }
    }
    step_results.push(result)
    step_errors.push(error)
  }
  return { step_results, step_errors }
}

function fromHrana({ type, value, base64 }: Value): unknown {
  if (type === 'null') return null
  if (type === 'integer') return BigInt(String(value))
  return type === 'blob' ? Buffer.from(base64 ?? '', 'base64') : value
}

function toHrana(value: unknown): Value {
  if (value === null) return { type: 'null' }
  if (typeof value === 'bigint') return { type: 'integer', value: String(value) }
  if (typeof value === 'number') return { type: 'float', value }
  if (typeof value === 'string') return { type: 'text', value }
  return {
    type: 'blob',
    base64: Buffer.from(value as Uint8Array)
      .toString('base64')
      .replace(/=+$/, '')
  }
}
