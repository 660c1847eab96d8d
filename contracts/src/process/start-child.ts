import type { ChildProcess, SpawnOptions, spawn } from 'node:child_process'
import { Readable, Writable } from 'node:stream'

/**
 * Starts a program like `spawn` of Node, except that a process that cannot be started is always reported by the event
 * `error` of the child, and that the streams of such a child exist: its output is empty, and its input is discarded.
 * Without free file descriptors, `spawn` returns a child whose streams are undefined; without memory, it throws.
 */
export const startChild = ((command: string, args: readonly string[], options: SpawnOptions): ChildProcess => {
  // Loaded on first use, since most processes do not need it.
  const module = process.getBuiltinModule('node:child_process')
  const child = started(() => module.spawn(command, args, options), module.ChildProcess)
  if (child.stdio === undefined) addStreams(child, options)
  return child
}) as typeof spawn

/** Returns the child, or one that reports why the system did not start it. */
function started(start: () => ChildProcess, Child: typeof ChildProcess): ChildProcess {
  try {
    return start()
  } catch (error) {
    // Wrong arguments are errors of the caller.
    if (!String((error as NodeJS.ErrnoException).syscall).startsWith('spawn')) throw error
    // The types hide this constructor of Node.
    const child = new (Child as unknown as new () => ChildProcess)()
    process.nextTick(() => child.emit('error', error as Error))
    return child
  }
}

function addStreams(child: ChildProcess, { stdio = 'pipe' }: SpawnOptions): void {
  const kinds = typeof stdio === 'string' ? [stdio, stdio, stdio] : stdio
  const streams = Array.from({ length: Math.max(3, kinds.length) }, (_, at) => {
    const isPipe = ['pipe', 'overlapped'].includes(String(kinds[at] ?? (at < 3 ? 'pipe' : 'ignore')))
    if (!isPipe) return null
    return at === 0 ? new Writable({ write: (_chunk, _encoding, done) => done() }) : Readable.from([])
  })
  const [stdin, stdout, stderr] = streams
  Object.assign(child, { stdin, stdout, stderr, stdio: streams })
}
