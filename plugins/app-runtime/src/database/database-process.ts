import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { databaseErrors, type ThreadAccess } from '@svc/contracts'
import { SvcError } from '@svc/plugin-sdk'
import { runErrors } from '../errors.ts'
import type { BridgeAnswers, BridgeCall } from '../threads/bridge.ts'
import { PROCESS_QUESTION, type ProcessQuestion } from './out-of-process-connection.ts'

export interface ProcessStart {
  readonly op: 'open'
  readonly access: ThreadAccess
  /** Maximum size of the rows of one statement. */
  readonly maxBytes: number
}

/** Reply to the pending request; there is one at a time. */
export type ProcessReply =
  | { readonly ok: true; readonly value: unknown }
  | {
      readonly ok: false
      readonly error: Pick<SvcError, 'code' | 'message' | 'status'> & { readonly hint?: string; readonly data: unknown }
    }

/** The built script, next to the compiled plugin. */
const SCRIPT = fileURLToPath(
  new URL(
    import.meta.url.endsWith('.ts') ? '../../dist/database-process.cjs' : './database-process.cjs',
    import.meta.url
  )
)

/** The rows of one statement may use 1/4 of the program's memory. */
const ROWS_SHARE = 4

/**
 * Handles the requests of an `OutOfProcessConnection` in the main thread. Starts the process on the first request.
 * Ends it when the thread stops waiting for a reply, or `signal` is aborted. `bytes` is the program's memory limit.
 */
export function processAnswers(access: ThreadAccess, bytes: number, signal: AbortSignal): BridgeAnswers {
  let outOfProcess: DatabaseProcess | null = null
  const stop = (): void => {
    outOfProcess?.kill()
    outOfProcess = null
  }
  signal.addEventListener('abort', stop, { once: true })
  return {
    [PROCESS_QUESTION]: async (question: ProcessQuestion, call: BridgeCall): Promise<unknown> => {
      if (question.op === 'close' || call.signal.aborted || signal.aborted) {
        stop()
        return null
      }
      call.signal.addEventListener('abort', stop, { once: true })
      if (outOfProcess === null || outOfProcess.isOver) {
        outOfProcess = new DatabaseProcess(bytes)
        await outOfProcess.ask({ op: 'open', access, maxBytes: Math.floor(bytes / ROWS_SHARE) })
      }
      return outOfProcess.ask(question)
    }
  }
}

class DatabaseProcess {
  readonly #process: ChildProcess
  #settle: ((reply: ProcessReply | Error) => void) | null = null
  #over: Error | null = null

  constructor(bytes: number) {
    // The database process needs none of the flags of this process.
    const { NODE_OPTIONS: _, ...env } = process.env
    this.#process = fork(SCRIPT, [], {
      env,
      serialization: 'advanced',
      execArgv: [`--max-old-space-size=${Math.ceil(bytes / 2 ** 20)}`],
      stdio: ['ignore', 'ignore', 'ignore', 'ipc']
    })
    this.#process.on('message', (reply: ProcessReply) => this.#settleWith(reply))
    this.#process.once('error', error =>
      this.#end(databaseErrors.create('DBS_LOST', `the database process failed: ${error.message}`))
    )
    this.#process.once('exit', (_code, by) => {
      // Node.js aborts when it runs out of memory.
      const isFull = by === 'SIGABRT'
      this.#end(
        isFull
          ? runErrors.create('RUN_MEMORY_LIMIT', 'the rows of a statement exceed the memory limit of the program')
          : databaseErrors.create('DBS_LOST', 'the database process ended during a statement')
      )
    })
    // A pending request must not keep this process alive.
    this.#process.unref()
    this.#process.channel?.unref()
  }

  get isOver(): boolean {
    return this.#over !== null
  }

  async ask(question: ProcessStart | ProcessQuestion): Promise<unknown> {
    const reply = await new Promise<ProcessReply | Error>(resolve => {
      this.#settle = resolve
      if (this.#over !== null) this.#settleWith(this.#over)
      // A process that did not start, or has ended, is not connected; its event follows.
      else if (this.#process.connected) this.#process.send(question, error => error !== null && this.#end(error))
    })
    if (reply instanceof Error) throw reply
    if (reply.ok) return reply.value
    const { code, message, ...details } = reply.error
    throw new SvcError(code, message, details)
  }

  /** Kills the process, which rolls back its uncommitted changes. */
  kill(): void {
    this.#process.kill('SIGKILL')
    this.#end(databaseErrors.create('DBS_LOST', 'the database process was stopped during a statement'))
  }

  #end(error: Error): void {
    this.#over ??= error
    this.#settleWith(error)
  }

  #settleWith(reply: ProcessReply | Error): void {
    const settle = this.#settle
    this.#settle = null
    settle?.(reply)
  }
}
