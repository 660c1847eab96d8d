import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { SVC, startModelServer } from '../e2e/model-server-process.ts'
import { type Answer, Expected, type Task, tasks } from './model-server-load.ts'

const CLIENTS = 16
const REQUESTS = 10_000
const QUARTER = REQUESTS / 4
/** Requests between two looks at the memory. */
const LOOK_EVERY = 50
const GROWTH = 1.05

const SERVER = ['serve', '--profile', 'model-server']
const SETTINGS = ['port=0', 'slots=6', 'queue=64', 'max_body_bytes=65536'].flatMap(each => [
  '--set',
  `plugins.model-server.${each}`
])

t.test(
  'ten thousand mixed requests of sixteen clients get the right tokens and leave nothing',
  { timeout: 600_000 },
  async t => {
    const { url, child } = await startModelServer(t, [SVC, ...SERVER, ...SETTINGS])
    const expected = await Expected.ask(url)
    const wrong: string[] = []
    const counts: Record<string, number> = {}
    const work = tasks(REQUESTS, expected)
    let done = 0
    const resident: number[] = []
    const client = async (): Promise<void> => {
      for (let task = work.next(); !task.done; task = work.next()) {
        const verdict = await outcome(task.value, url)
        counts[task.value.kind] = (counts[task.value.kind] ?? 0) + 1
        if (verdict !== null && wrong.length < 20) wrong.push(verdict)
        done += 1
        if (done % LOOK_EVERY === 0) resident.push(residentBytes(child.pid))
      }
    }
    await Promise.all(Array.from({ length: CLIENTS }, client))

    t.same(wrong, [], 'every answer is the one that the request gets alone')
    t.equal(done, REQUESTS)
    t.comment(counts)
    await t.test('slots, queue and memory are as before', { skip: process.platform !== 'linux' }, async t => {
      for (let busy = true; busy; await pause(20))
        busy = !/^svc_model_active_sequences\{.*\} 0$/m.test(await metrics(url))
      t.match(await metrics(url), /^svc_model_queue_length\{.*\} 0$/m)
      // Garbage comes and goes by a tenth of the whole; what is left at the lowest points is what is held. The first
      // quarter is for caches and the heap to find their size.
      const quarter = QUARTER / LOOK_EVERY
      const before = Math.min(...resident.slice(quarter, 2 * quarter))
      const after = Math.min(...resident.slice(-quarter))
      t.ok(after <= before * GROWTH, `${(after / before).toFixed(3)} of the second quarter's memory (${after} bytes)`)
    })
  }
)

/** What is wrong with the answer to a task; null when nothing is. */
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

function residentBytes(pid: number | undefined): number {
  if (process.platform !== 'linux') return 0
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kilobytes) * 1024
}
