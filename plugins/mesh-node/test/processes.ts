import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import type { Test } from 'tap'
import { CHILD_ARGUMENTS } from '../../../test/child-arguments.ts'
import type { ControlOptions } from './bed.ts'
import type { ChildReport, ChildTask } from './child.ts'
import { type FaultHost, type FaultHostOptions, Reports, type TaskState } from './fault-host.ts'

/** A control plane or a host in a separate process. */
export class Child implements FaultHost {
  readonly #child: ChildProcess
  readonly #answers: ((answer: unknown) => void)[] = []
  readonly #reports = new Reports()
  readonly began = this.#reports.began
  readonly ended = this.#reports.ended
  ready = ''

  private constructor(child: ChildProcess) {
    this.#child = child
  }

  static async start(t: Test, task: ChildTask): Promise<Child> {
    const child = fork(join(import.meta.dirname, 'child.ts'), [], { execArgv: [...CHILD_ARGUMENTS] })
    const started = new Child(child)
    t.teardown(() => started.kill())
    const ready = new Promise<string>((resolve, reject) => {
      child.on('message', (message: ChildReport) => {
        if ('ready' in message) resolve(message.ready)
        else started.#receive(message)
      })
      child.once('exit', code => reject(new Error(`the child ended with ${code}`)))
    })
    child.send(task)
    started.ready = await ready
    return started
  }

  async submit(): Promise<number> {
    return (await this.#call('submit')) as number
  }

  async tasks(): Promise<readonly TaskState[]> {
    return (await this.#call('tasks')) as readonly TaskState[]
  }

  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    this.#child.kill(signal)
  }

  /** Kills the process. No effect if it has ended. */
  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const ended = once(this.#child, 'exit')
    this.#child.kill('SIGKILL')
    await ended
  }

  async #call(call: 'submit' | 'tasks'): Promise<unknown> {
    const answer = new Promise(resolve => this.#answers.push(resolve))
    this.#child.send({ call })
    return answer
  }

  #receive(message: ChildReport): void {
    if ('answer' in message) this.#answers.shift()?.(message.answer)
    else if (!('ready' in message)) this.#reports.add(message)
  }
}

export function startControl(t: Test, options: ControlOptions): Promise<Child> {
  return Child.start(t, { kind: 'control', options })
}

export function startHost(t: Test, options: FaultHostOptions): Promise<Child> {
  return Child.start(t, { kind: 'host', options })
}

/** A TCP proxy that a test can cut: open connections end, and new ones are not answered. */
export class CuttableProxy {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  #isCut = false

  private constructor(server: Server) {
    this.#server = server
  }

  static async open(t: Test, port: number): Promise<CuttableProxy> {
    const server = createServer()
    const proxy = new CuttableProxy(server)
    server.on('connection', socket => proxy.#serve(socket, port))
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    t.teardown(() => proxy.close())
    return proxy
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  cut(): void {
    this.#isCut = true
    for (const socket of this.#sockets) socket.destroy()
  }

  heal(): void {
    this.#isCut = false
  }

  async close(): Promise<void> {
    this.cut()
    await new Promise<void>(resolve => this.#server.close(() => resolve()))
  }

  #serve(socket: Socket, port: number): void {
    if (this.#isCut) {
      socket.destroy()
      return
    }
    const upstream = connect(port, '127.0.0.1')
    for (const [from, to] of [
      [socket, upstream],
      [upstream, socket]
    ] as const) {
      this.#sockets.add(from)
      from.on('error', () => {})
      from.on('close', () => {
        this.#sockets.delete(from)
        to.destroy()
      })
      from.pipe(to)
    }
  }
}
