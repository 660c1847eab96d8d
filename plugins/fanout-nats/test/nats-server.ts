import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../../test/free-port.ts'

const PROGRAM = process.env.SVC_TEST_NATS_SERVER ?? '/usr/sbin/nats-server'

/** Reason to skip the tests that need a server; false if it is installed. */
export const noNats: string | false = existsSync(PROGRAM) ? false : `nats-server is not installed as ${PROGRAM}`

/** A NATS server for tests. */
export class NatsServer {
  readonly port: number
  readonly #options: readonly string[]
  #process: ChildProcess | null = null

  private constructor(port: number, options: readonly string[]) {
    this.port = port
    this.#options = options
  }

  static async start(options: readonly string[] = []): Promise<NatsServer> {
    const server = new NatsServer(await freePort(), options)
    await server.up()
    return server
  }

  get url(): string {
    return `nats://127.0.0.1:${this.port}`
  }

  async up(): Promise<void> {
    const args = ['-a', '127.0.0.1', '-p', String(this.port), ...this.#options]
    this.#process = spawn(PROGRAM, args, { stdio: 'ignore' })
    while (!(await this.#answers())) {
      if (this.#process.exitCode !== null) throw new Error(`nats-server ended with ${this.#process.exitCode}`)
      await sleep(20)
    }
  }

  /** Ends the server at once. */
  async kill(): Promise<void> {
    const child = this.#process
    if (child === null || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }

  async #answers(): Promise<boolean> {
    const socket = connect(this.port, '127.0.0.1')
    try {
      await once(socket, 'data')
      return true
    } catch {
      return false
    } finally {
      socket.destroy()
    }
  }
}
