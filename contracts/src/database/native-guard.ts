/** Ints shared between a thread and the one that may end it. */
const INSIDE = 0
const STOPPED = 1

/** Interval at which a thread within native code is polled. */
const POLL_MS = 5

/**
 * Keeps a thread from being ended within the native code of a database, which takes the whole process with it when that
 * happens as it hands something to JavaScript. The thread reports when it goes in and out; the ending side first stops it, by
 * which it does not go in again, and then waits until it is out.
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

  /** Of the thread. Does not return once it is stopped: it is about to be ended. */
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
   * Of the ending side. Resolves when the thread is out, and will not go in again, or when it has ended by itself; with false
   * when `milliseconds` have passed before that.
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
   * Of the ending side, after a failure to end the thread: the process does not wait for it at its end, as it does for its threads, but is
   * killed. The function that is returned takes that back.
   */
  abandon(): () => void {
    const kill = (): void => void process.kill(process.pid, 'SIGKILL')
    process.once('exit', kill)
    return () => void process.off('exit', kill)
  }
}
