/** Records the results of benchmarks with the plugin telemetry, if its environment variables ask for that. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const SVC = fileURLToPath(new URL('../kernel/bin/svc.cjs', import.meta.url))
const AT_ONCE = 200
/** Benchmarks of the language. Their results belong to a fixture: a task, or the generated program. */
const LANGUAGE = new Set(['compiler', 'interpreter', 'program-database'])
/** Fields that name an item of a list. */
const NAMES = ['case', 'task', 'model', 'name', 'what', 'nodes', 'clients']
/** Units by the last words of a name. */
const UNITS: readonly [RegExp, string][] = [
  [/_ms$/, 'ms'],
  [/_us$/, 'us'],
  [/_ns$/, 'ns'],
  [/[_.]?bytes(?:_per_\w+)?$/, 'bytes'],
  [/per_second$|perSecond/i, '1/s'],
  [/ratio|_over_|\.to[A-Z]/i, 'x']
]

/** Result for the operation `telemetry.record`. */
export interface RecordedResult {
  readonly metric_type: 'benchmark_event' | 'syntax_k_event'
  readonly name: string
  /** Null: not measured. */
  readonly value: number | null
  readonly unit?: string
  readonly fixture_id?: string
  readonly details: Readonly<Record<string, unknown>>
}

/** Returns a result for each number and each figure in the output of a benchmark. */
export function resultsOf(benchmark: string, output: unknown): RecordedResult[] {
  return [...valuesIn(output, [])].map(({ path, value, range }) => {
    const words = path.filter(word => word !== 'results')
    const details = { benchmark, ...range }
    if (LANGUAGE.has(benchmark)) {
      const [fixture_id = 'generated', ...rest] = words.length > 1 ? words : ['generated', ...words]
      const name = [benchmark, ...rest].join('.')
      return { metric_type: 'syntax_k_event', name, value, fixture_id, details }
    }
    const name = [benchmark, ...words].join('.')
    const unit = UNITS.find(([pattern]) => pattern.test(name))?.[1]
    return { metric_type: 'benchmark_event', name, value, ...(unit === undefined ? {} : { unit }), details }
  })
}

interface Value {
  readonly path: readonly string[]
  readonly value: number | null
  readonly range: { readonly min?: number; readonly max?: number }
}

function* valuesIn(output: unknown, path: readonly string[]): Generator<Value> {
  if (typeof output === 'number') yield { path, value: Number.isFinite(output) ? output : null, range: {} }
  else if (output === null && path.length > 0) yield { path, value: null, range: {} }
  else if (Array.isArray(output))
    for (const [index, item] of output.entries()) yield* valuesIn(item, [...path, nameOf(item) ?? String(index)])
  else if (typeof output === 'object' && output !== null) {
    const { median, min, max } = output as Partial<Record<'median' | 'min' | 'max', number>>
    if (median !== undefined && min !== undefined && max !== undefined) {
      yield { path, value: Number.isFinite(median) ? median : null, range: { min, max } }
      return
    }
    for (const [name, each] of Object.entries(output)) yield* valuesIn(each, [...path, name])
  }
}

function nameOf(item: unknown): string | undefined {
  if (typeof item !== 'object' || item === null) return undefined
  const field = NAMES.find(name => ['string', 'number'].includes(typeof (item as Record<string, unknown>)[name]))
  return field === undefined ? undefined : String((item as Record<string, unknown>)[field])
}

/** Records the output of a benchmark. Does nothing unless a variable of telemetry is set. */
export async function recordResults(benchmark: string, output: unknown): Promise<void> {
  const { SVC_BENCHMARK_TELEMETRY: benchmarks, SVC_SYNTAX_K_TELEMETRY: fixtures } = process.env
  if ((benchmarks ?? '') === '' && (fixtures ?? '') === '') return
  const results = resultsOf(benchmark, output)
  for (let at = 0; at < results.length; at += AT_ONCE) {
    const input = JSON.stringify({ results: results.slice(at, at + AT_ONCE), source: 'bench' })
    // Not over a daemon, which has other variables.
    const child = spawn(process.execPath, [SVC, 'call', 'telemetry.record', '-', '--in-process', '--json'], {
      cwd: ROOT,
      stdio: ['pipe', 'ignore', 'pipe']
    })
    const problem = text(child.stderr)
    child.stdin.end(input)
    const [code] = await once(child, 'exit')
    if (code !== 0) process.stderr.write(`the results of ${benchmark} are not recorded: ${(await problem).trim()}\n`)
  }
}
