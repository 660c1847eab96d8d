/** Integers shared between a thread and the thread that may terminate it. */
const INSIDE = 0
const STOPPED = 1

/** Interval at which a thread within native code is polled. */
const POLL_MS = 5

/**
 * Prevents the termination of a thread within the native code of a database: at the wrong moment that would crash the
 * whole process. The thread reports when it enters and leaves native code. The terminating side first forbids entering
 * again, then waits until the thread has left.
 */
export class NativeGuard {
  readonly shared: SharedArrayBuffer
  readonly #state: Int32Array
  /** Nested calls count as one. */
  #depth = 0

  constructor(shared = new SharedArrayBuffer(8)) {
    this.shared = shared
    this.#state = new Int32Array(shared)
  }

  /** True while the thread is within native code. */
  get isInside(): boolean {
    return Atomics.load(this.#state, INSIDE) === 1
  }

  /** Called by the thread. Does not return once the thread is stopped: it is about to be terminated. */
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
   * Called by the terminating side. Resolves when the thread has left native code and cannot enter again, or has ended
   * by itself. Resolves to false after `milliseconds`.
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
   * Called by the terminating side if it cannot end the thread: the process does not wait for the thread at its exit,
   * but is killed. The returned function reverts that.
   */
  abandon(): () => void {
    const kill = (): void => void process.kill(process.pid, 'SIGKILL')
    process.once('exit', kill)
    return () => void process.off('exit', kill)
  }
}
