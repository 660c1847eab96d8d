// Parses, checks, formats and lowers generated sources, writes their IR, and stores failing inputs.
//
//   node --import tsx --conditions=svc-source tools/fuzz-compiler.ts [--count 200000] [--seed 1] [--out FOLDER]
//
// Each input is determined by the seed and its number, so a range can be repeated: `--seed 1 --first 400000 --count 1`.
// An input is slow if it takes more processor time than `--limit-ms` in each of several attempts; one that takes longer than ten
// seconds counts as a hang and ends the run. Exits with 1 if there are findings.
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import { flaw } from '../plugins/compiler/test/flaw.ts'
import { mutated, type Random, randomFrom, tokenSoup } from '../plugins/compiler/test/mutated-source.ts'

interface Slice {
  readonly seed: number
  readonly first: number
  readonly count: number
  readonly limitMs: number
  /** Number of the current input, and the time of the slowest one in microseconds. */
  readonly progress: Int32Array
}

interface Found {
  readonly number: number
  readonly message: string
  readonly source: string
}

const HANG_MILLISECONDS = 10_000
/** Attempts at an input, of which the fastest counts: others may have compiled or collected garbage. */
const ATTEMPTS = 5
/** Loader for worker threads, which do not inherit module hooks in Node 20. */
const LOADER = `import('tsx/esm/api').then(tsx => { tsx.register(); return import(${JSON.stringify(import.meta.url)}) })`
const KINDS = ['mutated', 'spliced', 'tokens', 'bytes'] as const

function programs(folder = fileURLToPath(new URL('../examples/', import.meta.url))): string[] {
  return readdirSync(folder)
    .sort()
    .flatMap(name => {
      const path = join(folder, name)
      if (statSync(path).isDirectory()) return name === 'node_modules' ? [] : programs(path)
      return name.endsWith('.vox') ? [readFileSync(path, 'utf8')] : []
    })
}

function pick<A>(from: readonly A[], random: Random): A {
  return from[Math.floor(random() * from.length)] as A
}

function bytes(random: Random): string {
  const made = Uint8Array.from({ length: 1 + Math.floor(random() * 80) }, () => Math.floor(random() * 256))
  return Buffer.from(made).toString(random() < 0.5 ? 'utf8' : 'latin1')
}

/** Joins the beginning of one program and the end of another. */
function spliced(sources: readonly string[], random: Random): string {
  const [head, tail] = [pick(sources, random), pick(sources, random)]
  return head.slice(0, Math.floor(random() * head.length)) + tail.slice(Math.floor(random() * tail.length))
}

function inputOf(seed: number, number: number, sources: readonly string[]): { source: string; script: boolean } {
  const random = randomFrom(Math.imul(seed, 0x9e3779b1) + number)
  // Mutated whole programs are drawn more often, since they are most likely to pass the parser.
  const kind = random() < 0.4 ? 'mutated' : pick(KINDS, random)
  const script = random() < 0.2
  if (kind === 'tokens') return { source: tokenSoup(random), script }
  if (kind === 'bytes') return { source: bytes(random), script }
  return { source: kind === 'mutated' ? mutated(pick(sources, random), random) : spliced(sources, random), script }
}

function work({ seed, first, count, limitMs, progress }: Slice): void {
  const sources = programs()
  let slowest = 0
  for (let number = first; number < first + count; number++) {
    Atomics.store(progress, 0, number)
    const { source, script } = inputOf(seed, number, sources)
    let message: string | null
    const timed = (): number => {
      const start = process.cpuUsage()
      try {
        message = flaw(source, script)
      } catch (error) {
        message = `threw ${error instanceof Error ? error.stack : String(error)}`
      }
      const { user, system } = process.cpuUsage(start)
      return (user + system) / 1000
    }
    message = null
    let ms = timed()
    for (let attempt = 1; attempt < ATTEMPTS && ms > Math.max(slowest, limitMs / 3); attempt++)
      ms = Math.min(ms, timed())
    slowest = Math.max(slowest, ms)
    Atomics.store(progress, 1, Math.round(slowest * 1000))
    if (message === null && ms > limitMs) message = `takes ${ms.toFixed(0)} ms, for ${source.length} characters`
    if (message !== null) parentPort?.postMessage({ number, message, source } satisfies Found)
  }
  Atomics.store(progress, 0, first + count)
}

/** Runs the inputs in a worker thread. Resolves to the number of findings. */
async function supervise(slice: Omit<Slice, 'progress'>, out: string): Promise<number> {
  const { seed, first, count } = slice
  const progress = new Int32Array(new SharedArrayBuffer(8))
  // The worker has not begun: loading the compiler takes seconds on a busy machine.
  progress[0] = first - 1
  let found = 0
  const keep = ({ number, message, source }: Found): void => {
    found++
    mkdirSync(out, { recursive: true })
    writeFileSync(join(out, `${seed}-${number}.vox`), source)
    writeFileSync(join(out, `${seed}-${number}.txt`), `${message}\n`)
    console.log(`input ${number}: ${message.split('\n')[0]}`)
  }
  const began = performance.now()
  const worker = new Worker(LOADER, { eval: true, workerData: { ...slice, progress } })
  let [seen, since] = [-1, began]
  const watch = setInterval(() => {
    const at = Atomics.load(progress, 0)
    if (at !== seen) [seen, since] = [at, performance.now()]
    else if (at >= first && at < first + count && performance.now() - since > HANG_MILLISECONDS) {
      keep({
        number: at,
        message: `takes longer than ${HANG_MILLISECONDS} ms`,
        source: inputOf(seed, at, programs()).source
      })
      void worker.terminate()
    }
  }, 500)
  worker.on('message', keep)
  await new Promise<void>((done, fail) => worker.on('exit', () => done()).on('error', fail))
  clearInterval(watch)
  const tried = Math.max(0, Atomics.load(progress, 0) - first)
  const seconds = (performance.now() - began) / 1000
  const slowest = (Atomics.load(progress, 1) / 1000).toFixed(0)
  console.log(
    `tested ${tried} inputs of seed ${seed}, from ${first}, in ${seconds.toFixed(0)} s: ${found} findings, slowest ${slowest} ms`
  )
  return found
}

if (isMainThread) {
  const { values } = parseArgs({
    options: {
      count: { type: 'string', default: '200000' },
      seed: { type: 'string', default: '1' },
      first: { type: 'string', default: '0' },
      'limit-ms': { type: 'string', default: '150' },
      out: { type: 'string', default: 'fuzz-findings' }
    }
  })
  const { count, seed, first, out } = values
  const limitMs = Number(values['limit-ms'])
  const found = await supervise({ seed: Number(seed), first: Number(first), count: Number(count), limitMs }, out)
  process.exitCode = found === 0 ? 0 : 1
} else work(workerData as Slice)
