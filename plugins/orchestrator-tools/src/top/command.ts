import { setTimeout as delay } from 'node:timers/promises'
import type { Orchestrator, RepositoryTasks } from '@svc/contracts'
import { type CommandDescriptor, type CommandHandler, type CommandIo, type Ref, t } from '@svc/plugin-sdk'
import { frame } from './frame.ts'
import { Screen } from './screen.ts'
import type { Snapshot } from './snapshot.ts'
import { daemonSource, localSource } from './source.ts'
import { Watcher } from './watcher.ts'

const INTERVAL_MS = 500
/** Size of a frame if the output is not a terminal. */
const PLAIN_SIZE = { columns: 160, rows: 1_000 }

export const topDescriptor: CommandDescriptor = {
  command: 'orch top',
  summary: 'Watch agents, queues, locks and rates; --json prints one object per line',
  input: t.object({
    count: t.optional(
      t.integer({
        minimum: 1,
        description: 'Number of updates; default: unlimited, or one without a terminal and --json'
      })
    ),
    own: t.boolean({ default: false, description: 'Leaves out other processes' }),
    interval: t.integer({ default: INTERVAL_MS, minimum: 100, description: 'Milliseconds between two updates' }),
    token_variable: t.optional(
      t.string({ minLength: 1, description: 'Environment variable with the token, if the daemon requires one' })
    )
  }),
  aliases: { count: 'n', interval: 'i' }
}

export interface TopPlace {
  readonly projectRoot: string
  readonly orchestrator: Orchestrator
  readonly tasks: Ref<RepositoryTasks>
}

export function topCommand({ projectRoot, orchestrator, tasks }: TopPlace): CommandHandler {
  return async ({ count, interval = INTERVAL_MS, own, token_variable }, io) => {
    const token = typeof token_variable === 'string' ? process.env[token_variable] : undefined
    const find = () => daemonSource(projectRoot, token, own === true)
    const source = (await find()) ?? localSource(orchestrator, tasks, own === true)
    const isLive = io.stdout.isTTY === true && !io.json
    const looks = (count as number | undefined) ?? (isLive || io.json ? Number.POSITIVE_INFINITY : 1)
    const ended = new AbortController()
    const onAbort = (): void => ended.abort()
    if (io.signal.aborted) onAbort()
    io.signal.addEventListener('abort', onAbort, { once: true })
    const watcher = new Watcher(source, source.origin.kind === 'daemon' ? find : async () => source)
    const following = watcher.run(ended.signal)
    try {
      const every = { looks, interval: interval as number }
      if (isLive) await showLive(watcher, io, every, ended)
      else await printLooks(watcher, io, every, ended.signal)
    } finally {
      io.signal.removeEventListener('abort', onAbort)
      ended.abort()
      await following
    }
    return 0
  }
}

interface Every {
  readonly looks: number
  /** Milliseconds between two updates. */
  readonly interval: number
}

async function printLooks(watcher: Watcher, io: CommandIo, { looks, interval }: Every, signal: AbortSignal) {
  // Events arrive over a separate connection, so the first snapshot waits for them briefly.
  await pause(Math.min(interval, INTERVAL_MS), signal)
  for (let look = 0; look < looks && !signal.aborted; look++) {
    if (look > 0) await pause(interval, signal)
    if (signal.aborted) return
    const snapshot = await watcher.look(signal)
    if (signal.aborted) return
    const text = io.json ? JSON.stringify(snapshot) : frame(snapshot, PLAIN_SIZE).join('\n')
    // Wait for a slow reader, so that lines do not accumulate.
    if (!io.stdout.write(`${text}\n`)) await drained(io.stdout, signal)
  }
}

async function showLive(watcher: Watcher, io: CommandIo, { looks, interval }: Every, ended: AbortController) {
  let last: Snapshot | undefined
  let paused = false
  const redraw = (): void => {
    if (last !== undefined) screen.draw(frame(last, screen.size, paused ? 'paused' : 'live'))
  }
  const onKey = (key: string): void => {
    if (key === 'q' || key === 'Q') ended.abort()
    if (key !== 'p' && key !== 'P') return
    paused = !paused
    redraw()
  }
  const screen = new Screen(io, onKey, redraw)
  try {
    for (let look = 0; look < looks && !ended.signal.aborted; ) {
      if (!paused || last === undefined) {
        last = await watcher.look(ended.signal)
        if (ended.signal.aborted) return
        look++
        redraw()
      }
      await pause(interval, ended.signal)
    }
  } finally {
    screen.close()
  }
}

function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return delay(milliseconds, undefined, { signal }).catch(() => undefined)
}

function drained(output: CommandIo['stdout'], signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    const done = (): void => {
      signal.removeEventListener('abort', done)
      output.off('drain', done)
      resolve()
    }
    signal.addEventListener('abort', done, { once: true })
    output.once('drain', done)
  })
}
