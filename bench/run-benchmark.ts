import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/** Runs a benchmark of this folder in a separate process, and parses the result that it prints. */
export async function runBenchmark<Result>(name: string, ...options: readonly string[]): Promise<Result> {
  process.stderr.write(`${name} …\n`)
  const file = fileURLToPath(new URL(`./${name}.ts`, import.meta.url))
  const argv = ['--import', 'tsx', '--conditions=svc-source', file, '--json', ...options]
  const { stdout } = await promisify(execFile)(process.execPath, argv, { maxBuffer: 64_000_000 })
  return JSON.parse(stdout.slice(stdout.indexOf('{'))) as Result
}
