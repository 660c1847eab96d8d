import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { MESH_PATH } from '@svc/contracts'
import { CHILD_ARGUMENTS } from '../child-arguments.ts'
import { FaultyProxy } from './faulty-proxy.ts'
import type { Failpoint, PlaneCall, PlaneOptions, PlaneReport, PlaneStore } from './plane-child.ts'
import type { WireStoreOptions } from './wire-store.ts'

const SCRIPT = join(import.meta.dirname, 'plane-child.ts')

/** How long a control plane may take to die at a failpoint that its client's request met, in milliseconds. */
const DEATH_MS = 20_000
/** Shortest lease that a control plane can be configured with. */
export const PLANE_LEASE_MS = 1_000
const RECEIVER = '9'
/** Queue of the mailbox of the clients. */
export const MAILBOX = `a2a:default:${RECEIVER}`
export const PLANE_SECRETS = { token: 'mesh-token-0123456789abcdef', jwtSecret: 'jwt-secret-0123456789abcdef' }

/** Returns the options of a client of control planes. */
export function wireOptions(
  node: string,
  planes: readonly { readonly url: string }[],
  acksWithFence = true
): WireStoreOptions {
  return { ...PLANE_SECRETS, node, receiver: RECEIVER, urls: planes.map(({ url }) => url), acksWithFence }
}

/** Lets a node join the mesh of a control plane. */
export async function joinNode(url: string, node: string): Promise<void> {
  const report = { id: node, capabilities: { cpu_cores: 1 }, version: '1.0.0', last_seen_unix_ms: 1 }
  const response = await fetch(`${url}${MESH_PATH}/join`, {
    method: 'POST',
    headers: { authorization: `Bearer ${PLANE_SECRETS.token}`, 'content-type': 'application/json' },
    body: JSON.stringify(report)
  })
  if (!response.ok) throw new Error(`${node} could not join: ${response.status} ${await response.text()}`)
}

/** A control plane in a process, behind a proxy, whose address stays when the process is started again. */
export class Plane {
  readonly proxy: FaultyProxy
  readonly #options: PlaneOptions
  /** Folder for temporary files, which a killed process leaves. */
  readonly #folder: string
  #child: ChildProcess | null = null
  #isReady = false

  private constructor(proxy: FaultyProxy, options: PlaneOptions, folder: string) {
    this.proxy = proxy
    this.#options = options
    this.#folder = folder
  }

  static async start(store: PlaneStore, folder: string, leaseMs = PLANE_LEASE_MS): Promise<Plane> {
    const options = { ...PLANE_SECRETS, store, leaseMs }
    const plane = new Plane(await FaultyProxy.open(0), options, folder)
    await plane.start()
    return plane
  }

  /** URL through the proxy. */
  get url(): string {
    return `http://127.0.0.1:${this.proxy.port}`
  }

  /** URL without the faults of the proxy. */
  get directUrl(): string {
    return `http://127.0.0.1:${this.proxy.target}`
  }

  /** True while the process serves. */
  get isReady(): boolean {
    return this.#isReady && this.isRunning
  }

  get isRunning(): boolean {
    return this.#child !== null && this.#child.exitCode === null && this.#child.signalCode === null
  }

  /** Starts the process, unless it runs. */
  async start(): Promise<void> {
    if (this.isRunning) return
    const env = { ...process.env, TMPDIR: this.#folder }
    const child = fork(SCRIPT, [], { execArgv: [...CHILD_ARGUMENTS], env })
    this.#child = child
    this.#isReady = false
    this.proxy.target = ((await this.#ask({ open: this.#options })) as { readonly port: number }).port
    this.#isReady = true
  }

  async kill(): Promise<void> {
    const child = this.#child
    if (child === null || !this.isRunning) return
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }

  async pause(milliseconds: number): Promise<void> {
    this.#child?.kill('SIGSTOP')
    await sleep(milliseconds)
    this.#child?.kill('SIGCONT')
  }

  /** Lets the process kill itself at the next call of a method. Resolves when it has ended. */
  async fail(failpoint: Failpoint): Promise<void> {
    // It may end before it confirms this.
    await this.arm(failpoint).catch(() => {})
    await this.ended()
  }

  /** Lets the process kill itself at the next call of a method. Resolves when this is sure to happen. */
  async arm(failpoint: Failpoint): Promise<void> {
    await this.#ask({ arm: failpoint })
  }

  /** Resolves when the process has ended. */
  async ended(): Promise<void> {
    if (this.isRunning) await once(this.#child as ChildProcess, 'exit')
  }

  /** Resolves when the process has died at an armed failpoint. Rejects, and kills the process, if it does not. */
  async died({ method, when }: Failpoint): Promise<void> {
    await Promise.race([this.ended(), sleep(DEATH_MS, undefined, { ref: false })])
    if (!this.isRunning) return
    await this.kill()
    throw new Error(
      `the control plane did not end ${when} a call of ${method}: it may call another method of the store`
    )
  }

  async close(): Promise<void> {
    await this.kill()
    await this.proxy.close()
  }

  async #ask(call: PlaneCall): Promise<PlaneReport> {
    const child = this.#child as ChildProcess
    child.send(call)
    const ended = once(child, 'exit').then(([code, signal]) =>
      Promise.reject(new Error(`the control plane ended with ${code ?? signal}`))
    )
    ended.catch(() => {})
    const [report] = await Promise.race([once(child, 'message'), ended])
    return report as PlaneReport
  }
}
