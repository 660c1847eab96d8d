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

/** One process never sends concurrent requests. */
export type ProcessReply =
  | { readonly ok: true; readonly value: unknown }
  | {
      readonly ok: false
      readonly error: Pick<SvcError, 'code' | 'message' | 'status'> & { readonly hint?: string; readonly data: unknown }
    }

/** The script is next to the compiled plugin. */
const SCRIPT = fileURLToPath(
  new URL(
    import.meta.url.endsWith('.ts') ? '../../dist/database-process.cjs' : './database-process.cjs',
    import.meta.url
  )
)

/** Fraction of a program's memory for the rows of one statement. */
const SHARE = 4

/**
 * The main thread's side of an `OutOfProcessConnection`. Starts its process on the first request; ends it when the
 * thread no longer waits for an answer, or when `signal` is aborted. `bytes`: memory limit of the program.
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
        await outOfProcess.ask({ op: 'open', access, maxBytes: Math.floor(bytes / SHARE) })
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
    // Flags of this process are not passed on.
    const { NODE_OPTIONS: _, ...env } = process.env
    this.#process = fork(SCRIPT, [], {
      env,
      serialization: 'advanced',
      execArgv: [`--max-old-space-size=${Math.ceil(bytes / 2 ** 20)}`],
      stdio: ['ignore', 'ignore', 'ignore', 'ipc']
    })
    this.#process.on('message', (reply: ProcessReply) => this.#take(reply))
    this.#process.once('error', error =>
      this.#end(databaseErrors.create('DBS_LOST', `its process failed: ${error.message}`))
    )
    this.#process.once('exit', (_code, by) => {
      // Exit of a process that ran out of memory.
      const isFull = by === 'SIGABRT'
      this.#end(
        isFull
          ? runErrors.create('RUN_MEMORY_LIMIT', 'the rows of a statement exceed the memory limit of the program')
          : databaseErrors.create('DBS_LOST', 'the process of the statement ended')
      )
    })
    // A request without an answer needs no waiting.
    this.#process.unref()
    this.#process.channel?.unref()
  }

  get isOver(): boolean {
    return this.#over !== null
  }

  async ask(question: ProcessStart | ProcessQuestion): Promise<unknown> {
    const reply = await new Promise<ProcessReply | Error>(resolve => {
      this.#settle = resolve
      if (this.#over !== null) this.#take(this.#over)
      else this.#process.send(question, error => error !== null && this.#end(error))
    })
    if (reply instanceof Error) throw reply
    if (reply.ok) return reply.value
    const { code, message, ...details } = reply.error
    throw new SvcError(code, message, details)
  }

  /** Its uncommitted changes are rolled back. */
  kill(): void {
    this.#process.kill('SIGKILL')
    this.#end(databaseErrors.create('DBS_LOST', 'the process of the statement was stopped'))
  }

  #end(why: Error): void {
    this.#over ??= why
    this.#take(why)
  }

  #take(reply: ProcessReply | Error): void {
    const settle = this.#settle
    this.#settle = null
    settle?.(reply)
  }
}
