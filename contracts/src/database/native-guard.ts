/** Indexes of integers shared between a thread and the thread that may terminate it. */
const INSIDE = 0
const STOPPED = 1

/** Polling interval while a thread is within native code. */
const POLL_MS = 5

/**
 * Prevents the termination of a thread while it runs or loads native database code, which could crash the whole process.
 * The thread reports when it enters and leaves native code. The terminating thread first blocks further entry, then waits
 * until the thread has left.
 */
export class NativeGuard {
  readonly shared: SharedArrayBuffer
  readonly #state: Int32Array
  /** Depth of nested `enter` calls; only the outermost one is reported. */
  #depth = 0

  constructor(shared = new SharedArrayBuffer(8)) {
    this.shared = shared
    this.#state = new Int32Array(shared)
  }

  /** True while the thread is within native code. */
  get isInside(): boolean {
    return Atomics.load(this.#state, INSIDE) === 1
  }

  /** Called by the thread before native code. Never returns after `stop`: the thread is about to be terminated. */
  enter(): void {
    if (this.#depth++ > 0) return
    Atomics.store(this.#state, INSIDE, 1)
    if (Atomics.load(this.#state, STOPPED) === 0) return
    Atomics.store(this.#state, INSIDE, 0)
    Atomics.wait(this.#state, STOPPED, 1)
  }

  /** Called by the thread, once for each `enter`. */
  leave(): void {
    if (--this.#depth === 0) Atomics.store(this.#state, INSIDE, 0)
  }

  /**
   * Called by the terminating thread. Resolves to true when the thread has left native code and cannot enter again, or
   * has ended by itself. Resolves to false after `milliseconds`.
   */
  async stop(isOver: () => boolean, milliseconds = Number.POSITIVE_INFINITY): Promise<boolean> {
    const until = performance.now() + milliseconds
    Atomics.store(this.#state, STOPPED, 1)
    while (this.isInside && !isOver()) {
      if (performance.now() > until) return false
      await new Promise<void>(resolve => void setTimeout(resolve, POLL_MS))
    }
    return true
  }

  /**
   * Called by the terminating thread if it cannot end the thread: at exit the process is killed instead of waiting for
   * the thread. The returned function reverts that.
   */
  abandon(): () => void {
    const kill = (): void => void process.kill(process.pid, 'SIGKILL')
    process.once('exit', kill)
    return () => void process.off('exit', kill)
  }
}
