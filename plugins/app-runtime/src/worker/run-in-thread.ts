import { MessageChannel } from 'node:worker_threads'
import type { DatabaseStore, WorkflowStep } from '@svc/contracts'
import { defined } from '@svc/plugin-sdk'
import { processAnswers } from '../database/database-process.ts'
import { storeAnswers } from '../database/store-answers.ts'
import { timeLimitText } from '../interpreter/time-limit.ts'
import { answerBridge, type BridgeAnswers } from '../threads/bridge.ts'
import { HTTP_ANSWERS } from '../threads/http-requests.ts'
import { OutputGate } from '../threads/output-gate.ts'
import { ProgramWorker } from '../threads/program-worker.ts'
import type { Job, JobEvent, RunFailure, RunOutcome } from './job.ts'

/** The built script, because threads cannot load TypeScript. */
const SCRIPT = new URL(
  import.meta.url.endsWith('.ts') ? '../../dist/program-worker.cjs' : './program-worker.cjs',
  import.meta.url
)

/** Milliseconds after the time limit until a program that does not check the clock is terminated. */
const GRACE_MS = 500

/** Time limit for the start of the thread, in milliseconds. */
const START_MS = 30_000

const STACK_MB = 64

export interface Listener {
  /** Resolves when the line was written. */
  print(line: string): void | Promise<void>
  report(message: Extract<JobEvent, { readonly kind: 'test' | 'log' }>): void
  /** Called after a step of a run is committed. */
  stepped?(step: WorkflowStep): void
  /** Called with unexpected host errors. The program receives `RUN_HOST_FAILED` without details. */
  failed(error: unknown, kind: string): void
}

export type ThreadResult =
  | { readonly ok: true; readonly outcome: RunOutcome }
  | { readonly ok: false; readonly failure: RunFailure }

/**
 * Performs a job in a separate thread, which ends with the job, at its limits, or on `signal`. `store` is used if the
 * thread has no connection of the database; `services` are the plugin functions that the thread may call.
 */
export async function runInThread(
  job: Omit<Job, 'unwritten' | 'bridge'>,
  listener: Listener,
  signal: AbortSignal,
  store: (() => Promise<DatabaseStore>) | null = null,
  services: BridgeAnswers = {}
): Promise<ThreadResult> {
  const { path } = job.program
  if (signal.aborted) return failed('RUN_CANCELLED', `${path}: the program was stopped`)
  const unwritten = new SharedArrayBuffer(4)
  const gate = new OutputGate(new Int32Array(unwritten))
  const megabytes = Math.ceil(job.limits.bytes / 2 ** 20)
  const { port1, port2 } = new MessageChannel()
  const answered = new SharedArrayBuffer(4)
  const worker = new ProgramWorker(SCRIPT, {
    workerData: { ...job, unwritten, bridge: { port: port2, answered } } satisfies Job,
    transferList: [port2],
    // The thread needs none of the loaders and flags of this process.
    execArgv: [],
    env: job.capabilities.some(each => each === 'env' || each === 'process') ? process.env : {},
    // The interpreter checks the heap and reports the position. The thread's limit is higher, in case that fails.
    resourceLimits: { maxOldGenerationSizeMb: 2 * megabytes + 64, stackSizeMb: STACK_MB }
  })
  let ending: ThreadResult | undefined
  let written: Promise<void> = Promise.resolve()
  const stop = (failure: ThreadResult): void => {
    ending ??= failure
    void worker.end()
  }
  const cancel = (): void => stop(failed('RUN_CANCELLED', `${path}: the program was stopped`))
  const { milliseconds } = job.limits
  const late = (): void => {
    stop(
      failed(
        'RUN_TIME_LIMIT',
        `${path}: the program ran longer than ${timeLimitText(milliseconds)}`,
        'raise the setting time_limit_ms'
      )
    )
  }
  let alarm = setTimeout(late, milliseconds + START_MS)
  signal.addEventListener('abort', cancel, { once: true })
  worker.on('message', (message: JobEvent) => {
    if (message.kind === 'done') ending ??= { ok: true, outcome: message.outcome }
    else if (message.kind === 'step') listener.stepped?.(message.step)
    else if (message.kind === 'failed') ending ??= { ok: false, failure: message.failure }
    else if (message.kind === 'begun') {
      clearTimeout(alarm)
      alarm = setTimeout(late, milliseconds + GRACE_MS)
    } else if (message.kind === 'print') {
      written = written.then(() => listener.print(message.text)).finally(() => gate.read(message))
    } else {
      listener.report(message)
      if (message.kind === 'log') gate.read(message)
    }
  })
  worker.on('error', (error: Error & { readonly code?: string }) => {
    ending ??=
      error.code === 'ERR_WORKER_OUT_OF_MEMORY'
        ? failed('RUN_MEMORY_LIMIT', `${path}: the program uses more than ${megabytes} MB`, 'raise the setting heap_mb')
        : failed('RUN_CRASHED', `${path}: the thread of the program ended: ${error.message}`)
  })
  const over = new AbortController()
  const thread = job.database?.thread ?? null
  answerBridge(
    { port: port1, answered },
    over.signal,
    {
      ...HTTP_ANSWERS,
      ...services,
      ...(store === null ? {} : storeAnswers(store, over.signal)),
      ...(thread === null ? {} : processAnswers(thread, job.limits.bytes, over.signal))
    },
    listener.failed
  )
  await new Promise<void>(resolve => {
    // The thread of a failed program exits normally, too.
    worker.once('exit', resolve)
    worker.once('left', () => {
      const text = `${path}: a database call does not return, so the thread was abandoned`
      listener.report({ kind: 'log', level: 'error', text })
      resolve()
    })
  })
  over.abort()
  clearTimeout(alarm)
  signal.removeEventListener('abort', cancel)
  await written
  return ending ?? failed('RUN_CRASHED', `${path}: the thread of the program ended without a result`)
}

function failed(code: RunFailure['code'], message: string, hint?: string): ThreadResult {
  return { ok: false, failure: { code, message, calls: [], ...defined({ hint }) } }
}
