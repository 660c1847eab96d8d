import { closeSync, openSync, rmSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { FaultyProxy } from '../../test/mesh/faulty-proxy.ts'
import type { Ledger } from './ledger.ts'
import { Unavailable } from './ledger.ts'
import { callDaemon } from './loads/daemon.ts'
import { pause } from './loads/load.ts'
import { type Changeable, type ProjectOptions, settingsOf } from './setup.ts'
import type { SvcNode } from './svc-node.ts'

export interface FaultContext {
  readonly ledger: Ledger
  readonly proxy: FaultyProxy
  readonly note: (node: string, kind: string, detail?: string) => void
  /** Duration of a network cut or a full disk. */
  readonly holdMs: number
  readonly hasSmallDisk: boolean
  readonly optionsOf: (node: SvcNode) => ProjectOptions
}

const MAX_DRAIN_MS = 120_000

/** Faults that the nodes suffer during the load. */
export class Faults {
  readonly #context: FaultContext
  readonly #settings = new Map<SvcNode, Changeable>()
  #count = 0

  constructor(context: FaultContext) {
    this.#context = context
  }

  /** Kills a process and starts it again. */
  async kill(node: SvcNode): Promise<void> {
    const { ledger, note } = this.#context
    const ends = [ledger.disturb(node.name, 'kill -9')]
    // Node one has the control plane.
    if (node.name === 'one') ends.push(ledger.disturb('network', 'control plane killed'))
    note(node.name, 'kill -9')
    await node.end('SIGKILL')
    await pause(1_000)
    await node.start()
    note(node.name, 'ready again')
    for (const end of ends) end()
  }

  /** Ends a process with SIGTERM while it answers, and starts it again. Requests in flight must be answered. */
  async drain(node: SvcNode): Promise<void> {
    const { ledger, note } = this.#context
    const stream = await openStream(node).catch(() => null)
    const ends = [ledger.disturb(node.name, 'SIGTERM')]
    if (node.name === 'one') ends.push(ledger.disturb('network', 'control plane ended'))
    note(node.name, 'SIGTERM')
    await this.shutDown(node)
    if (stream !== null) this.#checkStream(node, await stream.ended)
    await node.start()
    note(node.name, 'ready again')
    for (const end of ends) end()
  }

  #checkStream(node: SvcNode, { text, from }: EndedStream): void {
    const { ledger } = this.#context
    if (text.includes('data: [DONE]')) ledger.count('streams at SIGTERM', 'ok')
    // The server waits four seconds for requests in flight.
    else if (ledger.isStarved(node.name, from, Date.now())) ledger.count('streams at SIGTERM', 'starved')
    else ledger.violate('streams at SIGTERM', node.name, `a stream that had begun was cut off: ${text.slice(-200)}`)
  }

  /** Sends SIGTERM. The process must end by itself with exit code 0. */
  async shutDown(node: SvcNode): Promise<void> {
    const timer = setTimeout(() => {
      this.#context.ledger.violate('shutdown', node.name, `the process still runs ${MAX_DRAIN_MS} ms after SIGTERM`)
      void node.end('SIGKILL')
    }, MAX_DRAIN_MS)
    const how = await node.end('SIGTERM')
    clearTimeout(timer)
    if (how !== '0') this.#context.ledger.violate('shutdown', node.name, `SIGTERM ended the process with ${how}`)
  }

  /** Kills the process of an isolated plugin. It must come back by itself. */
  async killIsolated(node: SvcNode): Promise<void> {
    const { ledger, note } = this.#context
    const end = ledger.disturb(`${node.name}/soak-isolated`, 'isolated process killed')
    await ledger.attempt('isolated plugin', node.name, async () => {
      const { pid } = await echo(node)
      process.kill(pid, 'SIGKILL')
      note(node.name, 'isolated process killed', String(pid))
      const until = Date.now() + 120_000
      for (;;) {
        const answer = await echo(node).catch(error => error as Error)
        if (!(answer instanceof Error) && answer.pid !== pid) break
        if (Date.now() > until) throw new Unavailable(`the isolated plugin did not come back: ${String(answer)}`)
        await pause(500)
      }
      note(node.name, 'isolated process back')
    })
    end()
  }

  /** Calls a function of the program that never ends. Its thread must be ended, and the program must still answer. */
  async spin(node: SvcNode): Promise<void> {
    const { ledger, note } = this.#context
    const end = ledger.disturb(`${node.name}/app-runtime`, 'endless function')
    note(node.name, 'endless function')
    await ledger.attempt('endless function', node.name, async () => {
      const { status, text } = await node.client.request(`${node.app}/api/spin`, {
        method: 'POST',
        body: {},
        expect: [504, 500]
      })
      if (status < 500) throw new Error(`an endless function returned ${status} ${text}`)
    })
    end()
  }

  /** Cuts the connections of node two to the control plane, in one of several ways. */
  async cutNetwork(): Promise<void> {
    const { ledger, proxy, note, holdMs } = this.#context
    const end = ledger.disturb('network', 'network cut')
    const way = (['drop', 'hold', 'cut'] as const)[this.#count++ % 3] as 'drop' | 'hold' | 'cut'
    note('network', `network: ${way}`)
    if (way === 'cut') proxy.cut()
    else for (const direction of ['up', 'down'] as const) proxy[way](direction)
    await pause(way === 'cut' ? 1_000 : holdMs)
    proxy.heal()
    note('network', 'network healed')
    // Connections of nodes wait up to 25 s for messages.
    await pause(5_000)
    end()
  }

  /** Fills the file system of a node, and frees it. */
  async fillDisk(node: SvcNode): Promise<void> {
    const { ledger, note, holdMs } = this.#context
    if (!this.#context.hasSmallDisk) return
    const end = ledger.disturb(node.name, 'disk full')
    const filler = join(node.folder, 'filler')
    note(node.name, 'disk full')
    const file = openSync(filler, 'w')
    for (let bytes = 1024 * 1024; bytes >= 512; bytes /= 2) {
      const piece = Buffer.alloc(bytes)
      try {
        while (true) writeSync(file, piece)
      } catch {
        // Full at this size; smaller pieces still fit.
      }
    }
    closeSync(file)
    await pause(holdMs)
    rmSync(filler)
    note(node.name, 'disk free')
    await pause(5_000)
    end()
  }

  /** Changes two settings in `svc.toml`, which must take effect without a restart. */
  async changeSettings(node: SvcNode): Promise<void> {
    const { ledger, note, optionsOf } = this.#context
    const known = this.#settings.get(node) ?? { slowMs: 60_000, logLines: 5_000 }
    const changed = { slowMs: known.slowMs + 1, logLines: known.logLines === 5_000 ? 4_000 : 5_000 }
    this.#settings.set(node, changed)
    note(node.name, 'settings changed')
    await ledger.attempt('settings', node.name, async () => {
      writeFileSync(join(node.folder, 'svc.toml'), settingsOf(optionsOf(node), changed))
      const until = Date.now() + 60_000
      for (;;) {
        const { settings } = await node.client.json(`${node.http}/kernel/config`)
        const value = settings.find((each: { key: string }) => each.key === 'plugins.http.slow_ms')?.value
        if (value === changed.slowMs) break
        if (Date.now() > until)
          throw new Unavailable(`plugins.http.slow_ms is still ${value} a minute after the file was saved`)
        await pause(1_000)
      }
    })
  }

  /** Reloads a plugin. No request may fail meanwhile. */
  async reload(node: SvcNode, plugin: string): Promise<void> {
    const { ledger, note } = this.#context
    note(node.name, 'reload', plugin)
    await ledger.attempt('reloads', node.name, async () => {
      const { error } = await callDaemon(node, 'kernel.plugins.reload', { names: [plugin] }, node.daemonToken())
      if (error !== undefined) throw new Unavailable(`reload of ${plugin}: ${JSON.stringify(error)}`)
    })
  }
}

interface EndedStream {
  readonly text: string
  readonly from: number
}

/** Begins a completion. Resolves once its answer has begun. */
async function openStream(node: SvcNode): Promise<{ readonly ended: Promise<EndedStream> }> {
  const from = Date.now()
  const messages = [{ role: 'user', content: 'count the books' }]
  const body = JSON.stringify({ messages, max_tokens: 64, stream: true })
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(`${node.model}/v1/chat/completions`, {
    method: 'POST',
    headers,
    body,
    signal: AbortSignal.timeout(MAX_DRAIN_MS)
  })
  const text = response.text().catch(String)
  return { ended: text.then(text => ({ text, from })) }
}

async function echo(node: SvcNode): Promise<{ readonly text: string; readonly pid: number }> {
  return node.client.json(`${node.http}/soak/echo?text=soak`)
}
