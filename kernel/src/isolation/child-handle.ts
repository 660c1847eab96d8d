import { fork } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { Worker } from 'node:worker_threads'
import type { Port } from './channel.ts'

export interface ChildOptions {
  /** Module to run. */
  readonly file: string
  /** Name of the plugin. Passed as the first argument, so that process lists show it. */
  readonly name: string
  /** Working directory of a process. A worker thread shares that of the host. */
  readonly cwd: string
  readonly flags: readonly string[]
  readonly env: NodeJS.ProcessEnv
  /** Heap limit in MiB; null for Node's default. */
  readonly memoryMb: number | null
  onLine(stream: 'stdout' | 'stderr', line: string): void
}

/** Exit status of a worker thread or process. */
export interface ProcessExit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  /** Error that ended a worker thread, or prevented the start of a process. */
  readonly error: Error | null
}

/** Worker thread or process that runs an isolated plugin, with a {@link Port} to it. */
export interface ChildHandle extends Port {
  /** Label for messages, such as `worker 3` or `process 4711`. */
  readonly label: string
  readonly ended: Promise<ProcessExit>
  kill(): void
}

/**
 * Young-generation limit of a worker. A worker with a full heap gets 16 MiB more to stop. With Node's default, one
 * collection could promote twice that, and V8 would then end the whole process.
 */
const YOUNG_MB = 16

/** Time to wait for the last output of a process after its end. */
const LAST_OUTPUT_MS = 200

export function startWorker(options: ChildOptions): ChildHandle {
  const worker = new Worker(options.file, {
    argv: [options.name],
    execArgv: [...options.flags],
    env: options.env,
    stdout: true,
    stderr: true,
    resourceLimits: {
      maxYoungGenerationSizeMb: YOUNG_MB,
      ...(options.memoryMb === null ? {} : { maxOldGenerationSizeMb: options.memoryMb })
    }
  })
  readLines(worker.stdout, line => options.onLine('stdout', line))
  readLines(worker.stderr, line => options.onLine('stderr', line))
  let error: Error | null = null
  worker.on('error', cause => (error = cause))
  return {
    label: `worker ${worker.threadId}`,
    ended: new Promise(resolve => worker.once('exit', code => resolve({ code, signal: null, error }))),
    post: message => worker.postMessage(message),
    onMessage: listener => worker.on('message', listener),
    kill: () => void worker.terminate()
  }
}

export function startProcess(options: ChildOptions): ChildHandle {
  const child = fork(options.file, [options.name], {
    cwd: options.cwd,
    execArgv: [...options.flags, ...(options.memoryMb === null ? [] : [`--max-old-space-size=${options.memoryMb}`])],
    env: options.env,
    serialization: 'advanced',
    stdio: ['ignore', 'pipe', 'pipe', 'ipc']
  })
  // Without free file descriptors, the child has neither streams nor `send`; `ended` reports why.
  readLines(child.stdout ?? null, line => options.onLine('stdout', line))
  readLines(child.stderr ?? null, line => options.onLine('stderr', line))
  return {
    label: `process ${child.pid}`,
    ended: new Promise(resolve => {
      child.once('error', error => resolve({ code: null, signal: null, error }))
      child.once('exit', (code, signal) => {
        const finish = (): void => resolve({ code, signal, error: null })
        // A child process that inherited the streams may keep them open.
        const timer = setTimeout(finish, LAST_OUTPUT_MS)
        child.once('close', () => {
          clearTimeout(timer)
          finish()
        })
      })
    }),
    // Send errors are ignored: `ended` reports the end of the process.
    post: message => {
      if (child.connected) child.send(message as object, () => {})
    },
    onMessage: listener => child.on('message', listener),
    kill: () => void child.kill('SIGKILL')
  }
}

function readLines(stream: Readable | null, onLine: (line: string) => void): void {
  if (stream !== null) createInterface({ input: stream, crlfDelay: Infinity }).on('line', onLine)
}
