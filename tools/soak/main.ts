/**
 * A mixed load on all surfaces of two nodes of a mesh, while plugins are reloaded, processes killed, the network cut and a disk
 * filled. Checks that nothing acknowledged is lost and that each failure has a fault as its cause, and measures growth.
 *
 * Needs `npm run build` and Linux. Mounts a small file system for node two if that is allowed.
 *
 *   npm run soak -- [--minutes 120] [--out FOLDER] [--keep]
 *   npm run soak -- --report FOLDER
 *
 * `--out`: folder of the samples, the logs, `summary.md` and `soak.svg`. `--keep` keeps the projects of the nodes. `--report`
 * writes the summary and the plot of an earlier run again.
 */
import { setMaxListeners } from 'node:events'
import { appendFileSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { limitedSignal } from '@svc/plugin-sdk'
import { FaultyProxy } from '../../test/mesh/faulty-proxy.ts'
import { watchCpu } from './cpu-watch.ts'
import { Faults } from './faults.ts'
import { checkEnded } from './final-checks.ts'
import { Ledger, type NodeName } from './ledger.ts'
import { brokenClients } from './loads/broken-clients.ts'
import { commandLine } from './loads/command-line.ts'
import { consolePages } from './loads/console.ts'
import { daemon } from './loads/daemon.ts'
import { eventStreams, live } from './loads/live.ts'
import { type LoadContext, pause } from './loads/load.ts'
import { mcpHttp, mcpStdio } from './loads/mcp.ts'
import { models } from './loads/models.ts'
import { acknowledged, notes, uploads } from './loads/notes.ts'
import { reads } from './loads/reads.ts'
import { search } from './loads/search.ts'
import { tasks } from './loads/tasks.ts'
import { workflows } from './loads/workflows.ts'
import { isLoggedError, logViolation } from './log-judge.ts'
import { summarise } from './report.ts'
import { sampleNode } from './samples.ts'
import { freePorts, mountSmallDisk, type ProjectOptions, writeProject } from './setup.ts'
import { type LogLine, SvcNode } from './svc-node.ts'
import { PHASES, reloadInTurn, runTimeline } from './timeline.ts'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '5' },
    out: { type: 'string' },
    keep: { type: 'boolean', default: false },
    report: { type: 'string' }
  }
})
if (values.report !== undefined) {
  const { text, isPassed } = summarise(resolve(values.report))
  process.stdout.write(text)
  process.exit(isPassed ? 0 : 1)
}
if (process.platform !== 'linux') {
  process.stderr.write('soak: it reads /proc of the nodes, which only Linux has; run it there\n')
  process.exit(2)
}
const minutes = Number(values.minutes)
if (!(minutes > 0)) {
  process.stderr.write('usage: npm run soak -- [--minutes NUMBER] [--out FOLDER] [--keep]\n')
  process.exit(2)
}
const SAMPLE_MS = 10_000
/** Each sample of this number collects garbage, which stops the node for some time. */
const DEEP_SAMPLES = minutes > 30 ? 18 : 6
const durationMs = minutes * 60_000
const out = resolve(values.out ?? mkdtempSync(join(tmpdir(), 'svc-soak-')))
mkdirSync(out, { recursive: true })
const base = realpathSync(mkdtempSync(join(tmpdir(), 'svc-soak-nodes-')))
const begun = Date.now()

const append = (file: string, value: object): void => appendFileSync(join(out, file), `${JSON.stringify(value)}\n`)
const say = (text: string): void => void process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${text}\n`)
const note = (node: string, kind: string, detail = ''): void => {
  append('events.jsonl', { time: Date.now(), node, kind, detail })
  say(`${node}: ${kind} ${detail}`)
}
const ledger = new Ledger(violation => {
  append('violations.jsonl', violation)
  say(`VIOLATION ${violation.load} (${violation.node}): ${violation.text.slice(0, 400)}`)
})

function judgeLine(name: NodeName, line: LogLine | null, raw: string): void {
  const now = Date.now()
  if (isLoggedError(line)) append('errors.jsonl', { node: name, ...line })
  const parts = [name, 'network', `${name}/soak-isolated`, `${name}/app-runtime`] as const
  const violation = logViolation(line, raw, () => ledger.excuse(parts, line?.time ?? now, now) !== null)
  if (violation !== null) ledger.violate('logs', name, violation)
}

const smallDisk = join(base, 'two')
const unmount = mountSmallDisk(smallDisk)
if (unmount === null) say('no file system can be mounted here: the disk of node two is never full')
const ports = { one: await freePorts(), two: await freePorts() }
const proxy = await FaultyProxy.open(ports.one.mesh)
const optionsOf = (name: NodeName): ProjectOptions => ({
  name,
  ports: ports[name],
  controlUrl: `http://127.0.0.1:${name === 'one' ? ports.one.mesh : proxy.port}`
})
const nodes = (['one', 'two'] as const).map(name => {
  const folder = join(base, name)
  writeProject(folder, optionsOf(name), { slowMs: 60_000, logLines: 5_000 })
  const env = { SVC_REPOSITORY_ID: 'soak', SVC_MESH_TOKEN: 'token-of-the-soak-0123456789', TMPDIR: join(folder, 'tmp') }
  const node = new SvcNode({
    name,
    folder,
    ports: ports[name],
    env,
    logFile: join(out, `${name}.log`),
    onLine: (line, raw) => judgeLine(name, line, raw)
  })
  node.onCrash = how => ledger.violate('crashes', name, `the process ended by itself: ${how}`)
  return node
}) as [SvcNode, SvcNode]

