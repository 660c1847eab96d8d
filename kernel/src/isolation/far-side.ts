import { fork } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { Worker } from 'node:worker_threads'
import type { Port } from './channel.ts'

export interface FarSideOptions {
  /** Module to run. */
  readonly file: string
  /** Its first argument: the plugin, so that a list of processes shows it. */
  readonly name: string
  /** For a process; a worker shares that of the host. */
  readonly cwd: string
  readonly flags: readonly string[]
  readonly env: NodeJS.ProcessEnv
  /** MiB; null for Node's default. */
  readonly memoryMb: number | null
  onLine(stream: 'stdout' | 'stderr', line: string): void
}

/** How a worker or process ended. */
export interface ProcessExit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  /** Error that ended a worker. */
  readonly error: Error | null
}

/** A worker or process as a {@link Port} that can end. */
export interface FarSide extends Port {
  /** For example `worker 3` or `process 4711`. */
  readonly label: string
  readonly ended: Promise<ProcessExit>
  kill(): void
}

/**
 * A worker with a full heap gets 16 MiB more to stop. Node's default young generation can promote twice that at once,
 * and then V8 ends the whole process.
 */
const YOUNG_MB = 16

/** After the end of a process, its output may still arrive. */
const LAST_WORDS_MS = 200

export function startWorker(options: FarSideOptions): FarSide {
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

export function startProcess(options: FarSideOptions): FarSide {
  const child = fork(options.file, [options.name], {
    cwd: options.cwd,
    execArgv: [...options.flags, ...(options.memoryMb === null ? [] : [`--max-old-space-size=${options.memoryMb}`])],
    env: options.env,
    serialization: 'advanced',
    stdio: ['ignore', 'pipe', 'pipe', 'ipc']
  })
  readLines(child.stdout, line => options.onLine('stdout', line))
  readLines(child.stderr, line => options.onLine('stderr', line))
  return {
    label: `process ${child.pid}`,
    ended: new Promise(resolve => {
      child.once('error', error => resolve({ code: null, signal: null, error }))
      child.once('exit', (code, signal) => {
        const finish = (): void => resolve({ code, signal, error: null })
        // A process that inherited its streams can hold them open.
        const timer = setTimeout(finish, LAST_WORDS_MS)
        child.once('close', () => {
          clearTimeout(timer)
          finish()
        })
      })
    }),
    // The end of the process is reported by `ended`.
    post: message => void child.send(message as object, () => {}),
    onMessage: listener => child.on('message', listener),
    kill: () => void child.kill('SIGKILL')
  }
}

function readLines(stream: Readable | null, onLine: (line: string) => void): void {
  if (stream !== null) createInterface({ input: stream, crlfDelay: Infinity }).on('line', onLine)
}
