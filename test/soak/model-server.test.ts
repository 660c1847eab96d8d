import type { ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { SVC, startModelServer } from '../e2e/model-server-process.ts'
import { type Answer, Expected, type Task, tasks } from './model-server-load.ts'

const CLIENTS = 16
/** Number of requests; SVC_SOAK_REQUESTS sets another one. */
const REQUESTS = Number(process.env.SVC_SOAK_REQUESTS ?? 6_000)
/** Requests after which the engine's caches and the heap have reached their size. */
const WARM = 4_000
const GROWTH = 1.05

/** Node arguments that allow the test to collect garbage: only retained memory is measured. */
const COLLECTING = [
  '--expose-gc',
  `--import=data:text/javascript,${encodeURIComponent("process.on('SIGUSR2', () => gc())")}`
]
const SERVER = ['serve', '--profile', 'model-server']
const SETTINGS = ['port=0', 'slots=6', 'queue=64', 'max_body_bytes=65536'].flatMap(each => [
  '--set',
  `plugins.model-server.${each}`
])

t.test(
  'thousands of mixed requests of sixteen clients get the expected answers and leak no memory',
  { timeout: 600_000 },
  async t => {
    const { url, child } = await startModelServer(t, [...COLLECTING, SVC, ...SERVER, ...SETTINGS])
    const expected = await Expected.ask(url)
    const wrong: string[] = []
    const counts: Record<string, number> = {}
    const work = tasks(REQUESTS, expected)
    let done = 0
    const client = async (until: number): Promise<void> => {
      while (done < until) {
        const task = work.next()
        if (task.done) return
        done += 1
        const verdict = await outcome(task.value, url)
        counts[task.value.kind] = (counts[task.value.kind] ?? 0) + 1
        if (verdict !== null && wrong.length < 20) wrong.push(verdict)
      }
    }
    const load = (until: number) => Promise.all(Array.from({ length: CLIENTS }, () => client(until)))
    await load(WARM)
    const before = await heldBytes(url, child)
    await load(REQUESTS)
    const after = await heldBytes(url, child)

    t.same(wrong, [], 'every answer is the same as without concurrent requests')
    t.equal(done, REQUESTS)
    t.comment(counts, `${(after / before).toFixed(3)} of the memory`)
    t.match(await metrics(url), /^svc_model_queue_length\{.*\} 0$/m)
    t.ok(
      after <= before * GROWTH,
      `${(after / before).toFixed(3)} of the memory after ${WARM} requests (${after} bytes)`
    )
  }
)

/** Runs a task; returns the problem of its answer, or null. */
async function outcome(task: Task, url: string): Promise<string | null> {
  let answer: Answer
  try {
    answer = await task.run(url)
  } catch (error) {
    return `${task.kind}: ${String((error as Error).cause ?? error)}`
  }
  return task.isRight(answer) ? null : `${task.kind}: ${JSON.stringify(answer)}, not ${JSON.stringify(task.wanted)}`
}

async function metrics(url: string): Promise<string> {
  return (await fetch(`${url}/metrics`)).text()
}

/** Returns the resident memory of the idle server after garbage collection; 0 if it cannot be measured. */
async function heldBytes(url: string, { pid = 0 }: ChildProcess): Promise<number> {
  if (process.platform !== 'linux') return 0
  for (let busy = true; busy; await pause(20)) busy = !/^svc_model_active_sequences\{.*\} 0$/m.test(await metrics(url))
  let minBytes = Infinity
  for (let look = 0; look < 10; look++) {
    process.kill(pid, 'SIGUSR2')
    await pause(100)
    const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
    minBytes = Math.min(minBytes, Number(kilobytes) * 1024)
  }
  return minBytes
}
