import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const TIMEOUT_MS = 240_000
const CONCURRENCY = 2

/**
 * Options for a run of a few seconds, by benchmark. `model-server` is omitted, because it only runs three of the
 * others.
 */
const BENCHMARKS: Readonly<Record<string, readonly string[]>> = {
  startup: ['--rounds', '1'],
  'idle-servers': ['--rounds', '1'],
  http: ['--lives', '1', '--rounds', '1', '--requests', '200'],
  reload: ['--reloads', '7'],
  heap: ['--reloads', '4'],
  hooks: ['--rounds', '1', '--calls', '1000'],
  compiler: ['--rounds', '1'],
  interpreter: ['--rounds', '1'],
  'program-database': ['--rounds', '1'],
  'program-http': ['--rounds', '1', '--seconds', '0.2', '--connections', '4'],
  'program-pocketbase': ['--rounds', '1', '--seconds', '0.2', '--connections', '4'],
  'program-reload': ['--reloads', '7'],
  live: [],
  workflows: [],
  'dev-pages': ['--saves', '7'],
  inference: ['--rounds', '1', '--threads', '1', '--only', 'vox-tiny'],
  quantisation: ['--rounds', '1', '--threads', '1', '--no-long'],
  'quantisation-quality': ['--rows', '2'],
  adapters: ['--rounds', '1'],
  'prompt-groups': ['--rounds', '1', '--quantization', 'none'],
  clients: ['--rounds', '1', '--threads', '1'],
  serving: ['--rounds', '1'],
  hybrid: ['--rounds', '1'],
  'inference-router': ['--rounds', '1', '--requests', '50', '--users', '4', '--turns', '2'],
  constraints: [],
  sampling: ['--smoke'],
  embeddings: ['--texts', '4'],
  search: ['--smoke'],
  'search-quality': ['--smoke'],
  'orchestrator-durable': ['--rounds', '1', '--seconds', '0.2', '--concurrency', '8'],
  'orchestrator-memory': ['--rounds', '1', '--tasks', '2000'],
  routing: ['--rounds', '1'],
  'mesh/store': [],
  'mesh/http': [],
  'mesh/leases': [],
  'mesh/failover': [],
  'mesh/nodes': [],
  'mesh/dbos': [],
  'stub-check': [],
  'console-page': [],
  'console-soak': [],
  playground: [],
  reward: [],
  'mcp-calls': ['--lives', '1', '--rounds', '1', '--requests', '100'],
  gateway: ['--lives', '1', '--rounds', '1', '--requests', '100'],
  'gpu/main': ['--shape', 'tiny', '--device', 'cpu', '--prefill', '64', '--batches', '1', '--no-peer', '--rounds', '1']
}

/**
 * Runs every benchmark once, without peers from the network. Two at a time, since many wait and their figures mean
 * nothing here. Returns 0, or 1 if one failed.
 */
export async function runSmoke(): Promise<number> {
  const failed: string[] = []
  const left = Object.entries(BENCHMARKS)
  const work = async (): Promise<void> => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      const [name, options] = next
      const started = performance.now()
      const output = await run(name, options)
      const seconds = ((performance.now() - started) / 1000).toFixed(1)
      process.stdout.write(`${output === null ? 'ok' : 'FAILED'} ${name} (${seconds} s)\n`)
      if (output === null) continue
      failed.push(name)
      process.stdout.write(`${output}\n`)
    }
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, work))
  process.stdout.write(failed.length === 0 ? 'every benchmark runs\n' : `failed: ${failed.join(', ')}\n`)
  return failed.length === 0 ? 0 : 1
}

/** Runs a benchmark. Returns null on exit code 0, otherwise the output. */
async function run(name: string, options: readonly string[]): Promise<string | null> {
  const file = fileURLToPath(new URL(`./${name}.ts`, import.meta.url))
  const child = spawn(process.execPath, ['--import', 'tsx', '--conditions=svc-source', file, ...options], {
    env: { ...process.env, SVC_BENCH_SMOKE: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: TIMEOUT_MS
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', chunk => {
      output += chunk
    })
  }
  const [code, signal] = await once(child, 'close')
  return code === 0 ? null : `${output}ended with ${code ?? signal}`
}
