import { fork } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import autocannon from 'autocannon'
import { build } from 'esbuild'

export type Start = () => Promise<{ readonly port: number; readonly stop: () => unknown }>

export interface Measured {
  readonly name: string
  /** Microseconds of server CPU a request: the least of all rounds. */
  readonly microseconds: number
  /** Requests a second of the best round. */
  readonly perSecond: number
}

export interface Plan {
  /** The benchmark's own file, which serves when it is called with `--serve NAME`. */
  readonly file: string
  readonly servers: readonly string[]
  readonly request: {
    readonly method: 'POST'
    readonly path: string
    readonly headers: Readonly<Record<string, string>>
    readonly body: string
  }
  readonly lives: number
  readonly rounds: number
  readonly requests: number
}

/** The server's side: says where it listens, then how much CPU it has used whenever it is asked. */
export async function serveForBench(start: Start): Promise<void> {
  const { port, stop } = await start()
  process.on('message', async message => {
    if (message === 'cpu') {
      const { user, system } = process.cpuUsage()
      process.send?.(user + system)
      return
    }
    await stop()
    process.exit()
  })
  process.send?.(port)
}

/** Measures every server in interleaved rounds, over several lives: how well V8 optimises differs from one to the next. */
export async function measureServers(plan: Plan): Promise<Measured[]> {
  const compiled = await compile(plan.file)
  const best = new Map<string, { microseconds: number; perSecond: number }>()
  for (let life = 0; life < plan.lives; life++) await measureLife(compiled, plan, best)
  if (!process.env.KEEP) rmSync(compiled)
  return [...best].map(([name, figures]) => ({ name, ...figures }))
}

async function measureLife(
  compiled: string,
  plan: Plan,
  best: Map<string, { microseconds: number; perSecond: number }>
) {
  const servers = await Promise.all(
    plan.servers.map(async name => {
      const child = fork(compiled, ['--serve', name], { execArgv: [] })
      const [port] = (await once(child, 'message')) as [number]
      const cpu = async (): Promise<number> => {
        const answer = once(child, 'message')
        child.send('cpu')
        return Number((await answer)[0])
      }
      return { name, child, port, cpu }
    })
  )
  // The first round warms the servers up.
  for (let round = 0; round <= plan.rounds; round++) {
    for (const { name, port, cpu } of servers) {
      const before = await cpu()
      const { path, ...request } = plan.request
      const url = `http://127.0.0.1:${port}${path}`
      const load = await autocannon({ url, ...request, amount: plan.requests, connections: 32 })
      if (load.non2xx > 0 || load.errors > 0) throw new Error(`${name}: ${JSON.stringify(load.statusCodeStats)}`)
      const used = ((await cpu()) - before) / load.requests.total
      if (round === 0) continue
      const known = best.get(name) ?? { microseconds: Infinity, perSecond: 0 }
      best.set(name, {
        microseconds: Math.min(used, known.microseconds),
        perSecond: Math.max(load.requests.total / load.duration, known.perSecond)
      })
    }
  }
  for (const { child } of servers) child.send('stop')
}

/** The servers run as compiled code: what a development loader adds to every function is nobody's cost. */
async function compile(file: string): Promise<string> {
  const outfile = join(import.meta.dirname, `../../node_modules/.cache/svc-bench-${basename(file, '.ts')}.mjs`)
  await build({
    entryPoints: [file],
    outfile,
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'esm',
    packages: 'external',
    alias: Object.fromEntries(OURS.map(name => [name, fileURLToPath(import.meta.resolve(name))])),
    // Pages are found beside the plugin that has them.
    define: { 'import.meta.url': JSON.stringify(import.meta.resolve('../../plugins/mcp-gateway/src/plugin.ts')) },
    logLevel: 'error'
  })
  return outfile
}

const OURS = ['@svc/kernel/testing', '@svc/contracts', '@svc/plugin-sdk', '@svc/plugin-sdk/folders']

/** How `own` does against `peer`: above 1 is better. */
export function summarise(results: readonly Measured[], own: string, peer: string) {
  const of = (name: string): Measured => results.find(each => each.name === name) as Measured
  const round = (value: number): number => Number(value.toFixed(3))
  const throughput = round(of(own).perSecond / of(peer).perSecond)
  const cpu = round(of(peer).microseconds / of(own).microseconds)
  const list = results.map(
    ({ name, microseconds, perSecond }) => `${name} ${perSecond.toFixed(0)}/s, ${microseconds.toFixed(1)} us CPU`
  )
  return {
    results,
    throughput,
    cpu,
    text: `${list.join('; ')}; ${own} to ${peer}: ${throughput}x requests a second, ${cpu}x requests a CPU second`
  }
}
