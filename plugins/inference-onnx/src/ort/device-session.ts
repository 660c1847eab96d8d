import type { OrtApi } from './api.ts'
import { CapturedRun } from './captured-run.ts'
import type { DeviceMemory } from './device-memory.ts'
import { DirectRun } from './direct-run.ts'
import { GraphCaptures } from './graph-captures.ts'
import type { NativeRuntime, NativeSession } from './native-runtime.ts'
import type { RunQueue } from './run-queue.ts'
import type { Binding, Bindings, OrtSession, Recurring, SessionOptions } from './runtime.ts'
import { type CopyRows, Staging } from './staged-view.ts'
import type { Transfer } from './transfer.ts'

export interface DeviceSessionParts {
  readonly api: OrtApi
  readonly native: NativeRuntime
  readonly turns: RunQueue
  readonly memory: DeviceMemory
  readonly copyRows: CopyRows
  /** Copies to and from the memory of captured runs; null if runs are not captured. */
  readonly transfer: Transfer | null
  /** Called with the reason if requested captures are not possible. */
  onUncaptured(reason: string): void
}

/**
 * Session on a device.
 *
 * A provider may reject captures when the session is created, or at an operator that cannot be captured. Then the
 * session is created again without capture, which only costs time.
 */
export class DeviceSession implements OrtSession {
  readonly #parts: DeviceSessionParts
  readonly #options: SessionOptions
  readonly #bindings = new Set<DeviceBinding>()
  /** Null if the session could not be created again. */
  #session: NativeSession | null
  #captures: GraphCaptures | null

  private constructor(
    parts: DeviceSessionParts,
    options: SessionOptions,
    session: NativeSession,
    captures: GraphCaptures | null
  ) {
    this.#parts = parts
    this.#options = options
    this.#session = session
    this.#captures = captures
  }

  static create(parts: DeviceSessionParts, options: SessionOptions): Promise<DeviceSession> {
    return parts.turns.take(() => DeviceSession.#create(parts, options))
  }

  static async #create(parts: DeviceSessionParts, options: SessionOptions): Promise<DeviceSession> {
    options.signal?.throwIfAborted()
    const { api, native, transfer, onUncaptured } = parts
    const plain = async () => new DeviceSession(parts, options, await native.createSession(options), null)
    if (transfer === null) return plain()
    if (typeof options.uncapturable === 'string') {
      onUncaptured(options.uncapturable)
      return plain()
    }
    try {
      const session = await native.createSession(options, true)
      return new DeviceSession(parts, options, session, new GraphCaptures(api, session.handle))
    } catch (error) {
      if (options.signal?.aborted === true) throw error
      const session = await plain()
      onUncaptured((error as Error).message)
      return session
    }
  }

  bind(inputs: Bindings, outputs: Bindings, recurring?: Recurring): Binding {
    const binding = new DeviceBinding({
      prepare: () => this.#prepare(inputs, outputs, recurring),
      run: (run, signal) => this.#parts.turns.take(() => this.#attempt(run, signal)),
      release: () => {
        this.#bindings.delete(binding)
        this.#parts.turns.later(() => binding.unprepare())
      }
    })
    this.#bindings.add(binding)
    return binding
  }

  close(): Promise<void> {
    return this.#parts.turns.take(() => this.#close())
  }

  async #close(): Promise<void> {
    await this.#session?.close()
    this.#session = null
  }

  async #prepare(inputs: Bindings, outputs: Bindings, recurring: Recurring | undefined): Promise<Prepared> {
    const { memory, transfer, copyRows } = this.#parts
    this.#session ??= await this.#withoutCapture()
    const [session, captures] = [this.#session, this.#captures]
    const staging = new Staging(inputs, outputs, copyRows)
    if (captures === null || transfer === null || recurring === undefined) {
      return new DirectRun(session, staging, inputs, outputs, captures !== null)
    }
    return new CapturedRun({ session, captures, memory, transfer, staging, inputs, outputs, recurring })
  }

  async #attempt(run: () => Promise<void>, signal: AbortSignal | undefined): Promise<void> {
    try {
      await run()
    } catch (error) {
      if (this.#captures === null || signal?.aborted === true) throw error
      await this.#stopCapture()
      await run()
      this.#parts.onUncaptured((error as Error).message)
    }
  }

  async #stopCapture(): Promise<void> {
    for (const binding of this.#bindings) binding.unprepare()
    this.#captures = null
    await this.#close()
  }

  #withoutCapture(): Promise<NativeSession> {
    const { model, weights, threads } = this.#options
    return this.#parts.native.createSession({ model, weights, threads })
  }
}

interface Prepared {
  run(signal?: AbortSignal): Promise<void>
  release(): void
}

interface DeviceBindingHost {
  prepare(): Promise<Prepared>
  run(run: () => Promise<void>, signal: AbortSignal | undefined): Promise<void>
  release(): void
}

/** Binding of a session. The native binding is created on the first run, and again after the session was replaced. */
class DeviceBinding implements Binding {
  readonly #host: DeviceBindingHost
  #prepared: Prepared | null = null

  constructor(host: DeviceBindingHost) {
    this.#host = host
  }

  run(signal?: AbortSignal): Promise<void> {
    return this.#host.run(async () => {
      this.#prepared ??= await this.#host.prepare()
      await this.#prepared.run(signal)
    }, signal)
  }

  unprepare(): void {
    this.#prepared?.release()
    this.#prepared = null
  }

  release(): void {
    this.#host.release()
  }
}
