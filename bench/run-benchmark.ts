import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { recordResults } from './record-results.ts'

const outputs = new Map<string, unknown>()

/** Returns what the benchmarks printed since the last call, by name. */
export function takeOutputs(): Readonly<Record<string, unknown>> {
  const taken = Object.fromEntries(outputs)
  outputs.clear()
  return taken
}

/** Runs a benchmark of this folder in a separate process, parses the result that it prints, and records it. */
export async function runBenchmark<Result>(name: string, ...options: readonly string[]): Promise<Result> {
  process.stderr.write(`${name} …\n`)
  const file = fileURLToPath(new URL(`./${name}.ts`, import.meta.url))
  const argv = ['--import', 'tsx', '--conditions=svc-source', file, '--json', ...options]
  const { stdout } = await promisify(execFile)(process.execPath, argv, { maxBuffer: 64_000_000 })
  const result = JSON.parse(stdout.slice(stdout.indexOf('{'))) as Result
  outputs.set(name, result)
  await recordResults(name, result)
  return result
}
