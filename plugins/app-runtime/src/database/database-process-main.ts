import { createRequire } from 'node:module'
import { Worker } from 'node:worker_threads'
import type { ConnectThread, SqlValue, ThreadConnection } from '@svc/contracts'
import { defined, isSvcError } from '@svc/plugin-sdk'
import { runErrors } from '../errors.ts'
import type { ProcessReply, ProcessStart } from './database-process.ts'
import type { ProcessQuestion } from './out-of-process-connection.ts'

/** Script of a thread that ends this process if the parent is killed. A running statement blocks the main thread. */
const WATCH = `
const parent = require('node:worker_threads').workerData
setInterval(() => { if (process.ppid !== parent) process.kill(process.pid, 'SIGKILL') }, 1000)`

let connection: ThreadConnection | null = null
let maxBytes = 0

process.on('disconnect', () => process.exit())
process.on('message', (message: ProcessStart | ProcessQuestion) => process.send?.(replyTo(message)))
new Worker(WATCH, { eval: true, workerData: process.ppid }).unref()

function replyTo(message: ProcessStart | ProcessQuestion): ProcessReply {
  try {
    return { ok: true, value: answerTo(message) }
  } catch (error) {
    if (!isSvcError(error)) throw error
    const { code, message: text, status, hint, data } = error
    return { ok: false, error: { code, message: text, status, ...defined({ hint }), data } }
  }
}

function answerTo(message: ProcessStart | ProcessQuestion): unknown {
  if (message.op === 'open') {
    const { module, options } = message.access
    const { connect } = createRequire(import.meta.url)(module) as { readonly connect: ConnectThread }
    connection = connect(options)
    maxBytes = message.maxBytes
    return null
  }
  const open = connection as ThreadConnection
  switch (message.op) {
    case 'query':
    case 'execute': {
      const result = open[message.op](message.sql, message.parameters)
      return bounded(result, result.rows)
    }
    case 'rows': {
      const rows = open.rows(message.sql, message.parameters)
      return bounded(rows, rows)
    }
    case 'row': {
      const row = open.row(message.sql, message.parameters)
      return bounded(row, row === null ? [] : [row])
    }
    case 'begin':
      return open.begin(message.kind) ?? null
    default:
      return open[message.op]() ?? null
  }
}

/** Returns the result unless its rows exceed `maxBytes`: the parent process receives them in one message. */
function bounded<A>(result: A, rows: readonly (readonly SqlValue[])[]): A {
  let bytes = 0
  for (const row of rows) for (const value of row) bytes += sizeOf(value)
  if (bytes <= maxBytes) return result
  // The thread assumes a rollback after RUN_MEMORY_LIMIT, because it cannot tell if this process survived.
  if (connection?.inTransaction) connection.rollback()
  throw runErrors.create(
    'RUN_MEMORY_LIMIT',
    `the rows of a statement take ${bytes} bytes; the limit is ${maxBytes} bytes`
  )
}

function sizeOf(value: SqlValue): number {
  if (typeof value === 'string') return 16 + 2 * value.length
  return value instanceof Uint8Array ? 16 + value.length : 16
}