const stop = new AbortController()
process.once('SIGINT', () => stop.abort())
process.once('SIGTERM', () => stop.abort())
let exitCode = 1
try {
  exitCode = await soak()
} finally {
  for (const node of nodes) await node.end('SIGKILL')
  await proxy.close()
  if (!values.keep) {
    unmount?.()
    rmSync(base, { recursive: true, force: true })
  }
}
process.exit(exitCode)

async function soak(): Promise<number> {
  for (const node of nodes) {
    const end = ledger.disturb(node.name, 'start')
    await node.start()
    await node.client.request(`${node.http}/api/search/index`, { method: 'POST', body: {} })
    note(node.name, 'ready')
    end()
  }
  const from = Date.now()
  const end = new AbortController()
  const signal = AbortSignal.any([stop.signal, end.signal])
  setMaxListeners(0, signal)
  const context: LoadContext = { nodes, ledger, signal, run: Math.floor(begun / 1_000).toString(36) }
  const acks = acknowledged()
  const loads = [
    reads(context),
    notes(context, acks),
    live(context, acks),
    uploads(context),
    workflows(context),
    tasks(context),
    models(context),
    mcpHttp(context),
    mcpStdio(context, Math.min(180_000, durationMs / 8)),
    daemon(context),
    search(context),
    consolePages(context),
    eventStreams(context),
    commandLine(context, Math.min(60_000, durationMs / 20)),
    brokenClients(context)
  ]
  const faults = new Faults({
    ledger,
    proxy,
    note,
    holdMs: Math.max(5_000, Math.min(30_000, durationMs / 240)),
    hasSmallDisk: unmount !== null,
    optionsOf: node => optionsOf(node.name)
  })
  const running = loads.map(load =>
    load.run().catch(error => ledger.violate(load.name, null, `the load ended: ${(error as Error).stack}`))
  )
  const sampling = Promise.all([takeSamples(signal), watchCpu(nodes, ledger, signal)])
  // On a slow machine, faults that are late at the end are left out.
  const over = limitedSignal(signal, durationMs)
  await Promise.all([
    runTimeline(faults, nodes, durationMs, over),
    reloadInTurn(faults, nodes, ledger, durationMs, over),
    pause(durationMs, over)
  ]).catch(error => ledger.violate('faults', null, (error as Error).message))
  const to = Date.now()
  note('all', 'load ends')
  end.abort()
  await Promise.all(running)
  await sampling
  for (const load of loads) {
    say(`checking: ${load.name}`)
    await load.check?.().catch(error => ledger.violate(load.name, null, `the check failed: ${(error as Error).stack}`))
  }
  for (const node of nodes) {
    const done = ledger.disturb(node.name, 'SIGTERM')
    note(node.name, 'SIGTERM')
    await faults.shutDown(node)
    done()
  }
  for (const node of nodes) checkEnded(ledger, node)
  const phases = PHASES.map(([name, start, finish]) => ({
    name,
    from: from + start * durationMs,
    to: from + finish * durationMs
  }))
  writeFileSync(
    join(out, 'run.json'),
    JSON.stringify({
      minutes,
      from,
      to,
      phases,
      node: process.version,
      lifetimes: Object.fromEntries(nodes.map(node => [node.name, node.lifetimes])),
      windows: ledger.windows,
      counts: Object.fromEntries(ledger.counts)
    })
  )
  const { text, isPassed } = summarise(out)
  process.stdout.write(text)
  return isPassed ? 0 : 1
}

/** Samples both nodes, at intervals with a garbage collection and the sizes of files. */
async function takeSamples(signal: AbortSignal): Promise<void> {
  for (let count = 0; !signal.aborted; count++) {
    for (const node of nodes) {
      const sample = await sampleNode(node, count % DEEP_SAMPLES === 0)
      if (sample !== null) append('samples.jsonl', sample)
    }
    append('totals.jsonl', { time: Date.now(), ...ledger.totals() })
    await pause(SAMPLE_MS, signal)
  }
}
